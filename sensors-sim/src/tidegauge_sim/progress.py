"""Shows the progress of a run: a bar on a terminal, log lines elsewhere."""

from __future__ import annotations

import logging
import sys
from time import monotonic
from typing import NoReturn

from tqdm import tqdm

from tidegauge_sim.options import Options
from tidegauge_sim.report import Totals

log = logging.getLogger(__name__)

LOG_SECONDS = 10.0


class Progress:
    """A bar that counts messages, or seconds if only the duration is known."""

    def __init__(self, options: Options) -> None:
        self._start = monotonic()
        self._next_log = self._start + LOG_SECONDS
        self._seconds = options.duration if options.until_count is None else None
        self._bar: tqdm[NoReturn] | None = None
        if sys.stderr.isatty() and not options.quiet:
            self._bar = tqdm(
                total=self._seconds or options.until_count,
                unit=' messages',
                bar_format='{l_bar}{bar}| {n:.0f}/{total:.0f} s{postfix}' if self._seconds else None,
                leave=False,
                dynamic_ncols=True,
            )

    def update(self, totals: Totals) -> None:
        """Show the current totals."""
        elapsed = monotonic() - self._start
        if self._bar is not None:
            done = totals.published if self._seconds is None else min(elapsed, self._seconds)
            self._bar.set_postfix_str(
                f'published {totals.published}, in flight {totals.unacknowledged}, '
                f'reconnects {totals.reconnects}',
                refresh=False,
            )
            self._bar.update(done - self._bar.n)
        elif self._start + elapsed >= self._next_log:
            self._next_log += LOG_SECONDS
            log.info(
                'published %d (%.0f/s), in flight %d, reconnects %d',
                totals.published,
                totals.published / elapsed,
                totals.unacknowledged,
                totals.reconnects,
            )

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
