"""The first screen of a report: the answer in at most two sentences, and how far it holds."""

import math
from collections import Counter
from collections.abc import Sequence

from tidegauge_analysis.archive import Archive, Json
from tidegauge_analysis.cells import label_of, varying
from tidegauge_analysis.document import (
    ClaimResult,
    DriverDifference,
    Estimate,
    Family,
    Group,
    Number,
    Pair,
    RuleSummary,
    RunChecks,
    Sentence,
)
from tidegauge_analysis.metrics import in_words, parse_metric
from tidegauge_analysis.numbers import Ledger, estimate_in_words, missing
from tidegauge_analysis.present import capital

MOST_SENTENCES = 2
MOST_RULES = 3
"""Rules that failed and that the answer names."""

ANSWERS = {
    'equivalent': 'equivalent within the margin',
    'undecided': 'not decided',
    'none': 'no verdict, because too few deployments show how much they differ',
}

TURNS = {'slice': 'in slices of their runs', 'operation': 'operation by operation'}
"""How paired levels took turns, by `repeat.pairing`."""

CONTROL = ('raw-again', 'raw')
"""The raw store beside itself."""

PARTNERS = 'partners'
"""The rule that a run fails because another one of its turn is invalid."""

OF_MACHINE = frozenset({'throttled', 'clockStep', 'swap', 'foreignCpu'})
"""Rules that other work on the machine breaks."""

WITHOUT_LIMIT = frozenset({'driver', 'recorded', PARTNERS})
"""Rules whose limit an experiment file cannot change."""


def answer(
    families: Sequence[Family], drivers: Sequence[DriverDifference], claims: Sequence[ClaimResult]
) -> list[Sentence]:
    """Answer in at most two sentences: the verdicts on the claims, the best group, and what the application does."""
    first = [family for family in families if family.metric == families[0].metric]
    leaders = [text for family in first for text in _leader(family, first)]
    means = [text for family in first for text in best_mean(family)]
    found = [*_claims(claims), *leaders[:1], *_application(drivers), *leaders[1:], *means]
    return [Sentence(f'{text}.') for text in found[:MOST_SENTENCES]] or [
        Sentence('There is no result yet: no valid run has been analysed.')
    ]


def best_mean(family: Family) -> list[str]:
    """The group of a family with the best mean; nothing where no group has a value."""
    return [f'{family.title}: {best.label} has {estimate_in_words(best.mean)}' for best in _best_first(family)[:1]]


def _claims(claims: Sequence[ClaimResult]) -> list[str]:
    if not claims:
        return []
    counts = Counter(claim.verdict for claim in claims)
    words = {'agrees': 'agree', 'disagrees': 'disagree', 'undecided': 'are undecided', 'not run': 'were not run'}
    parts = ', '.join(f'{counts[verdict]} {text}' for verdict, text in words.items() if counts[verdict])
    return [f'Of {len(claims)} claims, {parts}']


def _leader(family: Family, alike: Sequence[Family]) -> list[str]:
    """The best group of a family beside the second one; nothing where these two have no ratio.

    :param alike: families of the same metric, this one included: in how many of them the same is shown
    """
    wanted = {group.label for group in _best_first(family)[:2]}
    pair = next((pair for pair in family.pairs if {pair.first, pair.second} == wanted), None)
    if pair is None or pair.ratio.value.id is None:
        return []
    where = ', '.join(filter(None, [f'part {family.part}' if family.part else '', label_of(family.per, family.per)]))
    text = f'{_about(family.metric, where)}{_times(family.metric, pair.first, pair.second, pair.ratio)}'
    if pair.verdict != 'different':
        return [f'{text}: {ANSWERS[pair.verdict]}']
    if len(alike) == 1:
        return [text]
    shown = sum(_shows(other, pair) for other in alike)
    return [f'{text}; {shown} of {len(alike)} conditions show a difference in this direction']


def _best_first(family: Family) -> list[Group]:
    """The groups of a family that have a value, from the best mean to the worst."""
    there = [group for group in family.groups if group.mean.value.value is not None]
    return sorted(there, key=lambda group: group.mean.value.value or 0.0, reverse=family.higher_is_better)


def _times(metric: str, one: str, two: str, ratio: Estimate) -> str:
    """Compare two things by their ratio, as the list of numbers has it: `A takes 0.60 times as long as B (0.5 to 0.7)`.

    :param ratio: `one` over `two`, with a value
    """
    start, end = ('takes', 'as long as') if _is_time(metric) else ('has', f'the {in_words(metric)} of')
    return f'{one} {start} {{{ratio.value.id}}} times {end} {two}{_bounds(ratio)}'


def limits(archive: Archive, drivers: Sequence[DriverDifference]) -> list[Sentence]:
    """How far the results hold: repetitions, what took turns, the machine, and the control."""
    found = []
    count = archive.study['repeat']['deployments']
    if count == 1:
        found.append(
            'Each combination was deployed once: what took turns holds for these deployments, and nothing else has a '
            'verdict.'
        )
    elif count == 2:
        found.append(
            'Each combination was deployed twice, which does not show how much deployments differ: a verdict between '
            'deployments needs three.'
        )
    found += _pairing(archive.study)
    if archive.environment.get('place') == 'lab':
        found.append('The stores and the load generator shared one machine.')
    found += _control(drivers)
    return [Sentence(text) for text in found]


