"""Rebuild every number of a report from the raw archive, with Python's standard library only.

Usage: python3 recompute.py RESULTS      RESULTS is the directory that has runs/, loads/ and report/.

report/numbers.json names the formula of each number, and its inputs: rows of runs/*.csv.gz, fields of JSON files, or
other numbers. Latencies are in ms. Exit codes: 0 all agree; 1 a number or a file differs; 2 bad usage.
"""

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
from pathlib import Path
from statistics import NormalDist, fmean, median

NORMAL = NormalDist()
INTEGRALS = ('tukey', 'games_howell', 'omega', 'minimum_detectable', 'shapiro')  # numeric: 6 digits, others 9

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
        before = h
        for top in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d, c = 1 / (1 + top * d), 1 + top / c
            h *= c * d
        if abs(h - before) < 1e-16 * abs(h):
            break
    return front * h


def solve(f, low, high):  # f increases: where is it zero?
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if f(middle) < 0 else (low, middle)
    return (low + high) / 2


def f_sf(f, a, b):
    return beta(b / 2, a / 2, b / (b + a * f))


def t_sf(t, df):
    tail = beta(df / 2, 0.5, df / (df + t * t)) / 2
    return tail if t >= 0 else 1 - tail


@lru_cache(maxsize=10_000)
def t_quantile(p, df):
    if p < 0.5:
        return -t_quantile(1 - p, df)
    high = 1.0
    while t_sf(high, df) > 1 - p:
        high *= 2
    return solve(lambda t: (1 - p) - t_sf(t, df), 0.0, high)


def chi2_sf(x, df):  # regularised upper incomplete gamma function, by the series of the lower one or the fraction
    a, x = df / 2, x / 2
    if x <= 0:
        return 1.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        for n in range(1, 10_000):
            term *= x / (a + n)
            total += term
        return 1 - front * total
    b, c, d = x + 1 - a, 1e300, 1 / (x + 1 - a)
    h = d
    for n in range(1, 10_000):
        b += 2
        d, c = 1 / (n * (a - n) * d + b), b + n * (a - n) / c
        h *= c * d
    return front * h


def binomial_quantile(p, n, at):  # smallest k with P(X <= k) >= p
    low, high = -1, n
    while high - low > 1:
        k = (low + high) // 2
        low, high = (low, k) if k == n or 1 - beta(k + 1, n - k, at) >= p else (k, high)
    return high


@lru_cache(maxsize=1)
def nodes():  # Gauss-Legendre nodes and weights on [-1, 1]
    n, found = 96, []
    for i in range(n):
        x = math.cos(math.pi * (i + 0.75) / (n + 0.5))
        for _ in range(100):
            p, q = 1.0, 0.0
            for j in range(n):
                p, q = ((2 * j + 1) * x * p - j * q) / (j + 1), p
            slope = n * (x * p - q) / (x * x - 1)
            x -= p / slope
        found.append((x, 2 / ((1 - x * x) * slope * slope)))
    return found


def integral(f, low, high):
    half, middle = (high - low) / 2, (high + low) / 2
    return half * math.fsum(weight * f(middle + half * x) for x, weight in nodes())


def over_s(f, df):  # expectation of f(s), where df * s^2 has the chi-squared distribution
    scale = math.log(2) + df / 2 * math.log(df / 2) - math.lgamma(df / 2)
    reach = 9 / math.sqrt(2 * df)
    return integral(
        lambda s: f(s) * math.exp(scale + (df - 1) * math.log(s) - df * s * s / 2), max(0.0, 1 - reach), 1 + reach
    )


@lru_cache(maxsize=10_000)
def range_sf(q, k, df):  # studentized range
    def within(w):
        return k * integral(
            lambda z: (
                math.exp(-z * z / 2)
                / 2.5066282746310002
                * max(0.0, (math.erf(z / 1.4142135623730951) - math.erf((z - w) / 1.4142135623730951)) / 2) ** (k - 1)
            ),
            -8.0,
            8.0,
        )

    return 1 - over_s(lambda s: within(q * s), df)


