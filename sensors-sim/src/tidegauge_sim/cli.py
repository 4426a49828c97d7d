"""The command: reads the settings, publishes readings and prints the totals."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import NoReturn

from tidegauge_sim import report
from tidegauge_sim.connection import tls_context
from tidegauge_sim.options import OptionsError, load
from tidegauge_sim.processes import configure_logging, run
from tidegauge_sim.progress import Progress
from tidegauge_sim.schedule import fleet

EXIT_OK, EXIT_INCOMPLETE, EXIT_SETTINGS = 0, 1, 2


def main(argv: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the simulator and return its exit code."""
    try:
        options = load(argv, environment)
        if options.broker.tls:
            tls_context(options)
    except OptionsError as error:
        for mistake in error.mistakes:
            _print_error(mistake)
        return EXIT_SETTINGS
    if options.print_config:
        print('\n'.join(options.lines()))  # noqa: T201
        return EXIT_OK
    configure_logging(options)
    if environment.get('STOP_WITH_STDIN') == 'true':
        threading.Thread(target=_stop_with_stdin, daemon=True).start()
    progress = Progress(options)
    start = monotonic()
    tally = run(options, progress.update)
    seconds = monotonic() - start
    progress.close()
    for failure in tally.failures:
        _print_error(failure)
    if not options.quiet:
        print(report.summary(tally, options, seconds))  # noqa: T201
    if options.report is not None:
        report.write(options.report, report.document(tally, fleet(options), options, seconds))
    return EXIT_OK if report.succeeded(tally) else EXIT_INCOMPLETE


def entry() -> NoReturn:
    """Entry point of the console script."""
    sys.exit(main(sys.argv[1:], os.environ))


def _stop_with_stdin() -> None:
    """Treat the end of standard input as SIGTERM, so that this process ends when its parent dies."""
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _print_error(line: str) -> None:
    print(f'tidegauge-sim: {line}', file=sys.stderr)  # noqa: T201
