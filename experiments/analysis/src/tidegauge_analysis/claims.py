"""Judges the claims of a publication by the intervals of the results."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, product

from tidegauge_analysis.archive import Json
from tidegauge_analysis.cells import label_of, varying
from tidegauge_analysis.claim_runs import (
    LOAD,
    NOT_OF_LOADS,
    Condition,
    compared_by,
    conditions,
    matches,
    observations_of,
    size_of,
    unit_of,
)
from tidegauge_analysis.contrasts import (
    FEWEST_UNITS,
    Contrast,
    Decision,
    Pooled,
    decide,
    further_units,
    pool,
    pool_blocks,
)
from tidegauge_analysis.document import (
    ClaimPart,
    ClaimResult,
    Combination,
    Estimate,
    Level,
    Number,
    PublishedRow,
    Sentence,
)
from tidegauge_analysis.effects import Interval
from tidegauge_analysis.metrics import Metric, parse_metric
from tidegauge_analysis.numbers import missing, no_estimate
from tidegauge_analysis.present import plain as plain_text
from tidegauge_analysis.published import is_ratio_of, scale_between
from tidegauge_analysis.scope import Scope
from tidegauge_analysis.trends import Trend, trend_of, with_trend_priors
from tidegauge_analysis.units import (
    NOT_POSITIVE,
    BlockEffects,
    Comparison,
    Observation,
    block_effects,
    compare,
    mean_of,
    units_of,
    with_priors,
)

AGREES, DISAGREES, UNDECIDED, NOT_RUN = 'agrees', 'disagrees', 'undecided', 'not run'

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
    found = [result for _, result in _judge_all(scope, published)]
    entries = {entry['id']: entry for entry in scope.ledger.entries} if found else {}
    return [replace(one, shown=plain_text(one.sentence.text, entries)) for one in found]


def open_levels(scope: Scope) -> dict[str, list[Combination]]:
    """The combinations of levels that undecided claims compare, by the claim's id."""
    judged = _judge_all(scope, [])
    return {result.id: claim.open_levels(result) for claim, result in judged if result.verdict == UNDECIDED}


def _judge_all(scope: Scope, published: Sequence[PublishedRow]) -> list[tuple['_Claim', ClaimResult]]:
    """Judge the claims, which share the error of the study: those that are not decided yet share it equally.

    Source: Holm 1979, Scandinavian Journal of Statistics 6. A claim that cannot be checked needs no share.
    """
    claims = scope.archive.study.get('claims', [])
    found: dict[int, tuple[_Claim, ClaimResult]] = {}
    still_open = list(range(len(claims)))
    while still_open:
        alpha = scope.alpha / max(1, sum(claims[index]['parsed'] is not None for index in still_open))
        for index in still_open:
            claim = _Claim(scope, claims[index], published, alpha)
            found[index] = claim, claim.result()
        before, still_open = still_open, [index for index in still_open if found[index][1].verdict == UNDECIDED]
        if still_open == before:
            break
    return [found[index] for index in range(len(claims))]


def effects_in_blocks(scope: Scope) -> list[list[list[float]]]:
    """The effects of each claim whose conditions share blocks: a row for each condition, a column for each block."""
    layouts = [_in_blocks(claim.made) for claim, _ in _judge_all(scope, []) if len(claim.made) > 1]
    return [_values(layout) for layout in layouts if layout]


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


@dataclass(frozen=True)
class _Judged:
    """A comparison that was made."""

    task: _Task
    part: ClaimPart
    contrast: Contrast | None
    """Its effect on the scale of logarithms."""
    numbers: tuple[Number, Number] | None
    """The effect and its squared standard error."""
    by_block: BlockEffects