@lru_cache(maxsize=10_000)
def range_quantile(p, k, df):  # by secants
    one, two = 3.0, 4.0
    f_one, f_two = 1 - p - range_sf(one, k, df), 1 - p - range_sf(two, k, df)
    for _ in range(50):
        if abs(two - one) < 1e-10 * two or f_one == f_two:
            break
        one, two, f_one = two, max(1e-3, two - f_two * (two - one) / (f_two - f_one)), f_two
        f_two = 1 - p - range_sf(two, k, df)
    return two


def noncentral_f_cdf(f, a, b, shift):
    x, centre = a * f / (a * f + b), int(shift / 2)
    spread = 12 * int(math.sqrt(shift / 2 + 1)) + 40
    return (
        math.fsum(
            math.exp(j * math.log(shift / 2) - shift / 2 - math.lgamma(j + 1)) * beta(a / 2 + j, b / 2, x)
            for j in range(max(0, centre - spread), centre + spread)
        )
        if shift > 0
        else 1 - f_sf(f, a, b)
    )


# --- samples ---------------------------------------------------------------------------------------------------------


def variance(x):
    centre = fmean(x)
    return math.fsum((v - centre) ** 2 for v in x) / (len(x) - 1)


def mean_bound(x, confidence, side):
    return fmean(x) + side * t_quantile((1 + confidence) / 2, len(x) - 1) * math.sqrt(variance(x) / len(x))


def ranks_around(n, size, at, confidence):  # ranks of the bounds of a quantile, for n observations that count as `size`
    tail, count, rank = (1 - confidence) / 2, round(size), math.ceil(n * at)
    return (
        min(rank, math.floor(binomial_quantile(tail, count, at) * (n / count))),
        max(rank, math.ceil((binomial_quantile(1 - tail, count, at) + 1) * (n / count))),
    )


def welch_error(x, y, scale=1.0):  # standard error of mean(x) - scale * mean(y), and its degrees of freedom
    a, b = variance(x) / len(x), scale * scale * variance(y) / len(y)
    return math.sqrt(a + b), (a + b) ** 2 / (a * a / (len(x) - 1) + b * b / (len(y) - 1))


def welch_bound(x, y, confidence, side):
    error, df = welch_error(x, y)
    return fmean(x) - fmean(y) + side * t_quantile((1 + confidence) / 2, df) * error


def fieller(x, y, confidence, side):
    b, ratio = fmean(y), fmean(x) / fmean(y)
    t = t_quantile((1 + confidence) / 2, welch_error(x, y, ratio)[1])
    g = t * t * variance(y) / len(y) / b**2
    root = t / abs(b) * math.sqrt((1 - g) * variance(x) / len(x) + ratio**2 * variance(y) / len(y))
    return (ratio + side * root) / (1 - g)


def pooled(x, y):
    return math.sqrt(((len(x) - 1) * variance(x) + (len(y) - 1) * variance(y)) / (len(x) + len(y) - 2))


def hedges(x, y):
    df = len(x) + len(y) - 2
    unbiased = math.exp(math.lgamma(df / 2) - math.lgamma((df - 1) / 2)) / math.sqrt(df / 2)
    return unbiased * (fmean(x) - fmean(y)) / pooled(x, y)


def detectable(x, y, alpha, power):
    df, critical = len(x) + len(y) - 2, t_quantile(1 - alpha / 2, len(x) + len(y) - 2)
    unit = math.sqrt(1 / len(x) + 1 / len(y))
    reached = solve(
        lambda shift: (
            over_s(lambda s: NORMAL.cdf(shift - critical * s) + NORMAL.cdf(-critical * s - shift), df) - power
        ),
        0.0,
        2 * critical + 10,
    )
    return reached * unit * pooled(x, y)


