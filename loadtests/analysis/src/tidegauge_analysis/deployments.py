"""A family once more with deployments as observations: trials of one deployment are no replicates of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidegauge_analysis.anova import Anova, Term, split_plot, two_way
from tidegauge_analysis.archive import Json, Run
from tidegauge_analysis.cells import label_of
from tidegauge_analysis.document import DeploymentGroup, Number, OverDeployments, Sentence, StratumRow
from tidegauge_analysis.numbers import Ledger, missing
from tidegauge_analysis.summaries import sample_of

Cell = tuple[str, str, str]
"""Block, hard levels, easy levels."""

BETWEEN, WITHIN = 'between deployments', 'within deployments'


def over_deployments(  # noqa: PLR0913, PLR0917
    groups: Mapping[str, Sequence[Run]],
    numbers: Mapping[str, Number],
    study: Json,
    names: Sequence[str],
    unit: str,
    p: Number | None,
    ledger: Ledger,
) -> OverDeployments:
    """Test hard factors against the error between deployments, and easy ones against that within them.

    :param groups: runs of each group, by its label
    :param numbers: the metric, by the name of the run
    :param names: factors that form the groups
    :param p: of the test over the trials
    """
    summaries, cells = [], {}
    hard = [name for name in names if name in study['hard']]
    easy = [name for name in names if name not in study['hard']]
    for label, runs in groups.items():
        deployments: dict[str, list[Run]] = {}
        for run in runs:
            deployments.setdefault(str(run.document['deployment']), []).append(run)
        means = []
        for of in deployments.values():
            sample = sample_of([numbers[run.name] for run in of], unit, ledger)
            number = sample.mean().value
            means.append(number)
            factors = of[0].factors
            cells[str(of[0].document['block']), label_of(factors, hard), label_of(factors, easy)] = number
        over = sample_of(means, unit, ledger)
        summaries.append(DeploymentGroup(label, len(means), over.mean(), means))
    reason, rows = _rows(cells, (' and '.join(hard), ' and '.join(easy)), unit, ledger)
    return OverDeployments(reason, rows, summaries, _sentence(reason, rows, p))


def _rows(
    cells: dict[Cell, Number], names: tuple[str, str], unit: str, ledger: Ledger
) -> tuple[str | None, list[StratumRow]]:
    blocks, hards, easies = (sorted({key[index] for key in cells}) for index in range(3))
    values = {key: number.value for key, number in cells.items() if number.value is not None}
    reason = None
    if len(blocks) < 2:
        reason = 'there is a single deployment of each combination, so that the error between deployments is unknown'
    elif len(hards) < 2 and len(easies) < 2:
        reason = 'a single group has nothing to be compared with'
    elif len(values) < len(blocks) * len(hards) * len(easies):
        reason = 'deployments of some groups are missing, so that the design is not balanced'
    if reason is not None:
        return reason, []
    given = [[*key, number.id] for key, number in cells.items()]
    try:
        return None, _Rows(values, (len(hards), len(easies)), given, unit, ledger).of(names)
    except ValueError as problem:
        return str(problem), []


@dataclass(frozen=True)
class _Rows:
    values: dict[Cell, float]
    levels: tuple[int, int]
    """Of hard and of easy factors."""
    given: list[list[str | None]]
    unit: str
    ledger: Ledger

    def of(self, names: tuple[str, str]) -> list[StratumRow]:
        block, hard, easy = zip(*self.values, strict=True)
        observations = list(self.values.values())
        of_hard, of_easy = names
        if self.levels[1] < 2:
            table = two_way(hard, block, observations, interaction=False)
            return [
                self._row(table.term('second'), 'block', 'block', BETWEEN),
                self._row(table.term('first'), 'hard', of_hard, BETWEEN),
                self._error(table, 'between', BETWEEN),
            ]
        if self.levels[0] < 2:
            table = two_way(easy, block, observations, interaction=False)
            return [self._row(table.term('first'), 'easy', of_easy, WITHIN), self._error(table, 'within', WITHIN)]
        both = split_plot(block, hard, easy, observations)
        return [
            self._row(both.between.term('block'), 'block', 'block', BETWEEN),
            self._row(both.between.term('hard'), 'hard', of_hard, BETWEEN),
            self._error(both.between, 'between', BETWEEN),
            self._row(both.within.term('easy'), 'easy', of_easy, WITHIN),
            self._row(both.within.term('hard:easy'), 'hard:easy', f'({of_hard}) : ({of_easy})', WITHIN),
            self._error(both.within, 'within', WITHIN),
        ]

    def _row(self, found: Term, term: str, label: str, stratum: str) -> StratumRow:
        squares = self._squares(term, found.df, found.sum_of_squares)
        return StratumRow(
            label, stratum, *squares, self._add(found.f, '', term, 'f'), self._add(found.p, '', term, 'p')
        )

    def _error(self, table: Anova, term: str, stratum: str) -> StratumRow:
        none = missing('', 'this row is the error')
        return StratumRow(
            'error', stratum, *self._squares(term, table.error_df, table.error_sum_of_squares), none, none
        )

    def _squares(self, term: str, df: float, squares: float) -> tuple[Number, Number, Number]:
        square = f'({self.unit})²' if '/' in self.unit else f'{self.unit}²'
        return (
            self._add(df, '', term, 'df'),
            self._add(squares, square, term, 'ss'),
            self._add(squares / df, square, term, 'ms'),
        )

    def _add(self, value: float, unit: str, term: str, what: str) -> Number:
        return self.ledger.add(value, unit, 'split_plot', cells=self.given, term=term, what=what)


def _sentence(reason: str | None, rows: Sequence[StratumRow], p: Number | None) -> Sentence:
    if reason is not None:
        return Sentence(f'No analysis over deployments: {reason}.')
    tests = [f'{row.term} p = {{{row.p.id}}}' for row in rows if row.p.id is not None and row.term != 'block']
    trials = f' With trials as observations, the groups give p = {{{p.id}}}.' if p is not None and p.id else ''
    return Sentence(f'With deployments as observations: {"; ".join(tests)}.{trials}')