class _Claim:
    """Evaluates the check of one claim."""

    def __init__(self, scope: Scope, claim: Json, published: Sequence[PublishedRow], alpha: float) -> None:
        self.scope, self.claim, self.published, self.alpha = scope, claim, published, alpha
        self.check: Json | None = claim['parsed']
        self.margin = max(scope.margin, 1e-9)
        self.made: list[_Judged] = []

    def result(self) -> ClaimResult:
        """The claim with its verdict."""
        none = missing('', 'the claim is decided')
        plain = {name: self.claim[name] for name in ('id', 'text', 'source', 'check', 'because')}
        found = ClaimResult(
            **plain,
            verdict=NOT_RUN,
            reason=self.claim.get('notRun') or '',
            further=none,
            pooled=no_estimate('', 'there is one comparison'),
            heterogeneity=missing('', 'there is one comparison'),
            sentence=Sentence(''),
            shown='',
            parts=[],
        )
        if self.check is None:
            return found
        self.test: Json = self.check['test']
        self.metric = str(self.check['metric'])
        self.unit = unit_of(self.metric)
        self.compared = compared_by(self.check)
        ignored = NOT_OF_LOADS if self.metric == LOAD else ()
        self.conditions = conditions(self.scope, observations_of(self.scope, self.check), self.compared, ignored)
        self.made = self._judge()
        parts = [one.part for one in self.made]
        absent = self._absent()
        if not parts:
            return replace(found, reason='; '.join(absent or [self._too_few_levels()]))
        alike = self._alike()
        pooled = _pooled(alike[0]) if len(alike) == 1 else None
        verdict = self._verdict(alike)
        more = [part.further for part in parts if part.verdict == UNDECIDED and part.further.value]
        estimate, heterogeneity = self._shown(pooled)
        return replace(
            found,
            verdict=verdict,
            reason='; '.join(absent),
            further=max(more, key=lambda number: number.value or 0.0, default=none) if verdict == UNDECIDED else none,
            pooled=estimate,
            heterogeneity=heterogeneity,
            sentence=_sentence(verdict, parts, estimate),
            parts=parts,
        )

    def open_levels(self, result: ClaimResult) -> list[Combination]:
        """The levels that more data would help to decide."""
        wanted = [one for one in self.made if one.part.verdict == UNDECIDED] or self.made
        every = [side.levels for one in wanted for side in one.task.sides] if result.parts else []
        return [levels for at, levels in enumerate(every) if levels not in every[:at]]

    def _judge(self) -> list[_Judged]:
        """Make all comparisons that can be made."""
        kind = self.test['kind']
        if kind == 'trend' and self.test['shape'] in {'rises', 'falls'}:
            return self._trends()
        tasks = [task for condition in self.conditions for task in self._tasks(condition)]
        if kind == 'bound':
            return [self._bound(task, len(tasks)) for task in tasks]
        compared = self._compared(tasks)
        judge = self._ratio if kind == 'ratio' else self._pair
        return [judge(task, one, len(tasks)) for task, one in zip(tasks, compared, strict=True)]

    def _compared(self, tasks: Sequence[_Task]) -> list[Comparison]:
        """Compare the sides of each task. All comparisons of the claim show how much one varies between blocks."""
        found = [compare(task.sides[0].observations, task.sides[1].observations) for task in tasks]
        return with_priors(self.scope.ledger, found)

    def _alike(self) -> list[list[_Judged]]:
        """The comparisons by what they compare: of each, those under all conditions."""
        found: dict[tuple[str, ...], list[_Judged]] = {}
        for one in self.made:
            found.setdefault(tuple(side.label for side in one.task.sides), []).append(one)
        return list(found.values())

    def _verdict(self, alike: Sequence[Sequence[_Judged]]) -> str:
        """A claim holds where nothing contradicts it, and each comparison shows it, under all conditions or pooled."""
        verdicts = [self._verdict_of(made) for made in alike]
        return DISAGREES if DISAGREES in verdicts else AGREES if set(verdicts) == {AGREES} else UNDECIDED

    def _verdict_of(self, made: Sequence[_Judged]) -> str:
        """The verdict of one comparison under all conditions."""
        verdicts = {one.part.verdict for one in made}
        if DISAGREES in verdicts:
            return DISAGREES
        if verdicts == {AGREES}:
            return AGREES
        pooled = _pooled(made)
        return UNDECIDED if pooled is None else self._judgement(pooled, made[0].task.relation, self.alpha)

    def _judgement(self, effect: Contrast | Pooled, relation: str, alpha: float, strict: float | None = None) -> str:
        """Whether an effect shows what the check states.

        :param strict: the level of a contradiction, which any of several comparisons could give by chance
        """
        if self.test['kind'] == 'ratio':
            low, high = math.log(self.test['low']), math.log(self.test['high'])
            own, wide = effect.interval(1 - alpha), effect.interval(1 - (strict or alpha))
            if low <= own.low and own.high <= high:
                return AGREES
            return DISAGREES if wide.low > high or wide.high < low else UNDECIDED
        if self._relation(effect, alpha) == relation:
            return AGREES
        return UNDECIDED if self._relation(effect, strict or alpha) in {relation, ''} else DISAGREES

    def _relation(self, effect: Contrast | Pooled, alpha: float) -> str:
        """As `_relation`. A limit and an exponent have no margin."""
        is_sign = self.test['kind'] == 'bound' or self._is_slope()
        return _sign(effect, alpha) if is_sign else _relation(effect, self.margin, alpha)

    def _shown(self, pooled: Pooled | None) -> tuple[Estimate, Number]:
        """The pooled effect as an estimate, and the standard deviation of the effects between conditions."""
        if pooled is None:
            reason = 'there is one comparison' if len(self.made) < 2 else 'not all comparisons can be pooled'
            return no_estimate('', reason), missing('', reason)
        formula, given = self._pooled_inputs()
        found, what = pooled.interval(0.95), 'value'
        if not self._is_slope():
            found, what = Interval(*(math.exp(each) for each in (found.value, found.low, found.high))), 'ratio'
        estimate = self.scope.ledger.estimate(found, '', formula, 0.95, what=what, **given)
        spread = self.scope.ledger.add(math.sqrt(pooled.tau_squared), '', formula, what='spread', **given)
        return estimate, spread

    def _pooled_inputs(self) -> tuple[str, Json]:
        """The formula of the pooled effect, and its inputs."""
        add = self.scope.ledger.add
        layout = _in_blocks(self.made)
        if layout:
            units = [[add(value, '', name, what='value', **of).id for value, name, of in row] for row in layout]
            return 'pooled_blocks', {'units': units}
        numbers = [one.numbers for one in self.made if one.numbers is not None]
        return 'pooled', {
            'effects': [effect.id for effect, _ in numbers],
            'variances': [variance.id for _, variance in numbers],
        }

    def _is_slope(self) -> bool:
        return bool(self.test['kind'] == 'trend' and self.test['shape'] in {'rises', 'falls'})

    def _absent(self) -> list[str]:
        """Levels that the check names and no run has, with the reason."""
        check: Json = self.check or {}
        groups = [*self.test.get('side', []), *(group for side in self.test.get('sides', []) for group in side)]
        named = [(name, level) for group in groups for name, level in group.items()]
        named += [(name, level) for name, levels in check['where'].items() for level in levels]
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

    def _too_few_levels(self) -> str:
        """Why nothing can be compared although each level is planned."""
        if not self.conditions:
            return 'there is no analysed run with these levels'
        return f'this study has no runs that differ in {" and ".join(self.compared)} only'

    def _tasks(self, condition: Condition) -> list[_Task]:
        test = self.test
        if test['kind'] == 'bound':
            return [_Task(condition, (self._side(condition, {}),), test['relation'])]
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
        top = max(sides[1:-1], key=lambda side: self._mean(side).value.value or 0.0)
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

    def _mean(self, side: _Side) -> Estimate:
        return mean_of(side.observations, self.unit, self.scope.ledger)

    def _part(self, task: _Task, verdict: str, compared: str, result: Estimate, reason: str) -> ClaimPart:
        means = [self._mean(side) for side in task.sides]
        none = no_estimate(self.unit, 'there is one side')
        return ClaimPart(
            condition=label_of(task.condition.factors, task.condition.factors),
            compared=compared,
            verdict=verdict,
            first=means[0],
            second=means[-1] if len(means) > 1 else none,
            measure='ratio',
            result=result,
            published=self._published(task.sides),
            further=missing('', reason or 'the comparison is decided'),
            note=reason,
        )

    def _effect(self, one: Comparison) -> tuple[Number, Number] | None:
        """The effect of a comparison and its squared error, for pooling."""
        if one.contrast is None:
            return None
        given = one.inputs(self.scope.ledger)
        add = self.scope.ledger.add
        return (
            add(one.contrast.value, '', 'log_ratio', what='value', **given),
            add(one.contrast.error**2, '', 'log_ratio', what='variance', **given),
        )

    def _pair(self, task: _Task, one: Comparison, comparisons: int) -> _Judged:
        verdict, note = UNDECIDED, one.reason
        if one.contrast is not None:
            verdict = self._judgement(one.contrast, task.relation, self.alpha, self.alpha / comparisons)
            if decide(one.contrast, self.margin, self.alpha) is Decision.EQUIVALENT:
                note = f'equivalent within {self.margin:.0%}'
        compared = f'{task.sides[0].label} {task.relation} {task.sides[1].label}'
        part = self._part(task, verdict, compared, one.ratio(self.scope.ledger), note)
        if verdict == UNDECIDED and one.contrast is not None:
            more = further_units(one.contrast, self.margin, self.alpha)
            given: Json = {
                'margin': self.margin,
                'alpha': self.alpha,
                'comparisons': 1,
                **one.inputs(self.scope.ledger),
            }
            why = 'more than a thousand would be needed'
            further = self.scope.ledger.add(more, f'{one.kind}s', 'further_units', why, **given)
            part = replace(part, further=further)
        return _Judged(task, part, one.contrast, self._effect(one), one.by_block(self.scope.ledger))

    def _ratio(self, task: _Task, one: Comparison, comparisons: int) -> _Judged:
        low, high = self.test['low'], self.test['high']
        verdict = UNDECIDED
        if one.contrast is not None:
            verdict = self._judgement(one.contrast, '', self.alpha, self.alpha / comparisons)
        compared = f'{task.sides[0].label} / {task.sides[1].label}'
        note = '; '.join(text for text in (one.reason, f'claimed: {low:.3g} to {high:.3g}') if text)
        part = self._part(task, verdict, compared, one.ratio(self.scope.ledger), note)
        return _Judged(task, part, one.contrast, self._effect(one), one.by_block(self.scope.ledger))

    def _bound(self, task: _Task, comparisons: int) -> _Judged:
        """A value beside a limit: the ratio of both."""
        scale = scale_between(self.test['unit'], self.unit)
        compared = f'{self.metric} {task.relation} {self.test["value"]:g}'
        note = f'claimed: {task.relation} {self.test["value"]:g} {self.test["unit"]}'
        if scale is None:
            note = f'{self.test["unit"]} and {self.unit} cannot be compared'
        contrast, problem = self._beside(task.sides[0], None if scale is None else self.test['value'] * scale)
        verdict = UNDECIDED
        if contrast is not None:
            verdict = self._judgement(contrast, task.relation, self.alpha, self.alpha / comparisons)
        note = '; '.join(text for text in (note, problem) if text)
        part = replace(self._part(task, verdict, compared, self._mean(task.sides[0]), note), measure='mean')
        return _Judged(task, part, contrast, *self._of_limit(task.sides[0], contrast, scale))

    def _beside(self, side: _Side, limit: float | None) -> tuple[Contrast | None, str]:
        """The logarithm of each unit over the limit, or why there is none."""
        if limit is None:
            return None, ''
        if any(one.value <= 0 for one in side.observations):
            return None, NOT_POSITIVE
        units = units_of(side.observations)
        try:
            logs = [sum(math.log(one.value / limit) for one in unit) / len(unit) for unit in units]
            return Contrast(tuple(logs)), ''
        except ValueError as problem:
            return None, str(problem)

    def _of_limit(
        self, side: _Side, contrast: Contrast | None, scale: float | None
    ) -> tuple[tuple[Number, Number] | None, BlockEffects]:
        """The effect of a bound and its squared error, and the effect of each block, for pooling."""
        if contrast is None or scale is None:
            return None, {}
        units = units_of(side.observations)
        of = [self.scope.ledger.set([one.number.id for one in unit]) for unit in units]
        limit = self.test['value'] * scale
        add = self.scope.ledger.add
        numbers = (
            add(contrast.value, '', 'log_of_limit', what='value', of=of, limit=limit),
            add(contrast.error**2, '', 'log_of_limit', what='variance', of=of, limit=limit),
        )
        effects: list[tuple[float, str, Json]] = [
            (value, 'log_of_limit', {'of': [one], 'limit': limit})
            for value, one in zip(contrast.units, of, strict=True)
        ]
        return numbers, block_effects([unit[0].block for unit in units], effects)

    def _trends(self) -> list[_Judged]:
        along = [(condition, self._along(condition, sized=True)) for condition in self.conditions]
        along = [(condition, sides) for condition, sides in along if len(sides) > 1]
        comparisons = sum(len(sides) for _, sides in along)
        found = [trend_of(self._sizes(sides), [side.observations for side in sides]) for _, sides in along]
        trends = with_trend_priors(self.scope.ledger, found)
        return [
            self._trend(condition, sides, trend, comparisons)
            for (condition, sides), trend in zip(along, trends, strict=True)
        ]

    def _sizes(self, sides: Sequence[_Side]) -> list[float]:
        return [size_of(side.levels[self.test['factor']]) or math.nan for side in sides]

    def _trend(self, condition: Condition, sides: list[_Side], trend: Trend, comparisons: int) -> _Judged:
        factor, ledger = self.test['factor'], self.scope.ledger
        relation = '<' if self.test['shape'] == 'rises' else '>'
        # The effect is the exponent: above 0 where the metric rises.
        task = _Task(condition, (sides[0], sides[-1]), '>' if relation == '<' else '<')
        label = f'{self.test["shape"]} with {factor} {sides[0].levels[factor]} to {sides[-1].levels[factor]}'
        if trend.contrast is None:
            part = self._part(task, UNDECIDED, label, no_estimate('', trend.reason), trend.reason)
            return _Judged(task, replace(part, measure='exponent'), None, None, {})
        strict = self.alpha / comparisons
        verdict, note = self._trend_verdict(trend, sides, self._sizes(sides), relation, strict)
        result = trend.estimate(ledger)
        part = replace(self._part(task, verdict, label, result, note), measure='exponent')
        return _Judged(task, part, trend.contrast, trend.numbers(ledger), trend.by_block(ledger))

    def _trend_verdict(
        self, trend: Trend, sides: list[_Side], levels: list[float], relation: str, strict: float
    ) -> tuple[str, str]:
        contrast = trend.contrast
        if contrast is None:
            return UNDECIDED, trend.reason
        contrary = []
        for one, two in pairwise(sides):
            compared = compare(one.observations, two.observations).contrast
            if compared is not None and _relation(compared, self.margin, strict) == _CONTRARY[relation]:
                contrary.append(f'{one.label} {_CONTRARY[relation]} {two.label}')
        if contrary:
            return DISAGREES, f'contrary: {", ".join(contrary)}'
        sign = 1 if relation == '<' else -1
        own, wide = contrast.interval(1 - self.alpha), contrast.interval(1 - strict)
        narrow = contrast.interval(1 - 2 * strict)
        # The change over the whole range that does not matter, as an exponent.
        flat = math.log1p(self.margin) / math.log(levels[-1] / levels[0])
        if max(sign * wide.low, sign * wide.high) < 0:
            return DISAGREES, 'the trend is contrary'
        if -flat < narrow.low and narrow.high < flat:
            return DISAGREES, f'the change over all levels is within {self.margin:.0%}'
        return (AGREES, '') if min(sign * own.low, sign * own.high) > 0 else (UNDECIDED, '')

    def _published(self, sides: Sequence[_Side]) -> Sentence:
        rows = [row for row in self.published if row.metric == self.metric and row.published.id]
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


