"""The summary and the methods in plain English, from the actual choices."""

from collections import Counter
from collections.abc import Sequence

from tidegauge_analysis.answer import best_mean
from tidegauge_analysis.archive import Archive
from tidegauge_analysis.document import DriverDifference, Family, Sentence, TrialSeries
from tidegauge_analysis.looks import SCHEDULE, looks_of
from tidegauge_analysis.metrics import in_words
from tidegauge_analysis.numbers import estimate_in_words

MOST_LEADERS = 4
"""Families of the first metric that the summary names."""

VERDICTS = {
    'different': 'shown to differ',
    'equivalent': 'equivalent within the margin',
    'undecided': 'undecided',
    'none': 'without a verdict, because too few deployments show how much they differ',
}


UNSTEADY = frozenset({'warming', 'slowing', 'oscillating', 'no steady state'})
MOST_NAMED = 3
"""Series without a steady state that the notes name."""


def summary(families: Sequence[Family], drivers: Sequence[DriverDifference]) -> list[Sentence]:
    """The results behind the answer, with intervals: the best groups, what the application adds, and all verdicts."""
    first = [family for family in families if family.metric == families[0].metric][:MOST_LEADERS]
    found = [
        Sentence(f'{text}, the best mean.') for family in first if len(family.groups) > 1 for text in best_mean(family)
    ]
    found.extend(_overhead(drivers))
    verdicts = Counter(pair.verdict for family in families for pair in family.pairs)
    if verdicts.total() > 1:
        parts = ', '.join(f'{verdicts[word]} {text}' for word, text in VERDICTS.items() if verdicts[word])
        found.append(Sentence(f'Of all {verdicts.total()} pairs of groups, over all metrics: {parts}.'))
    return found


def unsteady(series: Sequence[TrialSeries]) -> list[str]:
    """Name the series whose trials have no steady state: their means depend on when they were measured."""
    found = [one for one in series if one.shape in UNSTEADY]
    if not found:
        return []
    named = '; '.join(
        f'{one.label}, block {one.block}, {in_words(one.metric)}: {one.shape}' for one in found[:MOST_NAMED]
    )
    more = f'; and {len(found) - MOST_NAMED} more' if len(found) > MOST_NAMED else ''
    return [f'{len(found)} of {len(series)} series have no steady state: {named}{more}.']


def _overhead(drivers: Sequence[DriverDifference]) -> list[Sentence]:
    of_app = [
        each
        for each in drivers
        if (each.first, each.second) == ('app', 'raw') and not each.higher_is_better and each.ratio.value.value
    ]
    if not of_app:
        return []
    first = [each for each in of_app if each.metric == of_app[0].metric]
    ordered = sorted(first, key=lambda each: each.difference.value.value or 0.0)
    least, most = ordered[0], ordered[-1]
    start = f'The application adds to the {in_words(least.metric)} of the raw database'
    if least is most:
        place = f' ({least.label})' if least.factors else ''
        return [Sentence(f'{start}{place}: {_added(least)}.')]
    return [Sentence(f'{start}: least for {least.label}, {_added(least)}; most for {most.label}, {_added(most)}.')]


def _added(each: DriverDifference) -> str:
    low, high = each.difference.low, each.difference.high
    unsure = low.value is not None and high.value is not None and low.value <= 0 <= high.value
    found = f'{estimate_in_words(each.difference)}, {estimate_in_words(each.ratio)} times the raw latency'
    return f'{found}, not shown to differ from zero' if unsure else found


def methods(archive: Archive, drivers: Sequence[DriverDifference]) -> list[Sentence]:
    """Describe the experiment and its statistics as they were."""
    study = archive.study
    repeat, analyse = study['repeat'], study['analyse']
    hard = ', '.join(f'{name} ({len(levels)})' for name, levels in study['hard'].items()) or 'none'
    easy = ', '.join(f'{name} ({len(levels)})' for name, levels in study['easy'].items()) or 'none'
    states = ', '.join(f'{workload}: {state}' for workload, state in study['state'].items())
    found = [
        f'Factors that need a new deployment, with their numbers of levels: {hard}. Factors that change within a '
        f'deployment: {easy}. Each combination of the former was deployed {_times(repeat["deployments"])}, in blocks '
        f'that each have all combinations; the order within a block is random, from seed {study["seed"]}. A series on '
        f'one deployment has {repeat["trials"]} trials, of which {_first(repeat["warmup"])} warm-up: archived, and not '
        f'analysed. ' + (f'The table before a trial, by workload: {states}.' if states else ''),
        (
            'Each operation is in the archive with its start, latency, outcome and thread. Throughput is the number of '
            'successful operations divided by the time from the start of the first operation to the end of the last '
            'one. '
            'Latencies are those of successful operations. A read-modify-write counts once, and its parts are left out.'
        ),
        (
            'Quantiles are computed from the merged operations of all runs of a group; percentiles are never averaged. '
            'Their intervals are those of order statistics for the effective number of operations, by batch means, '
            'because operations that follow each other are not independent. In a comparison, a metric such as the 99th '
            'percentile is the quantile of each run, and the runs are the observations.'
        ),
        (
            "Means are geometric, and intervals are Student's at 95 % for the logarithms. What was randomised is the "
            'observation: from three deployments on, a deployment is one, and its trials are averaged. With fewer, '
            'runs that took turns are compared with each other, trial by trial; the result then holds for these '
            'deployments. Other groups have no verdict then, because nothing shows how much deployments differ.'
        ),
        (
            'Groups are compared by the logarithm of their ratio in each observation that both have. Its variance is '
            'moderated by that of the same comparison under the other conditions, if there are four or more (Smyth '
            f'2004). A pair is equivalent when two one-sided tests at {analyse["alpha"]:g} put the ratio within '
            f'{analyse["margin"] * 100:g} %; otherwise it is different when its p, adjusted by Holm for the pairs of '
            f'the family, is below {analyse["alpha"]:g}; otherwise it is undecided. The margin is that of the '
            'experiment file. The claims of a study share the level: each is judged at this level divided by their '
            'number.'
        ),
        *_sequential(archive),
    ]
    if drivers:
        found.append('Drivers are compared in pairs of runs of the same trial, which have the same operations.')
    found.append(
        'A run is valid when each of its rules holds. An invalid run is repeated, stays in the archive, and is left '
        'out of the analysis; the report shows what changes with it. Each number has a formula and inputs in '
        'numbers.json, and recompute.py computes it again from the archive.'
    )
    return [Sentence(text.strip()) for text in found]


def _first(count: int) -> str:
    return {0: 'none are', 1: 'the first one is'}.get(count, f'the first {count} are')


def _times(count: int) -> str:
    return 'once' if count == 1 else f'{count} times'


def _sequential(archive: Archive) -> list[str]:
    looks = looks_of(archive)
    if looks == 0:
        return []
    return [
        (
            f'The study was judged {_times(looks)} while it ran, after {", ".join(map(str, SCHEDULE[:looks]))} blocks. '
            f'It can be judged {len(SCHEDULE)} times, and each time has an equal share of the error.'
        )
    ]