def further_runs(x, y, margin, alpha, power, comparisons):
    def runs(distance, one, other):
        def enough(n):
            return (t_quantile(1 - one, 2 * n - 2) + t_quantile(1 - other, 2 * n - 2)) * math.sqrt(both / n) <= distance

        high = 2
        while distance > 0 and not enough(high):
            high *= 2
            if high > 4_000_000:
                return math.inf
        low = high // 2
        while low < high:
            n = (low + high) // 2
            low, high = (low, n) if n >= 2 and enough(n) else (n + 1, high)
        return low if distance > 0 else math.inf

    both, distance = variance(x) + variance(y), abs(fmean(x) - fmean(y))
    beta_two = (1 - power) / 2 if distance == 0 else 1 - power
    needed = min(
        runs(distance, alpha / comparisons / 2, 1 - power), runs(margin * abs(fmean(y)) - distance, alpha, beta_two)
    )
    return max(1, needed - min(len(x), len(y)))


def one_way(groups):  # F, degrees of freedom, mean square of the error
    everything = list(chain(*groups))
    centre, a, b = fmean(everything), len(groups) - 1, len(everything) - len(groups)
    between = math.fsum(len(g) * (fmean(g) - centre) ** 2 for g in groups)
    error = math.fsum((len(g) - 1) * variance(g) for g in groups) / b
    return between / a / error if error else math.inf, a, b, error


def welch_anova(groups):
    k, w = len(groups), [len(g) / variance(g) for g in groups]
    centre = math.fsum(a * fmean(g) for a, g in zip(w, groups)) / sum(w)
    spread = math.fsum((1 - a / sum(w)) ** 2 / (len(g) - 1) for a, g in zip(w, groups))
    top = math.fsum(a * (fmean(g) - centre) ** 2 for a, g in zip(w, groups)) / (k - 1)
    return top / (1 + 2 * (k - 2) / (k * k - 1) * spread), k - 1, (k * k - 1) / (3 * spread)


def rank_sums(groups):  # mean rank of each group, sum of ties^3 - ties, number
    ordered = sorted(chain(*groups))
    n, ties, rank, i = len(ordered), 0, {}, 0
    while i < n:
        j = bisect_right(ordered, ordered[i])
        rank[ordered[i]] = (i + 1 + j) / 2
        ties, i = ties + (j - i) ** 3 - (j - i), j
    return [fmean(rank[v] for v in g) for g in groups], ties, n


def tie_correction(groups):
    _, ties, n = rank_sums(groups)
    return 1 - ties / (n**3 - n)


def kruskal(groups):
    means, _, n = rank_sums(groups)
    total = math.fsum(len(g) * (m - (n + 1) / 2) ** 2 for g, m in zip(groups, means))
    return 12 / (n * (n + 1)) * total / tie_correction(groups)


def dunn(groups):  # p values of all pairs, adjusted by Holm
    means, ties, n = rank_sums(groups)
    spread = n * (n + 1) / 12 - ties / (12 * (n - 1))
    pairs = [(i, j) for i in range(len(groups)) for j in range(i + 1, len(groups))]
    return dict(
        zip(
            pairs,
            holm(
                [
                    math.erfc(
                        abs(means[i] - means[j]) / math.sqrt(2 * spread * (1 / len(groups[i]) + 1 / len(groups[j])))
                    )
                    for i, j in pairs
                ]
            ),
        )
    )


def holm(p):
    order, found, most = sorted(range(len(p)), key=p.__getitem__), [0.0] * len(p), 0.0
    for place, i in enumerate(order):
        most = found[i] = max(most, min(1.0, p[i] * (len(p) - place)))
    return found


def pair(groups, i, j, equal):  # difference, its error for the studentized range, degrees of freedom
    x, y = groups[i], groups[j]
    if equal:
        _, _, df, error = one_way(groups)
        return fmean(x) - fmean(y), math.sqrt(error / 2 * (1 / len(x) + 1 / len(y))), df
    error, df = welch_error(x, y)
    return fmean(x) - fmean(y), error / math.sqrt(2), df