def _sign(effect: Contrast | Pooled, alpha: float) -> str:
    """Whether the effect is shown to be above zero, or below it."""
    found = effect.interval(1 - alpha)
    return '>' if found.low > 0 else '<' if found.high < 0 else ''


def _relation(effect: Contrast | Pooled, margin: float, alpha: float) -> str:
    """What the effect shows: `>`, `<`, `=` (equivalent), or nothing."""
    found = decide(effect, margin, alpha)
    if found is Decision.UNDECIDED:
        return ''
    if found is Decision.EQUIVALENT:
        return '='
    return '>' if effect.value > 0 else '<'


def _sentence(verdict: str, parts: Sequence[ClaimPart], pooled: Estimate) -> Sentence:
    words = {AGREES: 'agrees', DISAGREES: 'disagrees', UNDECIDED: 'is undecided'}
    counts = {name: sum(part.verdict == name for part in parts) for name in words}
    if len(parts) > 1 and pooled.value.id is not None:
        shown = ', '.join(f'{text} in {counts[name]}' for name, text in words.items() if counts[name])
        measure = parts[0].measure if parts[0].measure != 'mean' else 'ratio to the limit'
        return Sentence(f'Of {len(parts)} comparisons it {shown}; pooled {measure} {_estimate(pooled)}.')
    # Without a comparison of that verdict, all together decided.
    example = next((part for part in parts if part.verdict == verdict), parts[0])
    text = f'{example.compared}{f" ({example.condition})" if example.condition else ""}: '
    if example.result.value.id is None:
        text += f'no result, because {example.result.value.reason}'
    else:
        text += f'{example.measure} {_estimate(example.result)}'
    if example.note:
        text += f'; {example.note}'
    if len(parts) == 1:
        return Sentence(f'{text}.')
    shown = ', '.join(f'{text_of} in {counts[name]}' for name, text_of in words.items() if counts[name])
    return Sentence(f'Of {len(parts)} comparisons it {shown}. {text}.')


