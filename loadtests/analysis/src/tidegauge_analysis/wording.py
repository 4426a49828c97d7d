"""The summary and the methods in plain English, from the actual choices."""

from collections import Counter
from collections.abc import Sequence

from tidegauge_analysis.archive import Archive
from tidegauge_analysis.document import DriverDifference, Family, Number, RunCounts, Sentence
from tidegauge_analysis.metrics import in_words
from tidegauge_analysis.numbers import interval_in_words

MOST_LEADERS = 4
"""Families of the first metric that the summary names."""

VERDICTS = {
    'different': 'shown to differ',
    'equivalent': 'equivalent within the margin',
    'undecided': 'undecided',
    'none': 'without a verdict, because they have too few runs',
}


def summary(
    families: Sequence[Family], drivers: Sequence[DriverDifference], runs: RunCounts, limits: Sequence[str]
) -> list[Sentence]:
    """Answer in a few sentences, with intervals: what the application adds, which group is best, and the limits."""
    found = []
    if runs.partial:
        found.append(Sentence(f'These results are partial: {_shown(runs.done)} of {_shown(runs.planned)} were done.'))
    found.extend(_overhead(drivers))
    for family in [family for family in families if family.metric == families[0].metric][:MOST_LEADERS]:
        found.extend(_leader(family))
    verdicts = Counter(pair.verdict for family in families for pair in family.pairs)
    if verdicts.total() > 1:
        parts = ', '.join(f'{verdicts[word]} {text}' for word, text in VERDICTS.items() if verdicts[word])
        found.append(Sentence(f'Of all {verdicts.total()} pairs of groups, over all metrics: {parts}.'))
    if found:
        found.extend(Sentence(limit) for limit in limits)
    else:
        found.append(Sentence('There is no result yet: no valid run has been analysed.'))
    return found


def _shown(number: Number) -> str:
    return f'{{{number.id}}}' if number.id else 'an unknown number'


def _leader(family: Family) -> list[Sentence]:
    there = [group for group in family.groups if group.mean.value.value is not None]
    if not there:
        return []
    best, *rest = sorted(there, key=lambda group: group.mean.value.value or 0.0, reverse=family.higher_is_better)
    own = interval_in_words(best.mean.value, best.mean.low, best.mean.high)
    if not rest:
        return [Sentence(f'{family.title}: {best.label} has {own}.')]
    second = rest[0]
    pair = next((pair for pair in family.pairs if {pair.first, pair.second} == {best.label, second.label}), None)
    other = interval_in_words(second.mean.value, second.mean.low, second.mean.high)
    both = f'{best.label} has {own} and {second.label} {other}'
    verdict = {
        'different': f'{best.label} is better',
        'equivalent': f'{best.label} and {second.label} are equivalent within the margin',
        'undecided': f'not decided between {best.label} and {second.label}',
    }.get(pair.verdict if pair else 'none', 'too few runs for a verdict')
    return [Sentence(f'{family.title}: {verdict}; {both}.')]


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
    value, low, high = each.difference.value, each.difference.low, each.difference.high
    unsure = low.value is not None and high.value is not None and low.value <= 0 <= high.value
    found = f'{interval_in_words(value, low, high)}, {_shown(each.ratio.value)} times the raw latency'
    return f'{found}, not shown to differ from zero' if unsure else found


def methods(archive: Archive, families: Sequence[Family], drivers: Sequence[DriverDifference]) -> list[Sentence]:
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
            "Intervals of means are Student's at 95 %. Intervals of medians are those of order statistics. Where the "
            'effective number of runs is below 0.7 of their number and neighbours are correlated beyond chance, means '
            'of consecutive runs are compared instead of runs.'
        ),
        _choice(families, analyse),
        (
            f'A pair is equivalent when two one-sided Welch tests at {analyse["alpha"]:g} put the difference within '
            f'{analyse["margin"] * 100:g} % of the second mean; otherwise it is different when its adjusted p is below '
            f'{analyse["alpha"]:g}; otherwise it is undecided, and the number of further runs that would decide with '
            '80 % power is given, if means and spread stay as they are. The margin is that of the experiment file.'
        ),
        'Hard factors are tested once more with deployments as observations, against the error between deployments, '
        'because trials on one deployment are no replicates of it.'
        if repeat['deployments'] > 1
        else 'Each combination was deployed once. Differences between groups include those between deployments, whose '
        'size is unknown: the tests hold for these deployments, and not for others.',
    ]
    if drivers:
        found.append(
            'Drivers are compared in pairs of runs of the same trial, which have the same operations: the mean of '
            "paired differences with Student's interval, and the geometric mean of paired ratios."
        )
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


def _choice(families: Sequence[Family], analyse: dict[str, object]) -> str:
    used = Counter(family.test.method for family in families if family.test is not None)
    start = (
        "Groups of a family are compared by analysis of variance with Tukey-Kramer; by Welch's analysis of variance "
        'with Games-Howell where the Brown-Forsythe test finds unequal variances; and by Kruskal-Wallis with Dunn '
        '(Holm) where few values or a strong skew make means a poor summary. '
    )
    chosen = ', '.join(f'{method} in {count}' for method, count in used.items())
    done = f'Of {len(families)} families, {chosen}. ' if chosen else 'No family had enough runs for a test. '
    return (
        f'{start}{done}The level is {analyse["alpha"]}, over all pairs of a family; p values of families are adjusted '
        'by Holm over the metrics. Letters need five observations in each group.'
    )