def simultaneous(groups, i, j, equal, confidence, what):
    value, error, df = pair(groups, i, j, equal)
    if what == 'p':
        return range_sf(abs(value) / error, len(groups), df)
    return value + {'low': -1, 'value': 0, 'high': 1}[what] * range_quantile(confidence, len(groups), df) * error


def omega(groups, welch, confidence, what):
    f, a, b = welch_anova(groups) if welch else one_way(groups)[:3]
    if what != 'value':
        tail = (1 - confidence) / 2 if what == 'high' else (1 + confidence) / 2
        f = (
            0.0
            if noncentral_f_cdf(f, a, b, 0) < tail
            else solve(lambda shift: tail - noncentral_f_cdf(f, a, b, shift), 0.0, 20 * (f * a + a + 10)) / a
        )
    found = (f * a / b - a / b) / (f * a / b + 1 + 1 / b)
    return found if what == 'value' else max(0.0, found)


def shapiro(x):  # Royston 1995, algorithm AS R94
    x, n = sorted(x), len(x)
    m = [NORMAL.inv_cdf((i + 0.625) / (n + 0.25)) for i in range(n)]
    squares, u = math.fsum(v * v for v in m), 1 / math.sqrt(n)
    last = m[-1] / math.sqrt(squares) + u * (
        0.221157 + u * (-0.147981 + u * (-2.07119 + u * (4.434685 - 2.706056 * u)))
    )
    if n == 3:
        a = [-math.sqrt(0.5), 0.0, math.sqrt(0.5)]
    elif n <= 5:
        scale = math.sqrt((squares - 2 * m[-1] ** 2) / (1 - 2 * last**2))
        a = [-last, *(v / scale for v in m[1:-1]), last]
    else:
        next_last = m[-2] / math.sqrt(squares) + u * (
            0.042981 + u * (-0.293762 + u * (-1.752461 + u * (5.682633 - 3.582633 * u)))
        )
        scale = math.sqrt((squares - 2 * m[-1] ** 2 - 2 * m[-2] ** 2) / (1 - 2 * last**2 - 2 * next_last**2))
        a = [-last, -next_last, *(v / scale for v in m[2:-2]), next_last, last]
    w = math.fsum(c * v for c, v in zip(a, x)) ** 2 / ((n - 1) * variance(x))
    if n == 3:
        return max(0.0, 6 / math.pi * (math.asin(math.sqrt(w)) - math.asin(math.sqrt(0.75))))
    y, log_n = math.log(1 - w), math.log(n)
    if n <= 11:
        y = -math.log(-2.273 + 0.459 * n - y)
        mu = 0.544 + n * (-0.39978 + n * (0.025054 - 6.714e-4 * n))
        sigma = math.exp(1.3822 + n * (-0.77857 + n * (0.062767 - 0.0020322 * n)))
    else:
        mu = -1.5861 + log_n * (-0.31082 + log_n * (-0.083751 + 0.0038915 * log_n))
        sigma = math.exp(-0.4803 + log_n * (-0.082676 + 0.0030302 * log_n))
    return math.erfc((y - mu) / sigma / math.sqrt(2)) / 2


def residuals(groups):
    return [v - fmean(g) for g in groups for v in g]


def skewness(x):
    centre = fmean(x)
    return fmean((v - centre) ** 3 for v in x) / fmean((v - centre) ** 2 for v in x) ** 1.5


def levene(groups):
    f, a, b, _ = one_way([[abs(v - median(g)) for v in g] for g in groups])
    return f_sf(f, a, b)


def lag_one(x):
    c = [v - fmean(x) for v in x]
    return math.fsum(one * two for one, two in pairwise(c)) / math.fsum(v * v for v in c)


