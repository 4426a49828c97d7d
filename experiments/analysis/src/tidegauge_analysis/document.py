"""The shape of `analysis.json`: everything that a report shows.

Names of fields are those of the JSON file. Latencies are in milliseconds, throughput in operations per second, sizes in
bytes. A value that does not exist is null, with the reason beside it; the file has neither NaN nor infinity.
"""

import dataclasses
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Level = str | float | bool
Combination = dict[str, Level]
"""A level of each factor, by the factor's name."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Number:
    """One printed number. `numbers.json` has its formula and inputs under the same id."""

    id: str | None
    """Such as `n17`; None where there is no value."""
    value: float | None
    unit: str
    """`ms`, `ops/s`, `s`, `bytes`, `J`, `W`, `%`, `runs`, …; empty for a pure number."""
    reason: str | None = None
    """Why there is no value."""


@dataclass(frozen=True)
class NumberList:
    """Numbers that one formula gives together, such as the counts of a histogram."""

    id: str | None
    values: list[float | None]
    unit: str
    reason: str | None = None


@dataclass(frozen=True)
class Estimate:
    """A value between its bounds. A bound without a value has its reason."""

    value: Number
    low: Number
    high: Number
    confidence: float
    """Of the interval, such as 0.95."""


@dataclass(frozen=True)
class Sentence:
    """A sentence of the report. `{n17}` is to be replaced by the number with that id and its unit, `{n17!}` without."""

    text: str


@dataclass(frozen=True)
class StudyFacts:
    """What was planned."""

    name: str
    title: str
    question: str | None
    seed: int
    quick: bool
    plan_hash: str
    hard: dict[str, list[Level]]
    easy: dict[str, list[Level]]
    fixed: Combination
    deployments: int
    trials: int
    warmup: int
    state: dict[str, str]
    exclude: list[Json]
    metrics: list[str]
    per: list[str]
    """Also has each factor with several levels that `groups` does not name: levels are never pooled."""
    groups: list[str]
    alpha: float
    margin: float
    figures: list[str]
    boxes: str | None = None
    """Rule of the box plots: `tukey` or `three-sigma`; None: both."""


@dataclass(frozen=True)
class RunRow:
    """One run in the archive."""

    run: str
    deployment: str
    series: str
    block: int
    trial: int
    attempt: int
    driver: str
    factors: Combination
    warmup: bool
    status: str
    """`analysed`, `warm-up`, `invalid`, `repeated` (an invalid run whose repetition counts), `superseded` (its series
    was repeated whole), or `unfinished` (its series has not ended)."""
    reasons: list[str]
    """Of an invalid run: what its checks found."""
    csv: str
    csv_sha256: str
    json: str
    json_sha256: str


@dataclass(frozen=True)
class RunCounts:
    """Runs by what became of them."""

    planned: Number
    done: Number
    analysed: Number
    invalid: Number
    warmup: Number
    superseded: Number
    unfinished: Number
    partial: bool
    """Planned runs are missing. Each page and figure must show it."""
    missing: list[str]
    """Planned series that have no complete set of runs, in words."""
    repeated: Number
    """Invalid runs that were done again."""


@dataclass(frozen=True)
class RunValue:
    """The value of one run in a group."""

    run: str
    deployment: str
    block: int
    trial: int
    value: Number


@dataclass(frozen=True)
class Group:
    """Runs with the same levels of the factors that form groups."""

    label: str
    factors: Combination
    n: int
    """Runs."""
    deployments: int
    values: list[RunValue]
    mean: Estimate
    """Geometric; its interval is over deployments from three on, else over runs."""
    median: Estimate
    sd: Number
    minimum: Number
    maximum: Number
    lower_quartile: Number
    upper_quartile: Number
    letters: str | None
    """Best group: a. None where there are no letters; see `letters_note` of the family."""


@dataclass(frozen=True)
class Pair:
    """Two groups of a family: the first over the second."""

    first: str
    second: str
    n: int
    """Units that both have."""
    unit: str
    """`deployment`, or `trial` where there are fewer than three deployments and the runs took turns."""
    in_turns: bool
    """Whether the runs took turns within their deployment, or followed each other in random order."""
    ratio: Estimate
    """Of the geometric means."""
    p: Number
    """Adjusted by Holm for the pairs of the family."""
    verdict: str
    """`different`, `equivalent`, `undecided`, or `none` where the pair cannot be compared."""
    further: Number
    """Further units that would decide; no value once decided."""
    sentence: Sentence


@dataclass(frozen=True)
class Family:
    """Groups that are compared with each other: one metric under one combination of the factors `per`."""

    id: str
    """Usable as an anchor and as a file name."""
    metric: str
    title: str
    unit: str
    higher_is_better: bool
    per: Combination
    groups: list[Group]
    """In the order of the levels in the experiment file."""
    pairs: list[Pair]
    letters_note: str
    """The convention, or why there are no letters. For printing under each figure."""
    notes: list[str]
    part: str | None = None
    """Part of the study; None in a study without parts."""


@dataclass(frozen=True)
class DriverDifference:
    """The application on top of the raw database: runs of the same trial, in pairs."""

    id: str
    metric: str
    unit: str
    higher_is_better: bool
    label: str
    factors: Combination
    """Without the driver."""
    first: str
    """`app` or `k6`."""
    second: str
    """`raw`, or `app` against k6."""
    n: int
    """Units: deployments, or trials where there are fewer than three deployments."""
    kind: str
    """What a unit is: `deployment` or `trial`."""
    first_mean: Estimate
    second_mean: Estimate
    difference: Estimate
    """Mean over the units. Of medians, where operations took turns one by one: of the medians of their differences."""
    ratio: Estimate
    """Of the geometric means."""
    p: Number
    """Of the ratio."""
    sentence: Sentence


@dataclass(frozen=True)
class Trial:
    """One trial of a series."""

    run: str
    trial: int
    value: Number
    warmup: bool
    valid: bool


@dataclass(frozen=True)
class TrialSeries:
    """Trials on one loaded table, in order, with the warm-up."""

    id: str
    series: str
    deployment: str
    block: int
    metric: str
    unit: str
    driver: str
    label: str
    factors: Combination
    trials: list[Trial]
    fixed_warmup: int
    """Trials that the experiment file declares to be warm-up. These are left out."""
    mser_warmup: Number
    """Trials that MSER would leave out, counted from the first trial. For information."""
    shape: str | None
    """`flat`, `warming`, `slowing`, `oscillating`, `no steady state`; None: too short."""
    shape_reason: str
    lag_one: Number
    effective_size: Number


@dataclass(frozen=True)
class Quantile:
    """A quantile of merged operations."""

    at: float
    """0.5, 0.9, 0.95, 0.99 or 0.999."""
    label: str
    estimate: Estimate


@dataclass(frozen=True)
class Histogram:
    """Operations by latency. Bin i lies between edge i (included) and edge i + 1, in ms; edges grow geometrically."""

    edges: list[float]
    counts: NumberList


@dataclass(frozen=True)
class Timeline:
    """Operations by the time of their start, over all runs of a group."""

    width: float
    """Of a bin, in seconds."""
    starts: list[float]
    """Start of each bin, in seconds from the start of the run."""
    throughput: NumberList
    """Completed operations per second, mean over the runs that lasted that long."""
    mean_latency: NumberList
    p99_latency: NumberList


@dataclass(frozen=True)
class Latencies:
    """Latencies of one operation in one group, over the operations of all its analysed runs."""

    id: str
    label: str
    factors: Combination
    """All factors with several levels, the driver included."""
    operation: str
    """One of `OPERATIONS`, such as READ."""
    runs: list[str]
    operations: Number
    """Successful operations."""
    failed: Number
    mean: Number
    minimum: Number
    maximum: Number
    quantiles: list[Quantile]
    histogram: Histogram
    timeline: Timeline


@dataclass(frozen=True)
class CurvePoint:
    """One load of a curve."""

    load: float
    """The target rate, or the number of threads."""
    target: Number
    """No value: as fast as possible."""
    achieved: Estimate
    latency: Estimate


@dataclass(frozen=True)
class Curve:
    """Latency over throughput, for one group: the factor `target` or `threads` varies."""

    id: str
    label: str
    factors: Combination
    by: str
    """`target` or `threads`."""
    latency_metric: str
    unit: str
    points: list[CurvePoint]
    """By increasing load."""
    overload: int | None
    """Index of the first overloaded point."""
    sentence: Sentence
    """Names the overload point, or reports that there is none."""
    part: str | None = None


@dataclass(frozen=True)
class NodeRow:
    """What one node used, mean over the analysed runs of a group."""

    node: str
    role: str
    """`store`, `api`, `client` or `machine`."""
    cpu: Estimate
    """Processors in use: processor seconds per second."""
    memory: Estimate
    read: Estimate
    written: Estimate
    received: Estimate
    sent: Estimate
    source: str


@dataclass(frozen=True)
class Resources:
    """Resources of one group (all factors with several levels, the driver included)."""

    id: str
    label: str
    factors: Combination
    n: int
    nodes: list[NodeRow]
    bytes_per_record: Estimate
    """Bytes that the store occupies on its disks after the run, per record of the table."""
    write_amplification: Estimate
    """Bytes that the store wrote to its disks per byte of values that the run wrote."""
    client_cpu_share: Estimate
    """Of the processor time of the whole experiment (store, API and client), 0 to 1."""
    energy_per_operation: Estimate
    """J. Bounds: the uncertainty of the model or meter, not the spread of runs."""
    energy_source: str | None


@dataclass(frozen=True)
class FailureRow:
    """What the failure of a store node did to the runs of one group. Means are over these runs."""

    id: str
    label: str
    factors: Combination
    n: int
    recovered: int
    """Runs in which the rate reached 90 % of the rate before the failure again."""
    rate_before: Estimate
    """Successful operations per second before the failure."""
    recovery: Estimate
    """From the failure to the first second with 90 % of that rate, over runs that recovered; 0: it was never lower."""
    slow: Estimate
    """Seconds after the failure with a lower rate, together."""
    pause: Estimate
    """Longest time without the end of a successful operation after the failure."""
    down: Estimate
    """From the kill until the node serves again."""
    failed: Number
    """Operations that ended after the failure and failed, of all runs."""
    failed_share: Estimate
    """In percent of the operations that ended after the failure."""
    checked: Number
    """Written records that were read after the restart, of all runs."""
    stale: Number
    """Of these, records that lacked an acknowledged write at the level of the run, and had it on other copies."""
    lost: Number
    """Of these, records that lack an acknowledged write on all copies."""
    sentence: Sentence


@dataclass(frozen=True)
class CheckRow:
    """One validity rule in one run."""

    rule: str
    measured: Number
    limit: float | None
    ok: bool
    note: str | None


@dataclass(frozen=True)
class RunChecks:
    """All validity rules of one run."""

    run: str
    valid: bool
    checks: list[CheckRow]


@dataclass(frozen=True)
class RuleSummary:
    """One rule over all runs."""

    rule: str
    limit: float | None
    unit: str
    measured: int
    """Runs in which it was measured."""
    failed: int
    worst: Number
    """The measured value that is furthest towards failure."""


@dataclass(frozen=True)
class SensitivityGroup:
    """A group with and without its invalid runs."""

    label: str
    n_valid: int
    n_all: int
    mean_valid: Estimate
    mean_all: Estimate


@dataclass(frozen=True)
class Sensitivity:
    """A family with its invalid runs included."""

    family: str
    groups: list[SensitivityGroup]
    changes: list[str]
    """Conclusions that would change, in words; empty: none."""


@dataclass(frozen=True)
class PublishedRow:
    """A published number beside ours."""

    source: str
    factors: Combination
    """A level such as `cassandra / hbase` is a ratio of two levels, `none - radio` their difference."""
    metric: str
    statistic: str
    """`lowest` or `highest` of its workload, `greatest` difference, `greatest from published`; empty: the mean."""
    unit: str
    published: Number
    flag: str
    ours: Estimate
    ratio: Number
    """Ours over the published number."""
    note: str
    """In words: inside the interval, above, below, or why there is no number of ours."""


@dataclass(frozen=True)
class ExtremeRow:
    """A published lowest or highest value beside ours, each with the group in which it occurs."""

    source: str
    condition: str
    """The workload, in words."""
    metric: str
    statistic: str
    """`lowest` or `highest`."""
    published: Number
    published_group: str
    ours: Estimate
    group: str
    """The group with the lowest or the highest mean of our runs; empty: there is no run."""


@dataclass(frozen=True)
class Slowdown:
    """A group on this machine and on a second one."""

    id: str
    metric: str
    label: str
    factors: Combination
    """All factors with several levels."""
    n: int
    second_n: int
    mean: Estimate
    second_mean: Estimate
    ratio: Estimate
    """Mean time here, in percent of the mean time there, with Welch's interval of the logarithms."""


