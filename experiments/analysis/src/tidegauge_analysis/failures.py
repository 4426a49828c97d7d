"""Runs in which a node of the store was killed: how long the store needed, what failed, and what was lost."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tidegauge_analysis.archive import Json, Operations, Run, analysed
from tidegauge_analysis.cells import Cell, cells_of
from tidegauge_analysis.document import Estimate, FailureRow, Number, Sentence
from tidegauge_analysis.numbers import anchor, estimate_in_words, missing, no_estimate
from tidegauge_analysis.scope import Scope
from tidegauge_analysis.summaries import sample_of

RECOVERED = 0.9
"""Share of the rate before the failure at which a store has recovered. The runner has the same."""

NOT_BACK = 'the rate stayed lower until the end of the run'
UNCHECKED = 'no record was checked'


def failures(scope: Scope) -> list[FailureRow]:
    """Summarise the failures of nodes for each combination of the factors that vary."""
    found = []
    for cell in cells_of(scope.archive):
        runs = [run for run in analysed(cell.runs) if run.document.get('fault')]
        if runs:
            found.append(_row(scope, cell, runs))
    return found


def _row(scope: Scope, cell: Cell, runs: list[Run]) -> FailureRow:
    ledger = scope.ledger
    measured = {run.name: Failure(scope.archive.operations(run), run.document['fault']) for run in runs}

    def each(what: str, unit: str, reason: str = '') -> list[Number]:
        return [
            ledger.add(measured[run.name].value(what), unit, 'failure', reason, run=run.name, what=what) for run in runs
        ]

    def mean(numbers: Sequence[Number], unit: str) -> Estimate:
        sample = sample_of(numbers, unit, ledger)
        return sample.mean() if sample.numbers else no_estimate(unit, numbers[0].reason or NOT_BACK)

    def total(numbers: Sequence[Number], unit: str) -> Number:
        known = [number for number in numbers if number.value is not None]
        if not known:
            return missing(unit, UNCHECKED)
        names = ledger.set([number.id for number in known])
        return ledger.add(sum(number.value or 0 for number in known), unit, 'sum', of=names)

    def field(key: str, unit: str) -> list[Number]:
        return [
            ledger.add(
                # Results of earlier versions do not tell stale records from lost ones.
                run.document['fault'].get(key),
                unit,
                'field',
                UNCHECKED,
                file=f'runs/{run.name}.json',
                path=['fault', key],
            )
            for run in runs
        ]

    back = each('recovery', 's', NOT_BACK)
    down = [
        ledger.add(
            last.value - first.value if last.value is not None and first.value is not None else None,
            's',
            'difference',
            first=last.id,
            second=first.id,
        )
        for last, first in zip(field('restartedSeconds', 's'), field('killedSeconds', 's'), strict=True)
    ]
    row = FailureRow(
        id=anchor('failure', cell.label),
        label=cell.label,
        factors=cell.factors,
        n=len(runs),
        recovered=sum(number.value is not None for number in back),
        rate_before=mean(each('rate', 'ops/s'), 'ops/s'),
        recovery=mean(back, 's'),
        slow=mean(each('slow', 's'), 's'),
        pause=mean(each('pause', 's'), 's'),
        down=mean(down, 's'),
        failed=total(each('failed', 'operations'), 'operations'),
        failed_share=mean(each('share', '%', 'no operation ended after the failure'), '%'),
        checked=total(field('checked', 'records'), 'records'),
        stale=total(field('stale', 'records'), 'records'),
        lost=total(field('lost', 'records'), 'records'),
        sentence=Sentence(''),
    )
    return FailureRow(**{**vars(row), 'sentence': Sentence(_words(row))})


class Failure:
    """The operations of a run before and after the failure of a node. Times are in seconds."""

    def __init__(self, operations: Operations, fault: Json) -> None:
        whole = operations.part == 0
        ended = (operations.start + operations.latency)[whole]
        succeeded = operations.status[whole] == 'OK'
        at = float(fault['killedSeconds']) * 1e6
        later = ended >= at
        self._before = int((succeeded & ~later).sum())
        self._seconds = (at - float(operations.start[whole].min())) / 1e6 if whole.any() else 0.0
        self._ends = np.sort((ended[succeeded & later] - at) / 1e6)
        self._last = (float(ended.max()) - at) / 1e6 if whole.any() else 0.0
        self._later, self._failed = int(later.sum()), int((later & ~succeeded).sum())

    def value(self, what: str) -> float | None:
        """One of the values of `FailureRow`; None: the run does not have it."""
        known: dict[str, Callable[[], float | None]] = {
            'rate': self._rate,
            'recovery': self._recovery,
            'slow': lambda: float(self._is_slow().sum()),
            'pause': self._pause,
            'failed': lambda: self._failed,
            'share': lambda: 100 * self._failed / self._later if self._later else None,
        }
        return known[what]()

    def _rate(self) -> float:
        return self._before / self._seconds if self._seconds > 0 else 0.0

    def _is_slow(self) -> NDArray[np.bool_]:
        """Each whole second after the failure: whether its rate is below 90 % of that before."""
        seconds = max(0, int(self._last))
        done, _ = np.histogram(self._ends, np.arange(seconds + 1)) if seconds else (np.zeros(0), None)
        # The last bin of a histogram includes its upper edge.
        if seconds:
            done[-1] = int(((self._ends >= seconds - 1) & (self._ends < seconds)).sum())
        slow: NDArray[np.bool_] = done < RECOVERED * self._rate()
        return slow

    def _recovery(self) -> float | None:
        slow = self._is_slow()
        if not slow.any():
            return 0.0
        first = int(np.argmax(slow))
        back = np.flatnonzero(~slow[first:])
        return float(first + back[0]) if len(back) else None

    def _pause(self) -> float:
        return float(np.diff([0.0, *self._ends, max(self._last, 0.0)]).max())


def _words(row: FailureRow) -> str:
    """The row as a sentence."""
    if row.recovered:
        of_runs = f' in {row.recovered} of {row.n} runs' if row.recovered < row.n else ''
        back = f'the rate was 90 % of that before again after {estimate_in_words(row.recovery)}{of_runs}'
    else:
        back = f'the rate stayed below 90 % of that before until the end of the run, in {row.n} of {row.n} runs'
    slow = f'it was lower for {estimate_in_words(row.slow)} in all'
    pause = f'the longest time without a successful operation was {estimate_in_words(row.pause)}'
    parts = [f'{row.label}: {back}; {slow}, and {pause}.']
    if row.failed_share.value.id:
        parts.append(f'{estimate_in_words(row.failed_share)} of the operations after the failure failed.')
    if row.checked.id and row.lost.id:
        lost = 'none lacked' if row.lost.value == 0 else f'{{{row.lost.id}!}} lacked'
        parts.append(f'Of {{{row.checked.id}!}} records read after the restart, {lost} an acknowledged write.')
        if row.stale.value:
            parts.append(f'{{{row.stale.id}!}} had it on other copies only: the read was stale.')
    else:
        parts.append('No record was read after the restart.')
    return ' '.join(parts)