def _estimate(given: Estimate) -> str:
    value, low, high = given.value, given.low, given.high
    bounds = f' ({{{low.id}!}} to {{{high.id}!}})' if low.id and high.id else ', without an interval'
    return f'{{{value.id}}}{bounds}'


def _pooled(made: Sequence[_Judged]) -> Pooled | None:
    """The effect of one comparison over all conditions; None where fewer than two can be pooled."""
    contrasts = [one.contrast for one in made if one.contrast is not None and one.numbers is not None]
    if len(contrasts) < 2 or len(contrasts) < len(made):
        return None
    layout = _in_blocks(made)
    if layout:
        return pool_blocks(_values(layout))
    if any(one.by_block for one in made):
        return None
    return pool([one.value for one in contrasts], [one.error**2 for one in contrasts])


def _in_blocks(made: Sequence[_Judged]) -> list[list[tuple[float, str, Json]]]:
    """The effects in the blocks that all comparisons have, a row for each comparison; none where these are too few."""
    blocks = sorted(set.intersection(*({*one.by_block} for one in made)))
    return [[one.by_block[block] for block in blocks] for one in made] if len(blocks) >= FEWEST_UNITS else []


def _values(layout: Sequence[Sequence[tuple[float, str, Json]]]) -> list[list[float]]:
    return [[value for value, _, _ in row] for row in layout]