@dataclass(frozen=True)
class MeanSlowdown:
    """The mean slowdown of all groups of a driver."""

    metric: str
    """`slowdown`, or `slowdown.min` or `slowdown.max` for the smallest and largest latencies of the runs."""
    words: str
    driver: str
    """Empty: the study has one driver."""
    groups: int
    mean: Estimate
    """Each group is one observation."""


@dataclass(frozen=True)
class SecondMachine:
    """These results beside those of the same study on a second machine."""

    name: str
    """Of its results directory."""
    differences: list[str]
    """Between these results (A) and those of the second machine (B): machine, versions, repetitions."""
    slowdowns: list[Slowdown]
    means: list[MeanSlowdown]


@dataclass(frozen=True)
class ClaimPart:
    """One comparison of a claim under one condition."""

    condition: str
    """Levels of the factors that vary and are not compared; empty: there are none."""
    compared: str
    """Such as `cassandra > hbase`."""
    verdict: str
    """`agrees`, `disagrees` or `undecided`."""
    first: Estimate
    second: Estimate
    """Means of both sides, or of the lowest and the highest level; no value where there is one side."""
    measure: str
    """What `result` is: `ratio`, `exponent` or `mean`."""
    result: Estimate
    published: Sentence
    """Published numbers of both sides; empty: there are none."""
    further: Number
    """Further units that would decide."""
    note: str