def effective_size(x):
    whole, time, length, means = variance(x), 1.0, 1, x
    if whole == 0:
        return float(len(x))
    while len(means) >= 8:
        means = [(means[i] + means[i + 1]) / 2 for i in range(0, len(means) - 1, 2)]
        length *= 2
        time = max(time, length * variance(means) / whole)
        if time <= 0.2 * length:
            break
    return len(x) / time


def mser(x, batch):
    means = [fmean(x[i : i + batch]) for i in range(0, len(x) - batch + 1, batch)]
    cuts = [
        math.fsum((v - fmean(means[i:])) ** 2 for v in means[i:]) / (len(means) - i) ** 2
        for i in range(max(1, len(means) - 4))
    ]
    return cuts.index(min(cuts)) * batch


def split_plot(cells, term, what):  # cells: block, hard, easy -> value, complete and with one value each
    names = [sorted({key[i] for key in cells}) for i in range(3)]
    (b, h, e), grand = map(len, names), fmean(cells.values())

    def squares(*over):  # sum of squares of the marginal means over these factors
        table = {}
        for key, value in cells.items():
            table.setdefault(tuple(key[i] for i in over), []).append(value)
        return math.fsum(len(v) * (fmean(v) - grand) ** 2 for v in table.values())

    block, hard, easy, plots = squares(0), squares(1), squares(2), squares(0, 1)
    both = squares(1, 2) - hard - easy
    rows = {
        'block': (block, b - 1),
        'hard': (hard, h - 1),
        'between': (plots - block - hard, (b - 1) * (h - 1)),
        'easy': (easy, e - 1),
        'hard:easy': (both, (h - 1) * (e - 1)),
        'within': (squares(0, 1, 2) - plots - easy - both, h * (b - 1) * (e - 1)),
    }
    sum_of_squares, df = rows[term]
    error, error_df = rows['between' if term in ('block', 'hard') else 'within']
    return {
        'df': df,
        'ss': sum_of_squares,
        'ms': sum_of_squares / df,
        'f': sum_of_squares / df / (error / error_df) if error > 0 else math.inf,
        'p': f_sf(sum_of_squares / df / (error / error_df), df, error_df) if error > 0 else 0.0,
    }[what]


# --- the archive -----------------------------------------------------------------------------------------------------

ROOT, SETS, VALUES = Path(), {}, {}


@lru_cache(maxsize=64)
def document(file):
    return json.loads((ROOT / file).read_bytes())


@lru_cache(maxsize=40)
def operations(run):  # (operation, succeeded) -> starts, latencies in microseconds, parts of a read-modify-write
    found = {}
    with gzip.open(ROOT / 'runs' / f'{run}.csv.gz', 'rt', encoding='utf-8', newline='') as lines:
        for start, operation, latency, status, _, part in list(csv.reader(lines))[1:]:
            columns = found.setdefault((operation, status == 'OK'), (array('q'), array('q'), array('b')))
            for column, value in zip(columns, (start, latency, part)):
                column.append(int(value))
    return found


def select(run, operation=None, ok=True, parts=True):  # of all types: without parts, which are no operations
    for (name, good), (starts, column, part) in operations(run).items():
        if operation in (None, name) and good == ok:
            if (parts and operation is not None) or not any(part):
                yield starts, column
            else:
                kept = [i for i, inside in enumerate(part) if not inside]
                yield [starts[i] for i in kept], [column[i] for i in kept]


@lru_cache(maxsize=2)
def latencies(runs, operation, ordered):  # ms, of successful operations, run after run or from small to large
    found = array('d', (v / 1000 for run in SETS[runs] for _, column in select(run, operation) for v in column))
    return array('d', sorted(found)) if ordered else found


def quantile_bound(runs, operation, at, confidence, size, side):
    x = latencies(runs, operation, True)
    return x[ranks_around(len(x), VALUES[size], at, confidence)[side] - 1]


