"""Rebuild every number of a report from the raw archive, with Python's standard library only.

Usage: python3 recompute.py RESULTS      RESULTS is the directory that has runs/, loads/ and report/.

report/numbers.json has a formula and inputs for each number: rows of runs/*.csv.gz, fields of JSON files, or other
numbers. This program evaluates them in order with the table FORMULAS at its end. From the recomputed numbers it also
derives what report/analysis.json concludes: verdicts and letters. Latencies are in ms.
Exit codes: 0 all agree; 1 a number, a conclusion or a file differs; 2 bad usage.
"""
# A sheet of formulas: as short as in a textbook.
# fmt: off

import csv
import gzip
import hashlib
import json
import math
import sys
from array import array
from bisect import bisect_right
from functools import lru_cache
from itertools import chain, pairwise
from math import fsum, sqrt
from pathlib import Path
from statistics import fmean, median
from string import ascii_letters

DISTANCES = ('difference', 'scaled_distance')

# --- distributions ---------------------------------------------------------------------------------------------------

@lru_cache(maxsize=100_000)
def beta(a, b, x):  # regularised incomplete beta function, by its continued fraction (Lentz)
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta(b, a, 1 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    h = d
    for m in range(1, 200_000):
        before, end = h, a + 2 * m
        for top in (m * (b - m) * x / ((end - 1) * end), -(a + m) * (a + b + m) * x / (end * (end + 1))):
            d, c = 1 / (1 + top * d), 1 + top / c
            h *= c * d
        if abs(h - before) < 1e-16 * abs(h):
            break
    return front * h

def root(f):  # where a rising f with f(0) < 0 is zero: by regula falsi (Illinois)
    low, high = 0.0, 1.0
    while f(high) < 0:
        high *= 2
    at_low, at_high = f(low), f(high)
    for _ in range(200):
        x = high - at_high * (high - low) / (at_high - at_low)
        at_x = f(x)
        done = at_x == 0 or abs(x - high) <= 1e-14 * x
        low, at_low = (low, at_low / 2) if at_x * at_high > 0 else (high, at_high)
        high, at_high = x, at_x
        if done:
            break
    return high

def t_sf(t, df):
    tail = beta(df / 2, 0.5, df / (df + t * t)) / 2
    return tail if t >= 0 else 1 - tail

@lru_cache(maxsize=10_000)
def t_quantile(p, df):
    return root(lambda t: (1 - p) - t_sf(t, df)) if p > 0.5 else -t_quantile(1 - p, df) if p < 0.5 else 0.0

def binomial_quantile(p, n, at):  # smallest k with P(X <= k) >= p
    low, high = -1, n
    while high - low > 1:
        k = (low + high) // 2
        low, high = (low, k) if k == n or 1 - beta(k + 1, n - k, at) >= p else (k, high)
    return high

def digamma(x):
    shift = 0.0
    while x < 12:
        shift, x = shift - 1 / x, x + 1
    terms = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132)
    return shift + math.log(x) - 1 / (2 * x) - fsum(term / x ** (2 * i + 2) for i, term in enumerate(terms))

def trigamma(x):
    shift = 0.0
    while x < 12:
        shift, x = shift + 1 / x**2, x + 1
    terms = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66)
    return shift + 1 / x + 1 / (2 * x * x) + fsum(term / x ** (2 * i + 3) for i, term in enumerate(terms))

# --- one sample and two: side is -1 for the lower bound, 1 for the upper one, 0 for the value ------------------------

def variance(x):
    centre = fmean(x)
    return fsum((v - centre) ** 2 for v in x) / (len(x) - 1)

def mean(of, confidence=0.95, side=0):
    error = side and t_quantile((1 + confidence) / 2, len(of) - 1) * sqrt(variance(of) / len(of))
    return fmean(of) + side * error

def order_statistic(x, at, size, confidence=0.95, side=0):  # x from small to large, of which `size` are independent
    n = len(x)
    stretched = (binomial_quantile((1 + side * confidence) / 2, round(size), at) + (side > 0)) * (n / round(size))
    rank = max(1, math.ceil(n * at))
    return x[(min(rank, math.floor(stretched)) if side < 0 else max(rank, math.ceil(stretched)) if side else rank) - 1]

def quartile(of, at):
    x, place = sorted(of), at * (len(of) - 1)
    return x[int(place)] + place % 1 * (x[min(int(place) + 1, len(x) - 1)] - x[int(place)])

