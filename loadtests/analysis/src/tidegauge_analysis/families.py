"""Families of groups: one metric under one combination of the factors that are analysed apart."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scipy import stats
from statsmodels.stats.multitest import multipletests

from tidegauge_analysis import compare as comparing
from tidegauge_analysis.anova import one_way, welch
from tidegauge_analysis.archive import Archive, Json, Run, analysed
from tidegauge_analysis.cells import Measured, by_levels, label_of, varying
from tidegauge_analysis.compare import Method
from tidegauge_analysis.deployments import over_deployments
from tidegauge_analysis.document import (
    Assumptions,
    Combination,
    Estimate,
    Family,
    FamilyTest,
    Group,
    Number,
    Pair,
    RunValue,
    Sentence,
)
from tidegauge_analysis.effects import (
    Interval,
    difference_of_means,
    effect_sizes,
    minimum_detectable_difference,
    ratio_of_means,
)
from tidegauge_analysis.metrics import Metric
from tidegauge_analysis.numbers import Ledger, anchor, interval_in_words, missing, no_estimate
from tidegauge_analysis.pairs import Comparison
from tidegauge_analysis.parts import Part, parts_of
from tidegauge_analysis.series import effective_size, lag_one
from tidegauge_analysis.summaries import Sample, sample_of
from tidegauge_analysis.verdict import Decision, decide, further_runs

if TYPE_CHECKING:
    from tidegauge_analysis.second_machine import Other

DEPENDENT = 0.7
"""Runs count as dependent on their neighbours when their effective number is below this share of their number."""

POWER = 0.8


@dataclass(frozen=True)
class Scope:
    """What the families of a study have in common."""

    archive: Archive
    measured: Measured
    ledger: Ledger
    part: Part | None = None
    """Limits the families to a part of the study."""
    second: 'Other | None' = None
    """The results of a second machine."""

    @property
    def study(self) -> Json:
        """The study, or the part of it."""
        return self.archive.study if self.part is None else self.part.study

    @property
    def analyse(self) -> Json:
        """The key `analyse` of the study."""
        plan: Json = self.study['analyse']
        return plan

    def parts(self) -> list['Scope']:
        """A scope for each part of the study."""
        return [replace(self, part=part) for part in parts_of(self.archive)]

    def analysed(self, *, with_invalid: bool = False) -> list[Run]:
        """The runs of the part that are analysed."""
        runs = analysed(self.archive.runs, with_invalid=with_invalid)
        return [run for run in runs if self.part is None or self.part.has(run)]

    @property
    def part_name(self) -> str | None:
        """The name of the part; None in a study without parts."""
        return None if self.part is None else self.part.name

    @property
    def groups(self) -> list[str]:
        """Factors that form groups; without one, every factor that varies and is not analysed apart."""
        named = [name for name in self.analyse['groups'] if name not in self.analyse['per']]
        return named or [name for name in varying(self.study) if name not in self.analyse['per']]

    @property
    def per(self) -> list[str]:
        """Factors whose levels are analysed apart, with those that would be pooled without notice."""
        rest = [name for name in varying(self.study) if name not in self.analyse['per']]
        return [*self.analyse['per'], *(name for name in rest if name not in self.groups)]


def families(scope: Scope, metrics: Sequence[Metric], *, with_invalid: bool = False) -> list[Family]:
    """Analyse each metric under each combination of the factors that are analysed apart."""
    found: list[Family] = []
    for part in scope.parts():
        levels = {name: [level] for name, level in part.study['fixed'].items()} | varying(part.study)
        for runs in by_levels(part.analysed(with_invalid=with_invalid), part.per, levels):
            per = {name: runs[0].factors[name] for name in part.per if name in runs[0].factors}
            together = [_family(part, metric, per, by_levels(runs, part.groups, levels)) for metric in metrics]
            found.extend(_adjusted(together, scope.ledger))
    return found


def _adjusted(together: list[Family], ledger: Ledger) -> list[Family]:
    """Adjust the p values of all metrics by Holm."""
    tested = [family.test for family in together if family.test is not None and family.test.p.value is not None]
    if not tested:
        return together
    _, adjusted, _, _ = multipletests([test.p.value for test in tested], method='holm')
    of = ledger.set([test.p.id for test in tested])
    numbers = {
        id(test): ledger.add(float(p), '', 'holm', of=of, index=index)
        for index, (test, p) in enumerate(zip(tested, adjusted, strict=True))
    }
    return [
        replace(family, test=replace(family.test, p_holm=numbers[id(family.test)]))
        if family.test is not None and id(family.test) in numbers
        else family
        for family in together
    ]


@dataclass(frozen=True)
class RunGroup:
    """Runs with the same levels of the factors that form groups, and their values."""

    label: str
    factors: Combination
    runs: list[Run]
    """Those that have a value, in order."""
    sample: Sample


def _family(scope: Scope, metric: Metric, per: Combination, parts: list[list[Run]]) -> Family:
    ledger, alpha, notes = scope.ledger, float(scope.analyse['alpha']), []
    gathered, observation = [], 'run'
    for part in parts:
        there = sorted(part, key=lambda run: (run.document['block'], run.series, run.trial))
        numbers = [scope.measured.value(run, metric.name) for run in there]
        kept = [run for run, number in zip(there, numbers, strict=True) if number.value is not None]
        factors = {name: part[0].factors[name] for name in scope.groups if name in part[0].factors}
        label = label_of(factors, factors) or 'all runs'
        if len(kept) < len(there):
            reason = next(number.reason for number in numbers if number.value is None)
            notes.append(f'{label}: {len(there) - len(kept)} of {len(there)} runs have no value, because {reason}')
        gathered.append(RunGroup(label, factors, kept, sample_of(numbers, metric.unit, ledger)))
    of_runs = gathered
    length = max((block_length(group) for group in gathered), default=1)
    if length > 1:
        blocked = [in_blocks(group, length, ledger) for group in gathered]
        if min(len(group.runs) for group in blocked) >= 3:
            observation = f'mean of {length} consecutive runs'
            notes.append(
                f'Runs depend on their neighbours: their effective number is below {DEPENDENT} of their number in a '
                f'group. Means of {length} consecutive runs are compared instead.'
            )
            gathered = blocked
        else:
            notes.append(
                'Runs depend on their neighbours, and are too few to be averaged in blocks: intervals are too narrow.'
            )
    test, why, comparisons, letters = _test(gathered, metric, alpha, ledger)
    name = scope.part_name
    where = ', '.join(filter(None, [f'part {name}' if name else '', label_of(per, per)]))
    title = f'{metric.title} ({where})' if where else metric.title
    return Family(
        id=anchor('family', *([name] if name else []), metric.name.replace('.', ' '), label_of(per, per)),
        metric=metric.name,
        title=title,
        unit=metric.unit,
        higher_is_better=metric.higher_is_better,
        per=per,
        observation=observation,
        groups=[_group(group, (letters or {}).get(group.label)) for group in gathered],
        test=test,
        no_test=why,
        pairs=_pairs(scope, gathered, comparisons, test),
        letters_note=_letters_note(letters, test, gathered, alpha),
        over_deployments=over_deployments(
            {group.label: group.runs for group in of_runs},
            {run.name: scope.measured.value(run, metric.name) for group in of_runs for run in group.runs},
            scope.study,
            scope.groups,
            metric.unit,
            None if test is None else test.p,
            ledger,
        ),
        notes=notes,
        part=name,
    )


def block_length(group: RunGroup) -> int:
    """Runs per block that make the blocks about independent; 1 where runs are not shown to depend on each other."""
    values = group.sample.values
    series: dict[str, list[float]] = {}
    for run, value in zip(group.runs, values, strict=True):
        series.setdefault(f'{run.series} {run.driver}', []).append(value)
    size, positive, count = 0.0, False, 0
    for each in series.values():
        if len(each) < 8:
            return 1
        count += len(each)
        size += effective_size(each)
        # Bartlett: chance alone exceeds this in one of twenty series.
        positive = positive or lag_one(each) > float(stats.norm.ppf(0.95)) / math.sqrt(len(each))
    return math.ceil(count / size) if count and positive and size < DEPENDENT * count else 1


def in_blocks(group: RunGroup, length: int, ledger: Ledger) -> RunGroup:
    """Average consecutive runs of the same series; an incomplete last block is left out."""
    runs, numbers = [], []
    series: dict[str, list[tuple[Run, Number]]] = {}
    for run, number in zip(group.runs, group.sample.numbers, strict=True):
        series.setdefault(f'{run.series} {run.driver}', []).append((run, number))
    for each in series.values():
        for start in range(0, len(each) - length + 1, length):
            part = each[start : start + length]
            block = sample_of([number for _, number in part], group.sample.unit, ledger)
            runs.append(part[0][0])
            numbers.append(block.add(sum(block.values) / length, 'mean'))
    return replace(group, runs=runs, sample=sample_of(numbers, group.sample.unit, ledger))


def _group(group: RunGroup, letters: str | None) -> Group:
    sample = group.sample
    return Group(
        label=group.label,
        factors=group.factors,
        n=len(sample.numbers),
        values=[
            RunValue(run.name, str(run.document['deployment']), int(run.document['block']), run.trial, number)
            for run, number in zip(group.runs, sample.numbers, strict=True)
        ],
        mean=sample.mean(),
        median=sample.median(),
        sd=sample.sd(),
        minimum=sample.minimum(),
        maximum=sample.maximum(),
        lower_quartile=sample.quartile(0.25),
        upper_quartile=sample.quartile(0.75),
        lag_one=sample.lag_one(),
        effective_size=sample.effective_size(),
        letters=letters,
    )


_Letters = dict[str, str] | None


def _test(
    groups: list[RunGroup], metric: Metric, alpha: float, ledger: Ledger
) -> tuple[FamilyTest | None, str | None, dict[tuple[str, str], Comparison], _Letters]:
    """Test all groups; where that is impossible, give the reason."""
    values = {group.label: group.sample.values for group in groups if group.sample.numbers}
    empty = [group.label for group in groups if not group.sample.numbers]
    if empty:
        return None, f'there are no values of {", ".join(empty)}', {}, None
    if len(values) < 2:
        return None, 'a single group has nothing to be compared with', {}, None
    try:
        with warnings.catch_warnings():
            # What these warn of (nearly constant samples) makes a result that is not finite, which is refused below.
            warnings.simplefilter('ignore')
            report = comparing.compare(values, higher_is_better=metric.higher_is_better, alpha=alpha)
            if not math.isfinite(report.p):
                return None, 'the observations vary too little for a test', {}, None
            test = _document(report, values, [group.sample.name for group in groups], ledger)
    except ValueError as error:
        return None, str(error), {}, None
    return test, None, {(pair.first, pair.second): pair for pair in report.pairs}, report.letters


_NAMES = {Method.ANOVA: 'anova', Method.WELCH: 'welch', Method.RANKS: 'kruskal'}


def _document(report: comparing.Report, values: dict[str, list[float]], sets: list[str], ledger: Ledger) -> FamilyTest:
    name = _NAMES[report.method]
    ranks = report.method is Method.RANKS
    checks = report.checks
    if ranks:
        df = (float(len(values) - 1), math.nan)
        omega = no_estimate('', 'ranks were compared, not means')
    else:
        if report.method is Method.WELCH:
            test = welch(values)
            df = (test.df_between, test.df_within)
        else:
            table = one_way(values)
            df = (table.terms[0].df, table.error_df)
        found = effect_sizes(report.statistic, *df).omega_squared
        given: Json = {'groups': sets, 'welch': report.method is Method.WELCH, 'confidence': 0.95}
        value, low, high = (
            ledger.add(each, '', 'omega_squared', what=what, **given)
            for what, each in (('value', found.value), ('low', found.low), ('high', found.high))
        )
        omega = Estimate(value, low, high, 0.95)
    which: list[Json] = [{}, {}] if ranks else [{'which': 1}, {'which': 2}]
    numbers = Assumptions(
        ledger.add(checks.shapiro_p, '', 'shapiro_p', groups=sets),
        ledger.add(checks.brown_forsythe_p, '', 'levene_p', 'the groups do not vary', groups=sets),
        ledger.add(checks.tie_correction, '', 'tie_correction', groups=sets),
        ledger.add(checks.skewness, '', 'skewness', groups=sets),
    )
    return FamilyTest(
        method=str(report.method),
        reason=_reason(report, numbers),
        statistic_name='H' if ranks else 'F',
        statistic=ledger.add(report.statistic, '', f'{name}_{"h" if ranks else "f"}', groups=sets),
        df_between=ledger.add(df[0], '', f'{name}_df', groups=sets, **which[0]),
        df_within=ledger.add(df[1], '', f'{name}_df', 'ranks were compared', groups=sets, **which[1]),
        p=ledger.add(report.p, '', f'{name}_p', groups=sets),
        p_holm=missing('', 'a single metric has a test'),
        omega_squared=omega,
        checks=numbers,
    )


def _reason(report: comparing.Report, checks: Assumptions) -> str:
    """The reason for the choice of the method, with the numbers that it rests on."""
    if report.method is Method.RANKS and report.checks.tie_correction < comparing.HEAVY_TIES:
        return f'there are few distinct values (tie correction {{{checks.tie_correction.id}}})'
    if report.method is Method.RANKS:
        return f'residuals are strongly skewed (skewness {{{checks.skewness.id}}})'
    found = f'(Brown-Forsythe p = {{{checks.brown_forsythe_p.id}}})' if checks.brown_forsythe_p.id else ''
    equal = report.method is Method.ANOVA
    return f'{"there is no evidence of unequal variances" if equal else "variances are unequal"} {found}'.rstrip()


def _letters_note(letters: _Letters, test: FamilyTest | None, groups: list[RunGroup], alpha: float) -> str:
    if letters is not None:
        return (
            f'Groups that share a letter are not shown to differ (p ≥ {alpha:g}, adjusted for all pairs). '
            'The group with the best mean has the letter a.'
        )
    if test is None:
        return 'No letters: there is no test of these groups.'
    least = min(len(group.sample.numbers) for group in groups)
    return f'No letters: a group has {least} observations, and letters need {comparing.FEWEST_FOR_LETTERS}.'


def _pairs(
    scope: Scope, groups: list[RunGroup], comparisons: dict[tuple[str, str], Comparison], test: FamilyTest | None
) -> list[Pair]:
    there = [group for group in groups if group.sample.numbers]
    total = len(there) * (len(there) - 1) // 2
    sets = [group.sample.name for group in groups]
    found = []
    for i, first in enumerate(groups):
        for j, second in enumerate(groups):
            if i < j and first in there and second in there:
                comparison = comparisons.get((first.label, second.label))
                found.append(_pair(scope, (first, second), (i, j), sets, comparison, test, total))
    return found


def _pair(  # noqa: PLR0913, PLR0917
    scope: Scope,
    both: tuple[RunGroup, RunGroup],
    at: tuple[int, int],
    sets: list[str],
    comparison: Comparison | None,
    test: FamilyTest | None,
    total: int,
) -> Pair:
    ledger, alpha, margin = scope.ledger, float(scope.analyse['alpha']), float(scope.analyse['margin'])
    first, second = both
    x, y, unit = first.sample.values, second.sample.values, first.sample.unit
    inputs: Json = {'first': first.sample.name, 'second': second.sample.name}
    difference, ratio, why = _difference(x, y, 1 - alpha)
    adjusted, simultaneous = _simultaneous(at, sets, comparison, test, alpha, unit, ledger)
    verdict, further = 'none', missing('runs', why or 'the pair is decided')
    few = why or 'fewer than two runs'
    effect = detectable = None
    if not why:
        verdict = str(decide(x, y, margin, alpha).decision) if margin > 0 else _by_p(adjusted, alpha)
        if verdict != Decision.EQUIVALENT and adjusted.value is not None:
            verdict = _by_p(adjusted, alpha)
        if verdict == Decision.UNDECIDED:
            runs = further_runs(x, y, margin, alpha, POWER, comparisons=total)
            more = 'more than a million runs would be needed'
            given: Json = {'margin': margin, 'alpha': alpha, 'power': POWER, 'comparisons': total}
            further = ledger.add(runs, 'runs', 'further_runs', more, **given, **inputs)
        effect = _hedges_g(x, y)
        detectable = minimum_detectable_difference(x, y, alpha, POWER)
    pair = Pair(
        first=first.label,
        second=second.label,
        difference=ledger.estimate(difference, unit, 'mean_difference', 1 - alpha, few, **inputs),
        simultaneous=simultaneous,
        p=adjusted,
        ratio=ledger.estimate(ratio, '', 'ratio_of_means', 1 - alpha, few, **inputs),
        effect=ledger.add(effect, '', 'hedges_g', few, **inputs),
        verdict=verdict,
        margin=ledger.add(margin * abs(sum(y) / len(y)), unit, 'margin', share=margin, **inputs),
        further_runs=further,
        minimum_detectable=ledger.add(detectable, unit, 'minimum_detectable', few, alpha=alpha, power=POWER, **inputs),
        sentence=Sentence(''),
    )
    return replace(pair, sentence=_sentence(pair, margin, why))


def _by_p(p: Number, alpha: float) -> str:
    return str(Decision.DIFFERENT if p.value is not None and p.value < alpha else Decision.UNDECIDED)


def _difference(x: list[float], y: list[float], confidence: float) -> tuple[Interval, Interval, str | None]:
    """Difference and ratio of means, and why they have no interval."""
    means = sum(x) / len(x), sum(y) / len(y)
    none = Interval(means[0] - means[1], -math.inf, math.inf)
    ratio = Interval(means[0] / means[1] if means[1] else math.nan, -math.inf, math.inf)
    if min(len(x), len(y)) < 2:
        return none, ratio, 'a group has fewer than two runs'
    try:
        return (
            difference_of_means(x, y, confidence),
            ratio_of_means(x, y, confidence) if means[1] else ratio,
            None,
        )
    except ValueError as error:
        return none, ratio, str(error)


def _simultaneous(  # noqa: PLR0913, PLR0917
    at: tuple[int, int],
    sets: list[str],
    comparison: Comparison | None,
    test: FamilyTest | None,
    alpha: float,
    unit: str,
    ledger: Ledger,
) -> tuple[Number, Estimate]:
    if comparison is None or test is None:
        none = 'there is no test of these groups'
        return missing('', none), no_estimate(unit, none, 1 - alpha)
    given: Json = {'groups': sets, 'first': at[0], 'second': at[1]}
    if test.method == Method.RANKS:
        p = ledger.add(comparison.p, '', 'dunn_p', **given)
        return p, no_estimate(unit, 'ranks were compared, not means', 1 - alpha)
    name = 'tukey' if test.method == Method.ANOVA else 'games_howell'
    given |= {'confidence': 1 - alpha}
    value, low, high = (
        ledger.add(each, unit, name, what=what, **given)
        for what, each in (('value', comparison.difference), ('low', comparison.low), ('high', comparison.high))
    )
    return ledger.add(comparison.p, '', name, what='p', **given), Estimate(value, low, high, 1 - alpha)


def _hedges_g(x: list[float], y: list[float]) -> float | None:
    df = len(x) + len(y) - 2
    means = sum(x) / len(x), sum(y) / len(y)
    squares = sum((v - means[0]) ** 2 for v in x) + sum((v - means[1]) ** 2 for v in y)
    if squares <= 0:
        return None
    unbiased = math.exp(math.lgamma(df / 2) - math.lgamma((df - 1) / 2)) / math.sqrt(df / 2)
    return unbiased * (means[0] - means[1]) / math.sqrt(squares / df)


def _sentence(pair: Pair, margin: float, why: str | None) -> Sentence:
    def shown(number: Number) -> str:
        return f'{{{number.id}}}'

    start = f'{pair.first} against {pair.second}: '
    if why is not None or pair.difference.low.id is None:
        return Sentence(f'{start}no verdict, because {why or pair.difference.low.reason}.')
    difference = interval_in_words(pair.difference.value, pair.difference.low, pair.difference.high)
    if pair.verdict == Decision.DIFFERENT:
        return Sentence(f'{start}different, by {difference}.')
    if pair.verdict == Decision.EQUIVALENT:
        return Sentence(f'{start}equivalent within a margin of {margin * 100:g} %; the difference is {difference}.')
    more = pair.further_runs
    rest = f'{shown(more)} of each group would decide' if more.id else f'{more.reason}'
    return Sentence(f'{start}undecided, the difference is {difference}. Further runs: {rest}.')