def duration(run):
    both = [columns for ok in (True, False) for columns in select(run, None, ok)]
    first = min(start for starts, _ in both for start in starts)
    return (max(start + latency for starts, column in both for start, latency in zip(starts, column)) - first) / 1e6


def histogram(runs, operation, edges):
    counts = [0] * (len(edges) - 1)
    for v in latencies(runs, operation, True):
        counts[bisect_right(edges, v) - 1] += 1
    return counts


def timeline(runs, operation, width, bins, what):
    cells = [[] for _ in range(bins)]
    for run in SETS[runs]:
        for starts, column in select(run, operation):
            for start, latency in zip(starts, column):
                if 0 <= start < width * 1e6 * bins:
                    cells[int(start / (width * 1e6))].append(latency / 1000)
    if what == 'throughput':
        lasting = [sum(duration(run) >= (i + 1) * width for run in SETS[runs]) for i in range(bins)]
        return [len(cell) / width / n if n else None for cell, n in zip(cells, lasting)]
    return [None if not c else fmean(c) if what == 'mean' else sorted(c)[math.ceil(len(c) * 0.99) - 1] for c in cells]


def field(file, path):
    value = document(file)
    for key in path:
        value = value[key]
    return value


def nodes_sum(run, key, roles):
    return math.fsum(node[key] for node in document(f'runs/{run}.json')['nodes'] if node['role'] in roles)


def count(run, operation=None, ok=True, parts=True):
    return sum(len(column) for _, column in select(run, operation, ok, parts))


def written(run, by_operation):  # bytes of values that the successful operations of a run wrote
    return sum(count(run, operation, parts=False) * size for operation, size in by_operation.items())


def cell(file, row, column):
    with (ROOT / file).open(encoding='utf-8', newline='') as lines:
        return float(list(csv.DictReader(lines))[row][column])


def geometric(x, y, confidence, side):
    logs = [math.log(a / b) for a, b in zip(x, y)]
    return math.exp(mean_bound(logs, confidence, side) if side else fmean(logs))


def of(i, key='of'):
    return [VALUES[name] for name in SETS[i[key]]]


def gs(i):
    return [[VALUES[name] for name in SETS[key]] for key in i['groups']]