def lag_one(of):
    c = [v - fmean(of) for v in of]
    return fsum(one * two for one, two in pairwise(c)) / fsum(v * v for v in c)

def effective_size(of):  # by means of 2, 4, 8, ... neighbours
    whole, time, length, means = variance(of), 1.0, 1, of
    while whole > 0 and len(means) >= 8:
        means = [(means[i] + means[i + 1]) / 2 for i in range(0, len(means) - 1, 2)]
        length *= 2
        time = max(time, length * variance(means) / whole)
        if time <= 0.2 * length:
            break
    return len(of) / time

def mser(of, batch):
    means = [fmean(of[i : i + batch]) for i in range(0, len(of) - batch + 1, batch)]
    rests = [means[i:] for i in range(max(1, len(means) - 4))]
    errors = [fsum((v - fmean(rest)) ** 2 for v in rest) / len(rest) ** 2 for rest in rests]
    return errors.index(min(errors)) * batch

def unpaired(first, second, confidence=0.95, side=0):  # log ratio of two independent samples, with Welch's interval
    x, y = ([math.log(v) for v in sample] for sample in (first, second))
    a, b = variance(x) / len(x) if side else 0, variance(y) / len(y) if side else 0
    df = (a + b) ** 2 / (a * a / (len(x) - 1) + b * b / (len(y) - 1)) if side else 1
    return fmean(x) - fmean(y) + side * (side and t_quantile((1 + confidence) / 2, df) * sqrt(a + b))

# --- units: what two groups have in common, deployment by deployment or turn by turn ---------------------------------

def centre(unit): return fmean(map(math.log, unit if isinstance(unit, tuple) else (unit,)))
def log_ratios(first, second): return [centre(x) - centre(y) for x, y in zip(first, second)]
def geometric_mean(of, confidence=0.95, side=0): return math.exp(mean([*map(centre, of)], confidence, side))
def mean_of_units(of, confidence=0.95, side=0): return mean([fmean(unit) for unit in of], confidence, side)

def mean_difference(first, second, confidence=0.95, side=0):
    return mean([fmean(x) - fmean(y) for x, y in zip(first, second)], confidence, side)

def prior(contrasts, what):  # of the variance of one contrast, from all of the same kind (Smyth)
    return prior_of([log_ratios(*one) for one in contrasts], what)

def prior_of(kept, what):  # the spread of the variances is its upper limit of 95 % (Wilson and Hilferty)
    df = [len(units) - 1 for units in kept]
    logs = [math.log(variance(units)) - digamma(d / 2) + math.log(d / 2) for units, d in zip(kept, df)]
    least = (1 - 2 / 9 / (len(kept) - 1) - 1.6448536269514722 * sqrt(2 / 9 / (len(kept) - 1))) ** 3
    excess = variance(logs) / least - fmean(trigamma(d / 2) for d in df)
    most = fmean(map(variance, kept))
    if excess <= 0:
        return sum(df) if what == 'df' else most
    half = 1 / root(lambda u: (trigamma(1 / u) if u else 0.0) - excess)
    return min(sum(df), 2 * half) if what == 'df' else max(most, math.exp(fmean(logs) + digamma(half)) / half)

def moderated(units, prior):  # squared error of the mean of the units, and its degrees of freedom
    more, other = prior or (0, 0)
    own = len(units) - 1
    return (more * other + own * variance(units)) / (more + own) / len(units), more + own

def log_ratio(first, second, prior, what='value', confidence=0.95, side=0):
    units = log_ratios(first, second)
    if side == 0 and what == 'value':
        return fmean(units)
    square, df = moderated(units, prior)
    return square if what == 'variance' else fmean(units) + side * t_quantile((1 + confidence) / 2, df) * sqrt(square)

def ratio(first, second, prior, **bound): return math.exp(log_ratio(first, second, prior, **bound))

def ratio_p(first, second, prior):
    units = log_ratios(first, second)
    square, df = moderated(units, prior)
    return 2 * t_sf(abs(fmean(units)) / sqrt(square), df)