@dataclass(frozen=True)
class ClaimResult:
    """A claim of a publication, judged by the intervals of these results."""

    id: str
    text: str
    source: str | None
    check: str | None
    verdict: str
    """`agrees`, `disagrees`, `undecided` or `not run`."""
    reason: str
    """Why it was not run, or what was not compared."""
    because: str | None
    """The known reason for another result."""
    further: Number
    """Further deployments, or trials, that would decide an undecided claim."""
    pooled: Estimate
    """Over all comparisons, whose true values differ at random; no value where there is one, or none can be pooled."""
    heterogeneity: Number
    """Standard deviation of the logarithms of the true values between conditions."""
    sentence: Sentence
    """The result in numbers."""
    shown: str
    """The sentence with its numbers as text, for pages outside the report."""
    parts: list[ClaimPart]


@dataclass(frozen=True)
class LoadRow:
    """Loads of one series and driver."""

    series: str
    driver: str
    label: str
    loaded: int
    restored: int
    records: Number
    """Of one load."""
    seconds: Number
    """Sum."""
    rate: Number
    """Records per second of the loads that were not restored."""


@dataclass(frozen=True)
class LoadGroup:
    """Times of all loads with the same levels of the factors that a load depends on. Restored tables do not count."""

    label: str
    factors: Combination
    n: int
    records: Number
    """Of one load."""
    seconds: Estimate
    rate: Number
    """Records per second, from the mean time."""