FORMULAS = {
    # of operations
    'throughput': lambda i: count(i['run']) / duration(i['run']),
    'runtime': lambda i: duration(i['run']),
    'operations': lambda i: sum(count(run, i['operation'], i['ok']) for run in SETS[i['runs']]),
    'latency_mean': lambda i: fmean(latencies(i['runs'], i['operation'], False)),
    'latency_sd': lambda i: math.sqrt(variance(latencies(i['runs'], i['operation'], False))),
    'latency_minimum': lambda i: latencies(i['runs'], i['operation'], True)[0],
    'latency_maximum': lambda i: latencies(i['runs'], i['operation'], True)[-1],
    'latency_quantile': lambda i: (x := latencies(i['runs'], i['operation'], True))[math.ceil(len(x) * i['at']) - 1],
    'latency_quantile_low': lambda i: quantile_bound(i['runs'], i['operation'], i['at'], i['confidence'], i['size'], 0),
    'latency_quantile_high': lambda i: quantile_bound(
        i['runs'], i['operation'], i['at'], i['confidence'], i['size'], 1
    ),
    'latency_effective_size': lambda i: effective_size(latencies(i['runs'], i['operation'], False)),
    'histogram': lambda i: histogram(i['runs'], i['operation'], i['edges']),
    'timeline': lambda i: timeline(i['runs'], i['operation'], i['width'], i['bins'], i['what']),
    # of documents
    'field': lambda i: field(i['file'], i['path']),
    'field_over': lambda i: field(i['file'], i['path']) / field(i['file'], i['over']),
    'field_per': lambda i: field(i['file'], i['path']) / i['per'],
    'node_share': lambda i: nodes_sum(i['run'], i['key'], i['roles']) / nodes_sum(i['run'], i['key'], i['of_roles']),
    'write_amplification': lambda i: nodes_sum(i['run'], 'writtenBytes', ['store']) / written(i['run'], i['bytes']),
    'cell': lambda i: cell(i['file'], i['row'], i['column']),
    'count': lambda i: len(SETS[i['of']]),
    'planned': lambda _: sum(
        series['trials'] * len(series['drivers'])
        for deployment in document('plan.json')['deployments']
        for series in deployment['series']
    ),
    'deployment_seconds': lambda _: math.fsum(
        entry['seconds']
        for entry in map(json.loads, (ROOT / 'journal.jsonl').read_bytes().split(b'\n')[:-1])
        if entry['event'] == 'deployment-ended'
    ),
    # of numbers
    'sum': lambda i: math.fsum(of(i)),
    'difference': lambda i: VALUES[i['first']] - VALUES[i['second']],
    'ratio': lambda i: VALUES[i['first']] / VALUES[i['second']],
    'scaled_ratio': lambda i: VALUES[i['first']] / (VALUES[i['second']] * i['scale']),
    'mean': lambda i: fmean(of(i)),
    'mean_low': lambda i: mean_bound(of(i), i['confidence'], -1),
    'mean_high': lambda i: mean_bound(of(i), i['confidence'], 1),
    'mean_p': lambda i: 2 * t_sf(abs(fmean(of(i))) / math.sqrt(variance(of(i)) / len(of(i))), len(of(i)) - 1),
    'median': lambda i: median(of(i)),
    'median_low': lambda i: sorted(of(i))[ranks_around(len(of(i)), len(of(i)), 0.5, i['confidence'])[0] - 1],
    'median_high': lambda i: sorted(of(i))[ranks_around(len(of(i)), len(of(i)), 0.5, i['confidence'])[1] - 1],
    'sd': lambda i: math.sqrt(variance(of(i))),
    'minimum': lambda i: min(of(i)),
    'maximum': lambda i: max(of(i)),
    'quartile': lambda i: (lambda x, at: x[int(at)] + (at % 1) * (x[min(int(at) + 1, len(x) - 1)] - x[int(at)]))(
        sorted(of(i)), i['at'] * (len(of(i)) - 1)
    ),
    'lag_one': lambda i: lag_one(of(i)),
    'effective_size': lambda i: effective_size(of(i)),
    'mser': lambda i: mser(of(i), i['batch']),
    # of two samples
    'mean_difference': lambda i: fmean(of(i, 'first')) - fmean(of(i, 'second')),
    'mean_difference_low': lambda i: welch_bound(of(i, 'first'), of(i, 'second'), i['confidence'], -1),
    'mean_difference_high': lambda i: welch_bound(of(i, 'first'), of(i, 'second'), i['confidence'], 1),
    'ratio_of_means': lambda i: fmean(of(i, 'first')) / fmean(of(i, 'second')),
    'ratio_of_means_low': lambda i: fieller(of(i, 'first'), of(i, 'second'), i['confidence'], -1),
    'ratio_of_means_high': lambda i: fieller(of(i, 'first'), of(i, 'second'), i['confidence'], 1),
    'geometric_ratio': lambda i: geometric(of(i, 'first'), of(i, 'second'), 0, 0),
    'geometric_ratio_low': lambda i: geometric(of(i, 'first'), of(i, 'second'), i['confidence'], -1),
    'geometric_ratio_high': lambda i: geometric(of(i, 'first'), of(i, 'second'), i['confidence'], 1),
    'hedges_g': lambda i: hedges(of(i, 'first'), of(i, 'second')),
    'margin': lambda i: i['share'] * abs(fmean(of(i, 'second'))),
    'minimum_detectable': lambda i: detectable(of(i, 'first'), of(i, 'second'), i['alpha'], i['power']),
    'further_runs': lambda i: further_runs(
        of(i, 'first'), of(i, 'second'), i['margin'], i['alpha'], i['power'], i['comparisons']
    ),
    # of all groups of a family
    'anova_f': lambda i: one_way(gs(i))[0],
    'anova_df': lambda i: one_way(gs(i))[i['which']],
    'anova_p': lambda i: f_sf(*one_way(gs(i))[:3]),
    'welch_f': lambda i: welch_anova(gs(i))[0],
    'welch_df': lambda i: welch_anova(gs(i))[i['which']],
    'welch_p': lambda i: f_sf(*welch_anova(gs(i))),
    'kruskal_h': lambda i: kruskal(gs(i)),
    'kruskal_df': lambda i: len(i['groups']) - 1,
    'kruskal_p': lambda i: chi2_sf(kruskal(gs(i)), len(i['groups']) - 1),
    'omega_squared': lambda i: omega(gs(i), i['welch'], i['confidence'], i['what']),
    'shapiro_p': lambda i: shapiro(residuals(gs(i))),
    'levene_p': lambda i: levene(gs(i)),
    'tie_correction': lambda i: tie_correction(gs(i)),
    'skewness': lambda i: skewness(residuals(gs(i))),
    'tukey': lambda i: simultaneous(gs(i), i['first'], i['second'], True, i['confidence'], i['what']),
    'games_howell': lambda i: simultaneous(gs(i), i['first'], i['second'], False, i['confidence'], i['what']),
    'dunn_p': lambda i: dunn(gs(i))[i['first'], i['second']],
    'holm': lambda i: holm(of(i))[i['index']],
    'split_plot': lambda i: split_plot({tuple(c[:3]): VALUES[c[3]] for c in i['cells']}, i['term'], i['what']),
}