def no_valid_run(rules: Sequence[RuleSummary], checks: Sequence[RunChecks], ledger: Ledger) -> list[Sentence]:
    """Why no run is valid, and what to do: each rule that failed, in how many runs, its worst value and its limit."""
    failed = sorted(
        (rule for rule in rules if rule.failed and rule.rule != PARTNERS), key=lambda rule: rule.failed, reverse=True
    )
    shown = '; '.join(_failed(rule, checks, ledger) for rule in failed[:MOST_RULES])
    more = f'; and {len(failed) - MOST_RULES} more rules' if len(failed) > MOST_RULES else ''
    why = f'{shown}{more}' if failed else 'the section Validity has the reasons'
    return [Sentence(f'No run is valid, so there is no answer: {why}.'), Sentence(_what_to_do(failed))]


def _what_to_do(failed: Sequence[RuleSummary]) -> str:
    names = [rule.rule for rule in failed]
    todo = 'Remove the cause, which the section Validity has, and run the study again'
    if names and OF_MACHINE.issuperset(names):
        todo = 'Wait until no other work runs on the machine, and run the study again'
    changeable = [name for name in names if name not in WITHOUT_LIMIT]
    return f'{todo}, or change valid: {", ".join(changeable)} in its file.' if changeable else f'{todo}.'


def _failed(rule: RuleSummary, checks: Sequence[RunChecks], ledger: Ledger) -> str:
    runs = [row.run for row in checks if any(check.rule == rule.rule and not check.ok for check in row.checks)]
    failed = ledger.add(len(runs), 'runs', 'count', of=ledger.set(runs))
    every = ledger.add(len(checks), 'runs', 'count', of=ledger.set([row.run for row in checks]))
    text = f'{rule.rule} failed in {{{failed.id}!}} of {{{every.id}}}'
    limit = _limit(rule.rule, checks, ledger)
    if rule.worst.id is None or limit.id is None:
        return text
    return f'{text}, at worst with {{{rule.worst.id}}}, where the limit is {{{limit.id}}}'


def _limit(rule: str, checks: Sequence[RunChecks], ledger: Ledger) -> Number:
    """The limit of a rule, from the first run that failed it."""
    for row in checks:
        for index, check in enumerate(row.checks):
            if check.rule == rule and not check.ok and check.limit is not None:
                file, path = f'runs/{row.run}.json', ['checks', index, 'limit']
                return ledger.add(check.limit, check.measured.unit, 'field', file=file, path=path)
    return missing('', 'the rule has no limit')


def _application(drivers: Sequence[DriverDifference]) -> list[str]:
    there = [each for each in drivers if (each.first, each.second) == ('app', 'raw') and each.ratio.value.id]
    there = [each for each in there if not each.higher_is_better] or there
    if not there:
        return []
    same = [each for each in there if each.metric == there[0].metric]
    ordered = sorted(same, key=lambda each: each.ratio.value.value or 0.0)
    least, most = ordered[0], ordered[-1]
    text = _times(least.metric, 'the application', 'the raw store', least.ratio)
    if len(same) == 1:
        about = _about(least.metric, least.label if least.factors else '')
        low, high = least.ratio.low.value, least.ratio.high.value
        unsure = ', not shown to differ' if low is not None and high is not None and low <= 1 <= high else ''
        return [capital(f'{about}{text}{unsure}')]
    largest = f'{{{most.ratio.value.id}}} times{_bounds(most.ratio)}'
    text = f'{text} for {least.label}, the least, and {largest} for {most.label}, the most'
    return [capital(f'{_about(least.metric, "")}{text}')]


def _about(metric: str, where: str) -> str:
    """What a sentence with `_times` is about, unless the sentence names the metric itself."""
    text = ', '.join(filter(None, [in_words(metric) if _is_time(metric) else '', where]))
    return f'{capital(text)}: ' if text else ''


def _is_time(metric: str) -> bool:
    found = parse_metric(metric)
    return metric == 'runtime' or (found.is_latency and found.statistic != 'sd')


def _bounds(ratio: Estimate) -> str:
    low, high = ratio.low.id, ratio.high.id
    return f' ({{{low}!}} to {{{high}!}})' if low and high else ', without an interval'


def _shows(family: Family, wanted: Pair) -> bool:
    """Whether a family shows the difference of these two groups in the same direction."""
    return any(
        pair.verdict == 'different'
        and (pair.first, pair.second) == (wanted.first, wanted.second)
        and ((pair.ratio.value.value or 0.0) > 1) == ((wanted.ratio.value.value or 0.0) > 1)
        for pair in family.pairs
    )


def _pairing(study: Json) -> list[str]:
    """What was compared in turns, and what was not."""
    names, repeat = list(varying(study)), study['repeat']
    turns = TURNS.get(repeat.get('pairing', 'none'), '')
    paired = [name for name in names if turns and (name == 'driver' or name in repeat.get('paired', []))]
    rest = [name for name in names if name not in paired]
    found = [f'Paired: levels of {", ".join(paired)} took turns {turns}.'] if paired else []
    if rest:
        found.append(f'Not paired: {", ".join(rest)}, whose levels were measured one after the other.')
    return found


def _control(drivers: Sequence[DriverDifference]) -> list[str]:
    """What the comparison of the raw store with itself gave, for the first metric that has it."""
    there = [each for each in drivers if (each.first, each.second) == CONTROL and each.ratio.low.id]
    same = [each for each in there if each.metric == there[0].metric]
    if not same:
        return []
    far = max(same, key=lambda each: abs(math.log(each.ratio.value.value or 1.0)))
    found = f'{estimate_in_words(far.ratio)} times its own {in_words(far.metric)}'
    if len(same) == 1:
        return [f'Control: measured a second time in turns, the raw store has {found}.']
    inside = sum((each.ratio.low.value or 0.0) <= 1 <= (each.ratio.high.value or 0.0) for each in same)
    return [
        (
            f'Control: of {len(same)} comparisons of the raw store with itself, {inside} include no difference; the '
            f'farthest, {far.label}, has {found}.'
        )
    ]