def further_units(first, second, prior, margin, alpha, comparisons):
    units = log_ratios(first, second)
    apart, spread, more = abs(fmean(units)), moderated(units, prior)[0] * len(units), (prior or (0, 0))[0]

    def needed(distance, one, other):  # smallest n that shows this distance
        def enough(n):
            df = more + n - 1
            return (t_quantile(1 - one, df) + t_quantile(1 - other, df)) * sqrt(spread / n) <= distance

        low, high = 3, 1001
        while distance > 0 and low < high:
            low, high = (low, (low + high) // 2) if enough((low + high) // 2) else ((low + high) // 2 + 1, high)
        return low if distance > 0 and low <= 1000 else math.inf

    missed = 0.1 if apart == 0 else 0.2
    found = min(needed(apart, alpha / comparisons / 2, 0.2), needed(math.log1p(margin) - apart, alpha, missed))
    return max(1, found - len(units))

def log_of_limit(of, limit, what):
    units = [centre(unit) - math.log(limit) for unit in of]
    return fmean(units) if what == 'value' else variance(units) / len(units)

def slope(levels, unit):  # least squares of logarithms
    x, y = [math.log(level) for level in levels], [centre(level) for level in unit]
    a, b = fmean(x), fmean(y)
    return fsum((v - a) * (w - b) for v, w in zip(x, y)) / fsum((v - a) ** 2 for v in x)

def mean_exponent(levels, units, prior, confidence=0.95, side=0):
    slopes = [slope(levels, unit) for unit in units]
    square, df = moderated(slopes, prior)
    return fmean(slopes) + (side and side * t_quantile((1 + confidence) / 2, df) * sqrt(square))

def exponent(levels, units, prior, what):
    slopes = [slope(levels, unit) for unit in units]
    return fmean(slopes) if what == 'value' else moderated(slopes, prior)[0]

def prior_of_exponents(trends, what):
    return prior_of([[slope(levels, unit) for unit in units] for levels, units in trends], what)

def pooled(effects, variances, what, confidence=0.95, side=0):  # random effects by REML, error by Hartung and Knapp
    def fit(tau):
        weights = [1 / (v + tau) for v in variances]
        mu = fsum(w * y for w, y in zip(weights, effects)) / fsum(weights)
        return weights, mu, fsum(w * w * (y - mu) ** 2 for w, y in zip(weights, effects))

    def score(tau):
        weights, _, squares = fit(tau)
        return squares - fsum(weights) + fsum(w * w for w in weights) / fsum(weights)

    tau = root(lambda t: -score(t)) if score(0.0) > 0 else 0.0
    weights, mu, _ = fit(tau)
    if what == 'spread':
        return sqrt(tau)
    df = len(effects) - 1
    q = fsum(w * (y - mu) ** 2 for w, y in zip(weights, effects)) / df
    found = mu + side * (side and t_quantile((1 + confidence) / 2, df) * sqrt(max(1.0, q) / fsum(weights)))
    return math.exp(found) if what == 'ratio' else found

def pooled_blocks(units, what, confidence=0.95, side=0):  # two-way layout, conditions and blocks random (Satterthwaite)
    rows, columns = [fmean(row) for row in units], [fmean(column) for column in zip(*units)]
    a, b, grand = len(rows), len(columns), fmean(rows)
    between, luck = b * variance(rows), a * variance(columns)
    rest = fsum((y - r - c + grand) ** 2 for row, r in zip(units, rows) for y, c in zip(row, columns))
    rest /= (a - 1) * (b - 1)
    if what == 'spread':
        return sqrt(max(0.0, between - rest) / b)
    total = between + luck - rest
    df = total ** 2 / (between ** 2 / (a - 1) + luck ** 2 / (b - 1) + rest ** 2 / (a - 1) / (b - 1))
    error = sqrt(max(total, between, luck) / a / b)
    found = grand + side * (side and t_quantile((1 + confidence) / 2, max(1.0, df)) * error)
    return math.exp(found) if what == 'ratio' else found

def holm(of, index):
    order = sorted(range(len(of)), key=of.__getitem__)
    return max(min(1.0, of[i] * (len(of) - place)) for place, i in enumerate(order[: order.index(index) + 1]))

# --- conclusions -----------------------------------------------------------------------------------------------------

def letters_of(n, different):  # of groups from the best to the worst: insert and absorb, then drop what others cover
    sets = [frozenset(range(n))]
    for i, j in different:
        parts = [part for s in sets for part in ((s - {i}, s - {j}) if {i, j} <= s else (s,))]
        sets = [s for s in dict.fromkeys(parts) if not any(s < other for other in parts)]
    for s in sorted(sets, key=sorted, reverse=True):
        others = [other for other in sets if other != s]
        if all(any({i, j} <= other for other in others) for i in s for j in s):
            sets = others
    return [''.join(c for c, s in zip(ascii_letters, sorted(sets, key=sorted)) if i in s) for i in range(n)]

def verdict(entry, p, alpha, margin):  # of a pair with this entry for its ratio
    first, second, prior = (resolve(entry['inputs'][name]) for name in ('first', 'second', 'prior'))
    bounds = [log_ratio(first, second, prior, confidence=1 - 2 * alpha, side=side) for side in (-1, 1)]
    return 'equivalent' if max(map(abs, bounds)) < math.log1p(margin) else 'different' if p < alpha else 'undecided'

def conclusions(analysis, entries):  # pairs of what the report has and what the numbers give, with the place
    alpha, margin = (analysis['study'][name] for name in ('alpha', 'margin'))
    for family in analysis['families'] + analysis['invalid_families']:
        groups, p = family['groups'], {}
        for pair in family['pairs']:
            place, number = f'{family["id"]}: {pair["first"]} and {pair["second"]}', pair['p']['id']
            found = 'none'
            if number:
                p[pair['first'], pair['second']] = VALUES[number]
                found = verdict(entries[pair['ratio']['value']['id']], VALUES[number], alpha, margin)
            yield f'{place}: verdict', pair['verdict'], found
            word = pair['sentence']['text'].removeprefix(f'{pair["first"]} against {pair["second"]}: ').split(',')[0]
            yield f'{place}: sentence', word.split(' within')[0], {'none': 'no verdict'}.get(found, found)
        letters = [None] * len(groups)
        if len(groups) > 1 and len(p) == len(groups) * (len(groups) - 1) // 2:
            means = [VALUES[group['mean']['value']['id']] for group in groups]
            order = sorted(range(len(groups)), key=means.__getitem__, reverse=family['higher_is_better'])
            at = {groups[i]['label']: place for place, i in enumerate(order)}
            apart = [(at[one], at[two]) for (one, two), value in p.items() if value < alpha]
            for i, text in zip(order, letters_of(len(groups), apart)):
                letters[i] = text
        yield f'{family["id"]}: letters', [group['letters'] for group in groups], letters
        yield f'{family["id"]}: n', [group['n'] for group in groups], [len(group['values']) for group in groups]

# --- the archive -----------------------------------------------------------------------------------------------------

ROOT, SETS, VALUES = Path(), {}, {}

@lru_cache(maxsize=64)
def document(file): return json.loads((ROOT / file).read_bytes())

@lru_cache(maxsize=40)
def operations(run):  # (operation, succeeded) -> starts, latencies in µs, parts of a read-modify-write, turns
    found = {}
    with gzip.open(ROOT / 'runs' / f'{run}.csv.gz', 'rt', encoding='utf-8', newline='') as lines:
        next(lines)
        for start, operation, latency, status, _, part, turn in csv.reader(lines):
            columns = found.setdefault((operation, status == 'OK'), [array('q') for _ in range(4)])
            for column, value in zip(columns, (start, latency, part, turn)):
                column.append(int(value))
    return found

def select(run, operation=None, ok=True, parts=True):  # (start, latency); of all types: without parts
    for (name, good), rows in operations(run).items():
        if operation in (None, name) and good == ok:
            with_parts = parts and operation is not None
            yield from ((start, latency) for start, latency, part, _ in zip(*rows) if with_parts or not part)

def count(runs, operation=None, ok=True, parts=True):
    return sum(1 for run in runs for _ in select(run, operation, ok, parts))

def runtime(run):
    rows = [*select(run), *select(run, ok=False)]
    return (max(start + latency for start, latency in rows) - min(start for start, _ in rows)) / 1e6

@lru_cache(maxsize=2)
def latencies(runs, operation, ordered):  # ms, of successful operations, run after run or from small to large
    found = array('d', (latency / 1000 for run in runs for _, latency in select(run, operation)))
    return array('d', sorted(found)) if ordered else found

def by_turn(run, operation):  # latency of the successful operation of each turn
    return {
        turn: latency
        for (name, ok), rows in operations(run).items() if ok and operation in (None, name)
        for _, latency, part, turn in zip(*rows) if not part
    }

def paired_median(first, second, operation):
    one, two = by_turn(first, operation), by_turn(second, operation)
    return median((latency - two[turn]) / 1000 for turn, latency in one.items() if turn in two)

def histogram(runs, operation, edges):
    counts = [0] * (len(edges) - 1)
    for v in latencies(runs, operation, True):
        counts[bisect_right(edges, v) - 1] += 1
    return counts

def timeline(runs, operation, width, bins, what):
    cells = [[] for _ in range(bins)]
    for start, latency in chain(*(select(run, operation) for run in runs)):
        if 0 <= start < width * 1e6 * bins:
            cells[int(start / (width * 1e6))].append(latency / 1000)
    if what == 'throughput':
        lasting = [sum(runtime(run) >= (i + 1) * width for run in runs) for i in range(bins)]
        return [len(cell) / width / n if n else None for cell, n in zip(cells, lasting)]
    return [None if not c else fmean(c) if what == 'mean' else sorted(c)[math.ceil(len(c) * 0.99) - 1] for c in cells]

def field(file, path, over=(), per=1):
    value, divisor = document(file), document(file) if over else per
    for key in path:
        value = value[key]
    for key in over:
        divisor = divisor[key]
    return value / divisor if over or per != 1 else value

def nodes_sum(run, key, roles):
    return fsum(node[key] for node in document(f'runs/{run}.json')['nodes'] if node['role'] in roles)

def write_amplification(run, bytes):  # of values that the successful operations of a run wrote
    written = sum(count([run], operation, parts=False) * size for operation, size in bytes.items())
    return nodes_sum(run, 'writtenBytes', ['store']) / written

def failure(run, what):  # seconds count from the kill; a whole second is slow below 90 % of the rate before
    killed = document(f'runs/{run}.json')['fault']['killedSeconds'] * 1e6
    chosen = [(start, latency, ok) for ok in (True, False) for start, latency in select(run, ok=ok)]
    rows = [(start, (start + latency - killed) / 1e6, ok) for start, latency, ok in chosen]
    rate = sum(ok and end < 0 for _, end, ok in rows) / ((killed - min(start for start, _, _ in rows)) / 1e6)
    later = [(end, ok) for _, end, ok in rows if end >= 0]
    ends, last = sorted(end for end, ok in later if ok), max(end for _, end, _ in rows)
    slow = [sum(second <= end < second + 1 for end in ends) < 0.9 * rate for second in range(int(last))]
    failed = sum(not ok for _, ok in later)
    return {
        'rate': lambda: rate,
        'recovery': lambda: slow.index(False, slow.index(True)) if any(slow) else 0,
        'slow': lambda: sum(slow),
        'pause': lambda: max(b - a for a, b in pairwise([0, *ends, last])),
        'failed': lambda: failed,
        'share': lambda: 100 * failed / len(later),
    }[what]()

def cell(file, row, column):
    with (ROOT / file).open(encoding='utf-8', newline='') as lines:
        return float(list(csv.DictReader(lines))[row][column])

def journal():
    return [json.loads(line) for line in (ROOT / 'journal.jsonl').read_bytes().split(b'\n')[:-1]]

def planned():  # runs of the plan, without deployments that nothing undecided needed
    skipped = {entry['deployment'] for entry in journal() if entry['event'] == 'deployment-skipped'}
    wanted = [deployment for deployment in document('plan.json')['deployments'] if deployment['id'] not in skipped]
    return sum(one['trials'] * len(one['drivers']) for deployment in wanted for one in deployment['series'])

def deployment_seconds():
    return fsum(entry['seconds'] for entry in journal() if entry['event'] == 'deployment-ended')

# --- the evaluator ---------------------------------------------------------------------------------------------------

FORMULAS = {
    formula.__name__: formula
    for formula in (
        runtime, histogram, timeline, field, write_amplification, failure, cell, planned, deployment_seconds,
        mean, quartile, lag_one, effective_size, mser, geometric_mean, mean_of_units, mean_difference, prior, log_ratio,
        ratio, ratio_p, further_units, log_of_limit, mean_exponent, exponent, prior_of_exponents, pooled,
        pooled_blocks, paired_median, holm,
    )
} | {
    'throughput': lambda run: count([run]) / runtime(run),
    'operations': lambda runs, operation, ok: count(runs, operation, ok),
    'latency_mean': lambda runs, operation: fmean(latencies(runs, operation, False)),
    'latency_sd': lambda runs, operation: sqrt(variance(latencies(runs, operation, False))),
    'latency_minimum': lambda runs, operation: min(latencies(runs, operation, False)),
    'latency_maximum': lambda runs, operation: max(latencies(runs, operation, False)),
    'latency_quantile': lambda runs, operation, at, size=1, **bound: (
        order_statistic(latencies(runs, operation, True), at, size, **bound)
    ),
    'latency_effective_size': lambda runs, operation: effective_size(latencies(runs, operation, False)),
    'field_over': field,
    'field_per': field,
    'node_share': lambda run, key, roles, of_roles: nodes_sum(run, key, roles) / nodes_sum(run, key, of_roles),
    'count': lambda of: len(of),
    'sum': lambda of: fsum(of),
    'difference': lambda first, second: first - second,
    'percent_of': lambda first, second, **bound: 100 * math.exp(unpaired(first, second, **bound)),
    'scaled_ratio': lambda first, second, scale: first / (second * scale),
    'scaled_distance': lambda first, second, scale: abs(first - second * scale),
    'median': lambda of, **bound: order_statistic(sorted(of), 0.5, len(of), **bound) if bound else median(of),
    'sd': lambda of: sqrt(variance(of)),
    'minimum': lambda of: min(of),
    'maximum': lambda of: max(of),
}

def resolve(value):  # replace the names of numbers and of sets by what they name
    if isinstance(value, list):
        return [resolve(member) for member in value]
    if isinstance(value, str):
        return tuple(map(resolve, SETS[value])) if value in SETS else VALUES.get(value, value)
    return value

def evaluate(formula, inputs):
    given = {key: resolve(value) for key, value in inputs.items()}
    for ending, side in (('_low', -1), ('_high', 1)):
        if formula.endswith(ending):
            return FORMULAS[formula.removesuffix(ending)](side=side, **given)
    return FORMULAS[formula](**given)

def agree(entry, found):
    expected, found = (value if isinstance(value, list) else [value] for value in (entry['value'], found))
    # A difference of nearly equal numbers has only the digits that they leave.
    scale = max(map(abs, map(resolve, entry['inputs'].values()))) if entry['formula'] in DISTANCES else 1
    return len(expected) == len(found) and all(
        a == b or None not in (a, b) and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-11 * max(1, scale))
        for a, b in zip(expected, found)
    )