def differs(entry, found):
    expected = entry['value'] if isinstance(entry['value'], list) else [entry['value']]
    found = found if isinstance(found, list) else [found]
    integral_used = entry['formula'].startswith(INTEGRALS)
    # A difference of nearly equal numbers has only the digits that they leave.
    scale = max(
        (
            abs(VALUES[entry['inputs'][k]])
            for k in ('first', 'second')
            if isinstance(VALUES.get(entry['inputs'].get(k)), (int, float))
        ),
        default=0.0,
    )
    return len(expected) != len(found) or any(
        (a is None) != (b is None)
        or a is not None
        and not math.isclose(
            a, b, rel_tol=1e-6 if integral_used else 1e-9, abs_tol=1e-8 if integral_used else 1e-12 * max(1, scale)
        )
        for a, b in zip(expected, found)
    )


def main():
    global ROOT
    if len(sys.argv) != 2:
        sys.stderr.write('Usage: python3 recompute.py RESULTS\n')
        return 2
    ROOT = Path(sys.argv[1])
    report = json.loads((ROOT / 'report' / 'numbers.json').read_bytes())
    SETS.update(report['sets'])
    wrong = []
    for file, sha256 in report['files'].items():
        if not (ROOT / file).is_file() or hashlib.sha256((ROOT / file).read_bytes()).hexdigest() != sha256:
            wrong.append(f'{file}: missing, or changed since the report was made')
    for entry in report['numbers']:
        try:
            VALUES[entry['id']] = found = FORMULAS[entry['formula']](entry['inputs'])
            if differs(entry, found):
                wrong.append(f'{entry["id"]}: {entry["formula"]} gives {found}, and the report has {entry["value"]}')
        except (ArithmeticError, LookupError, OSError, TypeError, ValueError) as error:
            wrong.append(f'{entry["id"]}: {entry["formula"]} fails: {type(error).__name__}: {error}')
    sys.stdout.write(''.join(f'{line}\n' for line in wrong))
    sys.stdout.write(f'{len(report["numbers"])} numbers recomputed, {len(wrong)} differences\n')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
