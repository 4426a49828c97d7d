"""Families of groups: one metric under one combination of the factors that are analysed apart."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from tidegauge_analysis.archive import Run
from tidegauge_analysis.cells import by_levels, label_of, varying
from tidegauge_analysis.contrasts import Contrast, Decision, decide, further_units, holm
from tidegauge_analysis.document import Combination, Family, Group, Number, Pair, RunValue, Sentence
from tidegauge_analysis.letters import compact_letters
from tidegauge_analysis.metrics import Metric
from tidegauge_analysis.numbers import Ledger, anchor, interval_in_words, missing
from tidegauge_analysis.scope import Scope
from tidegauge_analysis.summaries import sample_of
from tidegauge_analysis.units import Comparison, Observation, compare, mean_of, with_priors

NONE = 'none'
"""Verdict of a pair that cannot be compared."""


@dataclass(frozen=True)
class _RunGroup:
    """Runs with the same levels of the factors that form groups, as far as they have a value."""

    label: str
    factors: Combination
    observations: list[Observation]


@dataclass(frozen=True)
class _Draft:
    """A family before its pairs are compared."""

    scope: Scope
    metric: Metric
    per: Combination
    groups: list[_RunGroup]
    notes: list[str]


def families(scope: Scope, metrics: Sequence[Metric], *, with_invalid: bool = False) -> list[Family]:
    """Analyse each metric under each combination of the factors that are analysed apart."""
    drafts = _drafts(scope, metrics, with_invalid=with_invalid)
    compared = _compared(drafts, scope.ledger)
    return [_family(draft, compared[index]) for index, draft in enumerate(drafts)]


def contrasts_of(scope: Scope, metrics: Sequence[Metric]) -> list[Contrast]:
    """The comparisons of all families that have enough units."""
    compared = _compared(_drafts(scope, metrics), scope.ledger)
    return [one.contrast for pairs in compared for one in pairs.values() if one.contrast is not None]


def _drafts(scope: Scope, metrics: Sequence[Metric], *, with_invalid: bool = False) -> list[_Draft]:
    drafts: list[_Draft] = []
    for part in scope.parts():
        levels = {name: [level] for name, level in part.study['fixed'].items()} | varying(part.study)
        for runs in by_levels(part.analysed(with_invalid=with_invalid), part.per, levels):
            per = {name: runs[0].factors[name] for name in part.per if name in runs[0].factors}
            groups = by_levels(runs, part.groups, levels)
            drafts.extend(_draft(part, metric, per, groups) for metric in metrics)
    return drafts


def _draft(scope: Scope, metric: Metric, per: Combination, parts: list[list[Run]]) -> _Draft:
    groups, notes = [], []
    for part in parts:
        factors = {name: part[0].factors[name] for name in scope.groups if name in part[0].factors}
        label = label_of(factors, factors) or 'all runs'
        there = scope.observations(part, metric.name)
        if len(there) < len(part):
            numbers = [scope.measured.value(run, metric.name) for run in part]
            reason = next(number.reason for number in numbers if number.value is None)
            notes.append(f'{label}: {len(part) - len(there)} of {len(part)} runs have no value, because {reason}')
        groups.append(_RunGroup(label, factors, there))
    return _Draft(scope, metric, per, groups, notes)


_Pairs = dict[tuple[str, str], Comparison]


def _compared(drafts: Sequence[_Draft], ledger: Ledger) -> list[_Pairs]:
    """Compare the pairs of each family. The same two groups under several conditions learn from each other."""
    alike: dict[tuple[str | None, str, str, str], list[tuple[int, Comparison]]] = {}
    for index, draft in enumerate(drafts):
        for one, two in combinations([group for group in draft.groups if group.observations], 2):
            key = (draft.scope.part_name, draft.metric.name, one.label, two.label)
            alike.setdefault(key, []).append((index, compare(one.observations, two.observations)))
    found: list[_Pairs] = [{} for _ in drafts]
    for (_, _, first, second), members in alike.items():
        moderated = with_priors(ledger, [comparison for _, comparison in members])
        for (index, _), comparison in zip(members, moderated, strict=True):
            found[index][first, second] = comparison
    return found


def _family(draft: _Draft, compared: _Pairs) -> Family:
    scope, metric, per = draft.scope, draft.metric, draft.per
    pairs = _pairs(scope, draft.groups, compared)
    groups = [_group(scope, metric, group) for group in draft.groups]
    letters, note = _letters(groups, pairs, scope.alpha, higher_is_better=metric.higher_is_better)
    name = scope.part_name
    where = ', '.join(filter(None, [f'part {name}' if name else '', label_of(per, per)]))
    return Family(
        id=anchor('family', *([name] if name else []), metric.name.replace('.', ' '), label_of(per, per)),
        metric=metric.name,
        title=f'{metric.title} ({where})' if where else metric.title,
        unit=metric.unit,
        higher_is_better=metric.higher_is_better,
        per=per,
        groups=[replace(group, letters=letters.get(group.label)) for group in groups],
        pairs=pairs,
        letters_note=note,
        notes=draft.notes,
        part=name,
    )


def _group(scope: Scope, metric: Metric, group: _RunGroup) -> Group:
    sample = sample_of([one.number for one in group.observations], metric.unit, scope.ledger)
    return Group(
        label=group.label,
        factors=group.factors,
        n=len(group.observations),
        deployments=len({one.block for one in group.observations}),
        values=[
            RunValue(one.run.name, str(one.run.document['deployment']), one.block, one.run.trial, one.number)
            for one in group.observations
            if one.run is not None
        ],
        mean=mean_of(group.observations, metric.unit, scope.ledger),
        median=sample.median(),
        sd=sample.sd(),
        minimum=sample.minimum(),
        maximum=sample.maximum(),
        lower_quartile=sample.quartile(0.25),
        upper_quartile=sample.quartile(0.75),
        letters=None,
    )


def _letters(
    groups: Sequence[Group], pairs: Sequence[Pair], alpha: float, *, higher_is_better: bool
) -> tuple[dict[str, str], str]:
    """The letters of each group, and their convention or why there are none."""
    if len(groups) < 2:
        return {}, 'No letters: a single group has nothing to be compared with.'
    if len(pairs) < len(groups) * (len(groups) - 1) // 2 or any(pair.p.value is None for pair in pairs):
        return {}, 'No letters: not all pairs can be compared.'
    order = sorted(groups, key=lambda group: group.mean.value.value or 0.0, reverse=higher_is_better)
    different = {frozenset((pair.first, pair.second)) for pair in pairs if (pair.p.value or 0.0) < alpha}
    try:
        letters = compact_letters([group.label for group in order], different)
    except ValueError as error:
        return {}, f'No letters: {error}.'
    return letters, (
        f'Groups that share a letter are not shown to differ (p ≥ {alpha:g}, adjusted for all pairs). '
        'The group with the best mean has the letter a.'
    )


def _pairs(scope: Scope, groups: Sequence[_RunGroup], compared: _Pairs) -> list[Pair]:
    ledger = scope.ledger
    with_p = [key for key, one in compared.items() if one.contrast is not None]
    raw = [_p(compared[key], ledger) for key in with_p]
    names = ledger.set([number.id for number in raw])
    adjusted = {
        key: ledger.add(p, '', 'holm', of=names, index=index)
        for index, (key, p) in enumerate(zip(with_p, holm([number.value or 0.0 for number in raw]), strict=True))
    }
    there = [group.label for group in groups if group.observations]
    return [
        _pair(scope, (first, second), compared[first, second], adjusted.get((first, second)), len(with_p))
        for first, second in combinations(there, 2)
    ]


def _p(one: Comparison, ledger: Ledger) -> Number:
    value = None if one.contrast is None else one.contrast.p
    return ledger.add(value, '', 'ratio_p', one.reason, **one.inputs(ledger))


def _pair(scope: Scope, labels: tuple[str, str], one: Comparison, p: Number | None, comparisons: int) -> Pair:
    ledger, alpha, margin = scope.ledger, scope.alpha, scope.margin
    verdict, further = NONE, missing('', one.reason or 'the pair is decided')
    if one.contrast is not None and p is not None:
        verdict = str(decide(one.contrast, margin, alpha, p.value))
        if verdict == Decision.UNDECIDED:
            further = ledger.add(
                further_units(one.contrast, margin, alpha, comparisons), _units(one), 'further_units',
                'more than a thousand would be needed', margin=margin, alpha=alpha, comparisons=comparisons,
                **one.inputs(ledger),
            )  # fmt: skip
    pair = Pair(
        first=labels[0],
        second=labels[1],
        n=len(one.first),
        unit=one.kind,
        in_turns=one.in_turns,
        ratio=one.ratio(ledger),
        p=missing('', one.reason) if p is None else p,
        verdict=verdict,
        further=further,
        sentence=Sentence(''),
    )
    return replace(pair, sentence=_sentence(pair, margin, one.reason))


def _units(one: Comparison) -> str:
    return f'{one.kind}s'


def _sentence(pair: Pair, margin: float, reason: str) -> Sentence:
    start = f'{pair.first} against {pair.second}: '
    if pair.verdict == NONE:
        return Sentence(f'{start}no verdict, because {reason}.')
    ratio = f'{interval_in_words(pair.ratio.value, pair.ratio.low, pair.ratio.high)} times'
    if pair.verdict == Decision.DIFFERENT:
        return Sentence(f'{start}different, {ratio}.')
    if pair.verdict == Decision.EQUIVALENT:
        return Sentence(f'{start}equivalent within a margin of {margin * 100:g} %; {ratio}.')
    more = pair.further
    rest = f'{{{more.id}}} would decide' if more.id else f'{more.reason}'
    return Sentence(f'{start}undecided, {ratio}. Further: {rest}.')