def numbers_in(value):  # of analysis.json
    if isinstance(value, dict) and value.get('id') in VALUES:
        yield value['id'], value.get('value', value.get('values'))
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from numbers_in(inner)

def differences(report, analysis):
    for file, sha256 in report['files'].items():
        if not (ROOT / file).is_file() or hashlib.sha256((ROOT / file).read_bytes()).hexdigest() != sha256:
            yield f'{file}: missing, or changed since the report was made'
    entries = {entry['id']: entry for entry in report['numbers']}
    for name, entry in entries.items():
        try:
            VALUES[name] = found = evaluate(entry['formula'], entry['inputs'])
            if not agree(entry, found):
                yield f'{name}: {entry["formula"]} gives {found}, and the report has {entry["value"]}'
        except (ArithmeticError, LookupError, OSError, TypeError, ValueError) as error:
            yield f'{name}: {entry["formula"]} fails: {type(error).__name__}: {error}'
    for name, value in numbers_in(analysis):
        if value != entries[name]['value']:
            yield f'analysis.json: {name} is {value}, and numbers.json has {entries[name]["value"]}'
    for what, has, found in conclusions(analysis, entries):
        if has != found:
            yield f'analysis.json: {what}: the numbers give {found}, and the report has {has}'

def main():
    global ROOT
    if len(sys.argv) != 2:
        sys.stderr.write('Usage: python3 recompute.py RESULTS\n')
        return 2
    ROOT = Path(sys.argv[1])
    if not (ROOT / 'report' / 'numbers.json').is_file():
        sys.stderr.write(f'{ROOT}: there is no report/numbers.json: npm run study -- report {ROOT} writes it\n')
        return 2
    report, analysis = (document(f'report/{name}.json') for name in ('numbers', 'analysis'))
    SETS.update(report['sets'])
    wrong = list(differences(report, analysis))
    sys.stdout.write(''.join(f'{line}\n' for line in wrong))
    sys.stdout.write(f'{len(report["numbers"])} numbers recomputed, {len(wrong)} differences\n')
    return 1 if wrong else 0

if __name__ == '__main__':
    sys.exit(main())