@dataclass(frozen=True)
class TimeUse:
    """Where the time went."""

    runs: Number
    loads: Number
    deployments: Number
    """From the start to the end of all deployments."""


@dataclass(frozen=True)
class Analysis:
    """All of `analysis.json`."""

    study: StudyFacts
    runs: RunCounts
    run_rows: list[RunRow]
    environment: dict[str, Any]
    """Facts of the machine and versions of the servers, as the archive has them."""
    versions: dict[str, dict[str, str]]
    """Versions of the servers by deployment."""
    answer: list[Sentence]
    """At most two sentences; where no run is valid, why, and what to do."""
    limits: list[Sentence]
    """How far the answer holds."""
    summary: list[Sentence]
    """The results behind the answer."""
    families: list[Family]
    drivers: list[DriverDifference]
    series: list[TrialSeries]
    latencies: list[Latencies]
    curves: list[Curve]
    resources: list[Resources]
    failures: list[FailureRow]
    rules: list[RuleSummary]
    validity: list[RunChecks]
    sensitivity: list[Sensitivity]
    published: list[PublishedRow]
    extremes: list[ExtremeRow]
    claims: list[ClaimResult]
    loads: list[LoadRow]
    load_groups: list[LoadGroup]
    time: TimeUse
    methods: list[Sentence]
    """Paragraphs."""
    files: dict[str, str]
    """SHA-256 of each file of the archive that a number rests on, by path."""
    notes: list[str] = field(default_factory=list)
    """What a reader must know first: partial or quick results, damaged or missing files."""
    second: SecondMachine | None = None
    invalid_families: list[Family] = field(default_factory=list)
    """The families of the invalid runs where no run is valid; otherwise empty. They are no result."""
    format: int = 1


def to_json(document: object) -> Json:
    """Turn a document into plain JSON values.

    :raises ValueError: a number is not finite: JSON has no such value, and the reason belongs beside it
    """
    plain = dataclasses.asdict(document)  # type: ignore[call-overload]
    _refuse_infinite(plain, 'analysis')
    result: Json = plain
    return result


def write_json(path: Path, value: object) -> None:
    """Write JSON with sorted structure as given, one file, in UTF-8."""
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + '\n', encoding='utf-8')


def _refuse_infinite(value: object, where: str) -> None:
    if isinstance(value, dict):
        for key, inner in value.items():
            _refuse_infinite(inner, f'{where}.{key}')
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            _refuse_infinite(inner, f'{where}[{index}]')
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f'{where} is not a finite number')
