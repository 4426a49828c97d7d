"""Judges the claims of a publication by the intervals of the results."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, product

import numpy as np
from scipy import stats

from tidegauge_analysis.archive import Json
from tidegauge_analysis.cells import label_of, varying
from tidegauge_analysis.claim_runs import (
    LOAD,
    NOT_OF_LOADS,
    Condition,
    Observation,
    compared_by,
    conditions,
    matches,
    observations_of,
    samples_of,
    size_of,
    unit_of,
)
from tidegauge_analysis.document import ClaimPart, ClaimResult, Combination, Estimate, Level, PublishedRow, Sentence
from tidegauge_analysis.effects import Interval, ratio_of_means
from tidegauge_analysis.families import POWER, Scope
from tidegauge_analysis.metrics import Metric, parse_metric
from tidegauge_analysis.numbers import missing, no_estimate
from tidegauge_analysis.present import plain as plain_text
from tidegauge_analysis.published import is_ratio_of, scale_between
from tidegauge_analysis.summaries import Sample
from tidegauge_analysis.verdict import Decision, decide, further_runs

AGREES, DISAGREES, UNDECIDED, NOT_RUN = 'agrees', 'disagrees', 'undecided', 'not run'

FEW = 'a group has fewer than two observations, or they do not vary'
_CONTRARY = {'>': '<', '<': '>'}


def metrics_of_claims(study: Json) -> list[Metric]:
    """Metrics of runs that the claims of a study need."""
    found = []
    for claim in study.get('claims', []):
        metric = claim['parsed'] and claim['parsed']['metric']
        if metric and metric != LOAD:
            found.append(parse_metric(metric))
    return found


def claim_results(scope: Scope, published: Sequence[PublishedRow]) -> list[ClaimResult]:
    """Judge each claim of the study."""
    found = [_result(scope, claim, published) for claim in scope.archive.study.get('claims', [])]
    entries = {entry['id']: entry for entry in scope.ledger.entries} if found else {}
    return [replace(one, shown=plain_text(one.sentence.text, entries)) for one in found]


def power_slope(levels: Sequence[float], groups: Sequence[Sequence[float]], confidence: float) -> Interval:
    """Exponent of value = constant x level^exponent, by least squares of logarithms, with Student's interval.

    :param levels: of each group, above 0
    :raises ValueError: a value is not positive, or the values do not determine an interval
    """
    x = np.log(np.repeat(levels, [len(group) for group in groups]))
    every = np.concatenate([np.asarray(group, dtype=np.float64) for group in groups])
    if len(every) < 3 or every.min() <= 0 or np.ptp(x) == 0:
        raise ValueError('an exponent needs three positive values and two levels')
    fit = stats.linregress(x, np.log(every))
    reach = float(stats.t.ppf((1 + confidence) / 2, len(every) - 2) * fit.stderr)
    return Interval(float(fit.slope), float(fit.slope) - reach, float(fit.slope) + reach)


def _result(scope: Scope, claim: Json, published: Sequence[PublishedRow]) -> ClaimResult:
    none = missing('runs', 'the claim is decided')
    plain = {name: claim[name] for name in ('id', 'text', 'source', 'check', 'because')}
    if claim['parsed'] is None:
        return ClaimResult(
            **plain,
            verdict=NOT_RUN,
            reason=claim['notRun'],
            further_runs=none,
            sentence=Sentence(''),
            shown='',
            parts=[],
        )
    judge = _Judge(scope, claim['parsed'], published)
    parts = judge.parts()
    verdicts = [part.verdict for part in parts]
    if not parts:
        verdict = NOT_RUN
    elif DISAGREES in verdicts:
        verdict = DISAGREES
    else:
        verdict = AGREES if set(verdicts) == {AGREES} else UNDECIDED
    open_parts = [part.further_runs for part in parts if part.verdict == UNDECIDED and part.further_runs.value]
    most = max(open_parts, key=lambda number: number.value or 0.0, default=none)
    absent = judge.absent()
    if not parts and not absent:
        absent = [judge.too_few_levels()]
    return ClaimResult(
        **plain,
        verdict=verdict,
        reason='; '.join(absent),
        further_runs=most if verdict == UNDECIDED else none,
        sentence=_sentence(verdict, parts),
        shown='',
        parts=parts,
    )


def _sentence(verdict: str, parts: Sequence[ClaimPart]) -> Sentence:
    if not parts:
        return Sentence('')
    words = {AGREES: 'agree', DISAGREES: 'disagree', UNDECIDED: 'undecided'}
    counts = {name: sum(part.verdict == name for part in parts) for name in words}
    shown = ', '.join(f'{words[name]} {count}' for name, count in counts.items() if count)
    example = next(part for part in parts if part.verdict == verdict)
    text = f'{example.compared}{f" ({example.condition})" if example.condition else ""}: '
    value, low, high = example.result.value, example.result.low, example.result.high
    if value.id is None:
        text += f'no result, because {value.reason}'
    else:
        text += f'{example.measure} {{{value.id}}}'
        text += f' ({{{low.id}}} to {{{high.id}}})' if low.id and high.id else ', without an interval'
    if example.note:
        text += f'; {example.note}'
    return Sentence(f'Of {len(parts)} comparisons: {shown}. {text}.' if len(parts) > 1 else f'{text}.')


@dataclass(frozen=True)
class _Side:
    label: str
    levels: Combination
    """With the levels of the condition."""
    observations: list[Observation]


@dataclass(frozen=True)
class _Task:
    """A comparison to be made."""

    condition: Condition
    sides: tuple[_Side, ...]
    relation: str
    """`>`, `<` or `=` for two sides; empty otherwise."""


class _Judge:
    """Evaluates the check of one claim."""

    def __init__(self, scope: Scope, check: Json, published: Sequence[PublishedRow]) -> None:
        self.scope, self.check, self.published = scope, check, published
        self.test: Json = check['test']
        self.unit = unit_of(check['metric'])
        self.compared = compared_by(check)
        self.alpha = float(scope.analyse['alpha'])
        self.margin = float(scope.analyse['margin'])
        ignored = NOT_OF_LOADS if check['metric'] == LOAD else ()
        self.conditions = conditions(scope, observations_of(scope, check), self.compared, ignored)

    def parts(self) -> list[ClaimPart]:
        """All comparisons that can be made."""
        kind = self.test['kind']
        if kind == 'trend' and self.test['shape'] in {'rises', 'falls'}:
            return self._trends()
        tasks = [task for condition in self.conditions for task in self._tasks(condition)]
        make = {'ratio': self._ratio, 'bound': self._bound}.get(kind, self._pair)
        return [make(task, len(tasks)) for task in tasks]

    def absent(self) -> list[str]:
        """Levels that the check names and no run has, with the reason."""
        test = self.test
        groups = [*test.get('side', []), *(group for side in test.get('sides', []) for group in side)]
        named = [(name, level) for group in groups for name, level in group.items()]
        named += [(name, level) for name, levels in self.check['where'].items() for level in levels]
        study = self.scope.archive.study
        found: dict[str, None] = {}
        for name, level in named:
            if any(
                matches(series.factors | {'driver': driver}, {name: level})
                for series in self.scope.archive.series
                for driver in series.drivers
            ):
                continue
            reason = next((one['because'] for one in study['exclude'] if one['where'].get(name) == level), None)
            found[f'{name} {level} is not in this study' + (f': {reason}' if reason else '')] = None
        return list(found)

    def too_few_levels(self) -> str:
        """Why nothing can be compared although each level is planned."""
        if not self.conditions:
            return 'there is no analysed run with these levels'
        return f'this study has no runs that differ in {" and ".join(self.compared)} only'

    def _tasks(self, condition: Condition) -> list[_Task]:
        test = self.test
        if test['kind'] == 'bound':
            return [_Task(condition, (self._side(condition, {}),), '')]
        if test['kind'] == 'trend':
            return self._shape_tasks(condition)
        if test['kind'] == 'extreme':
            relation = '>' if test['extreme'] == 'highest' else '<'
            pairs = [(a, b, relation) for a, b in product(test['side'], self._others(condition))]
        elif test['kind'] == 'ratio':
            pairs = [(a, b, '') for a, b in product(*test['sides'])]
        else:
            steps = zip(pairwise(test['sides']), test['relations'], strict=True)
            pairs = [(a, b, relation) for sides, relation in steps for a, b in product(*sides)]
        tasks = [_Task(condition, (self._side(condition, a), self._side(condition, b)), rel) for a, b, rel in pairs]
        return [task for task in tasks if all(side.observations for side in task.sides)]

    def _shape_tasks(self, condition: Condition) -> list[_Task]:
        """What `same`, `peaks` and `levels-off` compare: sides along the factor."""
        sides = self._along(condition, sized=self.test['shape'] != 'same')
        if self.test['shape'] == 'same':
            return [_Task(condition, pair, '=') for pair in combinations(sides, 2)]
        if len(sides) < 3:
            return []
        if self.test['shape'] == 'levels-off':
            return [_Task(condition, (sides[-1], sides[0]), '>'), _Task(condition, (sides[-1], sides[-2]), '=')]
        top = max(sides[1:-1], key=lambda side: float(np.mean(_values(side))))
        return [_Task(condition, (top, end), '>') for end in (sides[0], sides[-1])]

    def _along(self, condition: Condition, *, sized: bool) -> list[_Side]:
        """Sides along the factor of a trend: by increasing size, or in the order of the study."""
        factor = self.test['factor']
        order = [*varying(self.scope.archive.study).get(factor, [])]
        there = [level for level in order if any(one.factors.get(factor) == level for one in condition.observations)]
        if sized:
            there = sorted((level for level in there if size_of(level)), key=lambda level: size_of(level) or 0.0)
        return [self._side(condition, {factor: level}) for level in there]

    def _others(self, condition: Condition) -> list[Combination]:
        """Other combinations of the compared factors than those of the side."""
        found: dict[tuple[Level, ...], Combination] = {}
        for one in condition.observations:
            group = {name: one.factors[name] for name in self.compared if name in one.factors}
            if not any(matches(group, side) for side in self.test['side']):
                found[tuple(group.values())] = group
        return list(found.values())

    def _side(self, condition: Condition, group: Combination) -> _Side:
        there = [one for one in condition.observations if matches(one.factors, group)]
        levels = {**(there[0].factors if there else {}), **condition.factors, **group}
        return _Side(label_of(group, group), levels, there)

    def _samples(self, sides: Sequence[_Side]) -> list[Sample]:
        return samples_of(self.scope, [side.observations for side in sides], self.unit, self.compared)

    def _part(self, task: _Task, samples: Sequence[Sample], verdict: str, compared: str) -> ClaimPart:
        """A part without its result."""
        means = [sample.mean() for sample in samples]
        none = no_estimate(self.unit, 'there is one side')
        return ClaimPart(
            condition=label_of(task.condition.factors, task.condition.factors),
            compared=compared,
            verdict=verdict,
            first=means[0],
            second=means[-1] if len(means) > 1 else none,
            measure='mean',
            result=means[0],
            published=self._published(task.sides),
            further_runs=missing('runs', 'the comparison is decided'),
            note='',
        )

    def _pair(self, task: _Task, comparisons: int) -> ClaimPart:
        first, second = samples = self._samples(task.sides)
        x, y = first.values, second.values
        relation, margin = task.relation, max(self.margin, 1e-9)
        found = _relation(x, y, margin, self.alpha)
        strict = _relation(x, y, margin, self.alpha / comparisons)
        verdict = AGREES if found == relation else DISAGREES if strict not in {relation, ''} else UNDECIDED
        compared = f'{task.sides[0].label} {relation} {task.sides[1].label}'
        inputs: Json = {'first': first.name, 'second': second.name}
        further = missing('runs', 'the comparison is decided')
        if verdict == UNDECIDED:
            given: Json = {'margin': margin, 'alpha': self.alpha, 'power': POWER, 'comparisons': 1}
            runs = further_runs(x, y, margin, self.alpha, POWER) if _can_compare(x, y) else None
            further = self.scope.ledger.add(
                runs, 'runs', 'further_runs', FEW if runs is None else '', **given, **inputs
            )
        note = {'=': f'equivalent within {self.margin:.0%}'}.get(found, '')
        return replace(
            self._part(task, samples, verdict, compared),
            measure='ratio',
            result=self._ratio_of(first, second),
            further_runs=further,
            note=note if _can_compare(x, y) else FEW,
        )

    def _ratio(self, task: _Task, comparisons: int) -> ClaimPart:
        first, second = samples = self._samples(task.sides)
        low, high = self.test['low'], self.test['high']
        result = self._ratio_of(first, second)
        verdict = UNDECIDED
        if result.low.value is not None and result.high.value is not None:
            wide = ratio_of_means(first.values, second.values, 1 - self.alpha / comparisons)
            if low <= result.low.value and result.high.value <= high:
                verdict = AGREES
            elif wide.low > high or wide.high < low:
                verdict = DISAGREES
        compared = f'{task.sides[0].label} / {task.sides[1].label}'
        part = self._part(task, samples, verdict, compared)
        return replace(part, measure='ratio', result=result, note=f'claimed: {low:.3g} to {high:.3g}')

    def _bound(self, task: _Task, comparisons: int) -> ClaimPart:
        (sample,) = samples = self._samples(task.sides)
        scale = scale_between(self.test['unit'], self.unit)
        relation, limit = self.test['relation'], self.test['value'] * (scale or math.nan)
        verdict = UNDECIDED
        if scale is None:
            note = f'{self.test["unit"]} and {self.unit} cannot be compared'
        elif len(sample.values) < 2:
            note = FEW
        else:
            note = f'claimed: {relation} {self.test["value"]:g} {self.test["unit"]}'
            found = _against(sample.mean(1 - self.alpha), limit)
            contrary = _against(sample.mean(1 - self.alpha / comparisons), limit) == _CONTRARY[relation]
            verdict = AGREES if found == relation else DISAGREES if contrary else UNDECIDED
        part = self._part(task, samples, verdict, f'{self.check["metric"]} {relation} {self.test["value"]:g}')
        return replace(part, note=note)

    def _trends(self) -> list[ClaimPart]:
        along = [(condition, self._along(condition, sized=True)) for condition in self.conditions]
        along = [(condition, sides) for condition, sides in along if len(sides) > 1]
        comparisons = sum(len(sides) for _, sides in along)
        return [self._trend(condition, sides, comparisons) for condition, sides in along]

    def _trend(self, condition: Condition, sides: list[_Side], comparisons: int) -> ClaimPart:
        samples, factor = self._samples(sides), self.test['factor']
        levels = [size_of(side.levels[factor]) or math.nan for side in sides]
        relation = '<' if self.test['shape'] == 'rises' else '>'
        task = _Task(condition, (sides[0], sides[-1]), relation)
        label = f'{self.test["shape"]} with {factor} {sides[0].levels[factor]} to {sides[-1].levels[factor]}'
        values = [sample.values for sample in samples]
        strict = self.alpha / comparisons
        try:
            slope = power_slope(levels, values, 1 - self.alpha)
            wide, narrow = power_slope(levels, values, 1 - strict), power_slope(levels, values, 1 - 2 * strict)
        except ValueError as problem:
            none = no_estimate('', str(problem))
            part = self._part(task, [samples[0], samples[-1]], UNDECIDED, label)
            return replace(part, measure='exponent', result=none)
        margin = max(self.margin, 1e-9)
        contrary = [
            f'{sides[at].label} {_CONTRARY[relation]} {sides[at + 1].label}'
            for at, (x, y) in enumerate(pairwise(values))
            if _relation(x, y, margin, strict) == _CONTRARY[relation]
        ]
        # The change over the whole range that does not matter, as an exponent.
        flat = math.log1p(margin) / math.log(levels[-1] / levels[0])
        sign = 1 if relation == '<' else -1
        note, verdict = '', UNDECIDED
        if contrary:
            verdict, note = DISAGREES, f'contrary: {", ".join(contrary)}'
        elif max(sign * wide.low, sign * wide.high) < 0:
            verdict, note = DISAGREES, 'the trend is contrary'
        elif -flat < narrow.low and narrow.high < flat:
            verdict, note = DISAGREES, f'the change over all levels is within {self.margin:.0%}'
        elif min(sign * slope.low, sign * slope.high) > 0:
            verdict = AGREES
        names = [sample.name for sample in samples]
        result = self.scope.ledger.estimate(slope, '', 'power_slope', 1 - self.alpha, FEW, groups=names, levels=levels)
        part = self._part(task, [samples[0], samples[-1]], verdict, label)
        return replace(part, measure='exponent', result=result, note=note)

    def _ratio_of(self, first: Sample, second: Sample) -> Estimate:
        x, y = first.values, second.values
        if not x or not y or sum(y) == 0:
            return no_estimate('', 'the second mean is zero')
        interval = Interval(float(np.mean(x)) / float(np.mean(y)), -math.inf, math.inf)
        if _can_compare(x, y):
            interval = ratio_of_means(x, y, 1 - self.alpha)
        names: Json = {'first': first.name, 'second': second.name}
        return self.scope.ledger.estimate(interval, '', 'ratio_of_means', 1 - self.alpha, FEW, **names)

    def _published(self, sides: Sequence[_Side]) -> Sentence:
        rows = [row for row in self.published if row.metric == self.check['metric'] and row.published.id]
        found = [
            f'{side.label or row.metric} {{{row.published.id}}}'
            for side in sides
            for row in rows
            if matches(side.levels, row.factors)
        ]
        if len(sides) > 1:
            one, two = sides[0].levels, sides[-1].levels
            found += [f'ratio {{{row.published.id}}}' for row in rows if is_ratio_of(row.factors, one, two)]
        return Sentence(', '.join(dict.fromkeys(found)))


def _values(side: _Side) -> list[float]:
    return [one.number.value for one in side.observations if one.number.value is not None]


def _can_compare(x: Sequence[float], y: Sequence[float]) -> bool:
    return min(len(x), len(y)) > 1 and (max(x) > min(x) or max(y) > min(y))


def _relation(x: Sequence[float], y: Sequence[float], margin: float, alpha: float) -> str:
    """What the values show: `>`, `<`, `=` (equivalent), or nothing."""
    if not _can_compare(x, y):
        return ''
    found = decide(x, y, margin, alpha)
    if found.decision == Decision.UNDECIDED:
        return ''
    if found.decision == Decision.EQUIVALENT:
        return '='
    return '>' if found.difference.value > 0 else '<'


def _against(estimate: Estimate, limit: float) -> str:
    low, high = estimate.low.value, estimate.high.value
    if low is None or high is None:
        return ''
    return '>' if low > limit else '<' if high < limit else ''
