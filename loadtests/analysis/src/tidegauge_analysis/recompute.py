"""Rebuild every number of a report from the raw archive, with Python's standard library only.

Usage: python3 recompute.py RESULTS      RESULTS is the directory that has runs/, loads/ and report/.

report/numbers.json has a formula and inputs for each number: rows of runs/*.csv.gz, fields of JSON files, or other
numbers. This program evaluates them in order with the table FORMULAS at its end. From the recomputed numbers it also
derives what report/analysis.json concludes: methods, letters and verdicts. Latencies are in ms.
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
from itertools import chain, combinations, pairwise
from math import fsum, sqrt
from pathlib import Path
from statistics import NormalDist, fmean, median
from string import ascii_letters

NORMAL = NormalDist()
DISTANCES = ('difference', 'scaled_distance')
INTEGRALS = ('tukey', 'games_howell', 'omega_squared', 'minimum_detectable', 'shapiro_p')  # 6 digits agree, else 9
ANOVA, WELCH = 'ANOVA with Tukey-Kramer', "Welch's ANOVA with Games-Howell"
RANKS = 'Kruskal-Wallis with Dunn, adjusted by Holm'

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

def f_sf(f, a, b): return beta(b / 2, a / 2, b / (b + a * f))

def t_sf(t, df):
    tail = beta(df / 2, 0.5, df / (df + t * t)) / 2
    return tail if t >= 0 else 1 - tail

@lru_cache(maxsize=10_000)
def t_quantile(p, df):
    return root(lambda t: (1 - p) - t_sf(t, df)) if p > 0.5 else -t_quantile(1 - p, df) if p < 0.5 else 0.0

def chi2_sf(x, df):  # for whole df: from that of 1 or 2 degrees, two degrees at a time
    tail, a, x = (math.erfc(sqrt(x / 2)), 0.5, x / 2) if df % 2 else (math.exp(-x / 2), 1.0, x / 2)
    while x > 0 and a < df / 2:
        tail, a = tail + math.exp(a * math.log(x) - x - math.lgamma(a + 1)), a + 1
    return tail

def binomial_quantile(p, n, at):  # smallest k with P(X <= k) >= p
    low, high = -1, n
    while high - low > 1:
        k = (low + high) // 2
        low, high = (low, k) if k == n or 1 - beta(k + 1, n - k, at) >= p else (k, high)
    return high

def over_s(f, df):  # mean of f(s) where df * s^2 has the chi-squared distribution; trapezoidal rule over log s
    scale, reach = math.log(2) + df / 2 * math.log(df / 2) - math.lgamma(df / 2), 9 / sqrt(2 * df)
    low, high = -28 / df - reach, math.log1p(reach)
    points = [low + (high - low) * i / 160 for i in range(161)]
    weights = [math.exp(scale + df * u - df * math.exp(2 * u) / 2) for u in points]
    return (high - low) / 160 * fsum(w * f(math.exp(u)) for u, w in zip(points, weights) if w > 1e-18)

NODES = [(i / 4, NORMAL.pdf(i / 4) / 4, NORMAL.cdf(i / 4)) for i in range(-32, 33)]

@lru_cache(maxsize=10_000)
def range_sf(q, k, df):  # studentized range of k groups; z is the largest of k normal values
    def within(w):
        return k * fsum(p * max(0.0, below - math.erfc((w - z) / sqrt(2)) / 2) ** (k - 1) for z, p, below in NODES)

    return 1 - over_s(lambda s: within(q * s), df)

@lru_cache(maxsize=10_000)
def range_quantile(p, k, df): return root(lambda q: (1 - p) - range_sf(q, k, df))

def noncentral_f_cdf(f, a, b, shift):
    x, centre, spread = a * f / (a * f + b), int(shift / 2), 12 * int(sqrt(shift / 2 + 1)) + 40
    if shift <= 0:
        return 1 - f_sf(f, a, b)
    return fsum(
        math.exp(j * math.log(shift / 2) - shift / 2 - math.lgamma(j + 1)) * beta(a / 2 + j, b / 2, x)
        for j in range(max(0, centre - spread), centre + spread)
    )

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

def welch(x, y, scale=1.0):  # standard error of mean(x) - scale * mean(y), and its degrees of freedom
    a, b = variance(x) / len(x), scale * scale * variance(y) / len(y)
    return sqrt(a + b), (a + b) ** 2 / (a * a / (len(x) - 1) + b * b / (len(y) - 1))

def mean_difference(first, second, confidence=0.95, side=0):
    error, df = welch(first, second) if side else (0, 1)
    return fmean(first) - fmean(second) + side * t_quantile((1 + confidence) / 2, df) * error

def ratio_of_means(first, second, confidence=0.95, side=0):  # Fieller
    b, ratio = fmean(second), fmean(first) / fmean(second)
    if side == 0:
        return ratio
    t = t_quantile((1 + confidence) / 2, welch(first, second, ratio)[1])
    g = t * t * variance(second) / len(second) / b**2
    spread = (1 - g) * variance(first) / len(first) + ratio**2 * variance(second) / len(second)
    return (ratio + side * t / abs(b) * sqrt(spread)) / (1 - g)

def geometric_ratio(first, second, confidence=0.95, side=0):
    return math.exp(mean([math.log(a / b) for a, b in zip(first, second)], confidence, side))

def pooled(x, y): return sqrt(((len(x) - 1) * variance(x) + (len(y) - 1) * variance(y)) / (len(x) + len(y) - 2))

def power_slope(groups, levels, confidence=0.95, side=0):  # least squares of logarithms
    x = [math.log(level) for group, level in zip(groups, levels) for _ in group]
    y = [math.log(v) for group in groups for v in group]
    a, b, df = fmean(x), fmean(y), len(x) - 2
    squares = fsum((v - a) ** 2 for v in x)
    slope = fsum((v - a) * (w - b) for v, w in zip(x, y)) / squares
    rest = fsum((w - b - slope * (v - a)) ** 2 for v, w in zip(x, y))
    return slope + side * (side and t_quantile((1 + confidence) / 2, df) * sqrt(rest / df / squares))

def hedges_g(first, second):
    df = len(first) + len(second) - 2
    unbiased = math.exp(math.lgamma(df / 2) - math.lgamma((df - 1) / 2)) / sqrt(df / 2)
    return unbiased * (fmean(first) - fmean(second)) / pooled(first, second)

def minimum_detectable(first, second, alpha, power):
    df = len(first) + len(second) - 2
    t = t_quantile(1 - alpha / 2, df)
    found = root(lambda shift: over_s(lambda s: NORMAL.cdf(shift - t * s) + NORMAL.cdf(-t * s - shift), df) - power)
    return found * sqrt(1 / len(first) + 1 / len(second)) * pooled(first, second)

def further_runs(first, second, margin, alpha, power, comparisons):
    def runs(distance, one, other):  # smallest n that shows this distance
        def enough(n):
            return (t_quantile(1 - one, 2 * n - 2) + t_quantile(1 - other, 2 * n - 2)) * sqrt(both / n) <= distance

        high = 2
        while distance > 0 and high < 4_000_000 and not enough(high):
            high *= 2
        low = max(2, high // 2)
        while low < high:
            low, high = (low, (low + high) // 2) if enough((low + high) // 2) else ((low + high) // 2 + 1, high)
        return low if distance > 0 else math.inf

    both, apart = variance(first) + variance(second), abs(fmean(first) - fmean(second))
    missed = (1 - power) / 2 if apart == 0 else 1 - power
    inside = margin * abs(fmean(second)) - apart
    needed = min(runs(apart, alpha / comparisons / 2, 1 - power), runs(inside, alpha, missed))
    return max(1, needed - min(len(first), len(second)))

# --- the groups of a family ------------------------------------------------------------------------------------------

def one_way(groups):  # F, its degrees of freedom, mean square of the error
    everything = list(chain(*groups))
    centre, a, b = fmean(everything), len(groups) - 1, len(everything) - len(groups)
    error = fsum((len(g) - 1) * variance(g) for g in groups) / b
    return fsum(len(g) * (fmean(g) - centre) ** 2 for g in groups) / a / error if error else math.inf, a, b, error

def welch_anova(groups):
    k, weights = len(groups), [len(g) / variance(g) for g in groups]
    centre = fsum(w * fmean(g) for w, g in zip(weights, groups)) / sum(weights)
    spread = fsum((1 - w / sum(weights)) ** 2 / (len(g) - 1) for w, g in zip(weights, groups))
    top = fsum(w * (fmean(g) - centre) ** 2 for w, g in zip(weights, groups)) / (k - 1)
    return top / (1 + 2 * (k - 2) / (k * k - 1) * spread), k - 1, (k * k - 1) / (3 * spread)

def ranks(groups):  # mean rank of each group, number of values, sum of ties^3 - ties
    ordered = sorted(chain(*groups))
    ends = {v: bisect_right(ordered, v) for v in ordered}
    ties = {v: ordered.count(v) for v in ends}
    means = [fmean(ends[v] - (ties[v] - 1) / 2 for v in g) for g in groups]
    return means, len(ordered), sum(t**3 - t for t in ties.values())

def tie_correction(groups):
    _, n, ties = ranks(groups)
    return 1 - ties / (n**3 - n)

def kruskal_h(groups):
    means, n, _ = ranks(groups)
    total = fsum(len(g) * (m - (n + 1) / 2) ** 2 for g, m in zip(groups, means))
    return 12 / (n * (n + 1)) * total / tie_correction(groups)

def dunn_p(groups, first, second):
    means, n, ties = ranks(groups)
    spread, pairs = n * (n + 1) / 12 - ties / (12 * (n - 1)), list(combinations(range(len(groups)), 2))
    errors = [sqrt(spread * (1 / len(groups[i]) + 1 / len(groups[j]))) for i, j in pairs]
    raw = [math.erfc(abs(means[i] - means[j]) / error / sqrt(2)) for (i, j), error in zip(pairs, errors)]
    return holm(raw, pairs.index((first, second)))

def holm(of, index):
    order = sorted(range(len(of)), key=of.__getitem__)
    return max(min(1.0, of[i] * (len(of) - place)) for place, i in enumerate(order[: order.index(index) + 1]))

def simultaneous(equal):  # Tukey-Kramer for equal variances, else Games-Howell
    def formula(groups, first, second, what, confidence=None):
        x, y = groups[first], groups[second]
        if equal:
            _, _, df, square = one_way(groups)
            error = sqrt(square / 2 * (1 / len(x) + 1 / len(y)))
        else:
            error, df = welch(x, y)[0] / sqrt(2), welch(x, y)[1]
        if what == 'p':
            return range_sf(abs(fmean(x) - fmean(y)) / error, len(groups), df)
        side = {'low': -1, 'value': 0, 'high': 1}[what]
        return fmean(x) - fmean(y) + side * range_quantile(confidence, len(groups), df) * error

    return formula

tukey, games_howell = simultaneous(equal=True), simultaneous(equal=False)

def omega_squared(groups, welch, confidence, what):  # bounds: from those of the noncentrality of F (Steiger)
    f, a, b = welch_anova(groups) if welch else one_way(groups)[:3]
    if what != 'value':
        tail = (1 - confidence) / 2 if what == 'high' else (1 + confidence) / 2
        none = noncentral_f_cdf(f, a, b, 0) <= tail
        f = 0.0 if none else root(lambda shift: tail - noncentral_f_cdf(f, a, b, shift)) / a
    found = (f - 1) * a / b / (f * a / b + 1 + 1 / b)
    return found if what == 'value' else max(0.0, found)

def residuals(groups): return [v - fmean(g) for g in groups for v in g]

def skewness(x):
    centre = fmean(x)
    return fmean((v - centre) ** 3 for v in x) / fmean((v - centre) ** 2 for v in x) ** 1.5

def levene_p(groups): return f_sf(*one_way([[abs(v - median(g)) for v in g] for g in groups])[:3])
def polynomial(x, *coefficients): return sum(c * x**power for power, c in enumerate(coefficients))

def shapiro(x):  # p by Royston 1995, algorithm AS R94
    x, n = sorted(x), len(x)
    m = [NORMAL.inv_cdf((i + 0.625) / (n + 0.25)) for i in range(n)]
    squares, u, log_n = fsum(v * v for v in m), 1 / sqrt(n), math.log(n)
    outer = [m[-1] / sqrt(squares) + polynomial(u, 0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056)]
    if n > 5:
        outer.append(m[-2] / sqrt(squares) + polynomial(u, 0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633))
    k = len(outer)
    scale = sqrt((squares - 2 * fsum(v * v for v in m[-k:])) / (1 - 2 * fsum(v * v for v in outer))) if n > 3 else 1
    a = [*(-v for v in outer), *(v / scale for v in m[k : n - k]), *outer[::-1]]
    if n == 3:
        a = [-sqrt(0.5), 0.0, sqrt(0.5)]
    w = fsum(c * v for c, v in zip(a, x)) ** 2 / ((n - 1) * variance(x))
    if n == 3:
        return max(0.0, 6 / math.pi * (math.asin(sqrt(w)) - math.asin(sqrt(0.75))))
    if n <= 11:
        y, mu = -math.log(-2.273 + 0.459 * n - math.log(1 - w)), polynomial(n, 0.544, -0.39978, 0.025054, -6.714e-4)
        sigma = math.exp(polynomial(n, 1.3822, -0.77857, 0.062767, -0.0020322))
    else:
        y, mu = math.log(1 - w), polynomial(log_n, -1.5861, -0.31082, -0.083751, 0.0038915)
        sigma = math.exp(polynomial(log_n, -0.4803, -0.082676, 0.0030302))
    return math.erfc((y - mu) / sigma / sqrt(2)) / 2

def split_plot(cells, term, what):  # cells: block, hard and easy level, value; complete, with one value each
    (b, h, e), grand = (len({cell[i] for cell in cells}) for i in range(3)), fmean(cell[3] for cell in cells)

    def squares(*over):  # sum of squares of the means over these factors
        table = {}
        for cell in cells:
            table.setdefault(tuple(cell[i] for i in over), []).append(cell[3])
        return fsum(len(v) * (fmean(v) - grand) ** 2 for v in table.values())

    block, hard, easy, plots, all_cells = squares(0), squares(1), squares(2), squares(0, 1), squares(0, 1, 2)
    both = squares(1, 2) - hard - easy
    rows = {
        'block': (block, b - 1, 'between'),
        'hard': (hard, h - 1, 'between'),
        'between': (plots - block - hard, (b - 1) * (h - 1), None),
        'easy': (easy, e - 1, 'within'),
        'hard:easy': (both, (h - 1) * (e - 1), 'within'),
        'within': (all_cells - plots - easy - both, h * (b - 1) * (e - 1), None),
    }
    (ss, df, _), (error, error_df, _) = rows[term], rows[rows[term][2] or term]
    f = ss / df / (error / error_df)
    return {'df': df, 'ss': ss, 'ms': ss / df, 'f': f, 'p': f_sf(f, df, error_df)}[what]

# --- conclusions -----------------------------------------------------------------------------------------------------

def choose(groups, alpha):  # the method, or None where no test is possible
    if len(groups) < 2 or min(map(len, groups)) < 3 or not any(residuals(groups)):
        return None
    if tie_correction(groups) < 0.95 or abs(skewness(residuals(groups))) > 2:
        return RANKS
    if levene_p(groups) < alpha:
        return WELCH if all(variance(g) > 0 for g in groups) else None
    return ANOVA

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

def verdict(x, y, p, alpha, margin):
    if min(len(x), len(y)) < 2 or variance(x) + variance(y) == 0:
        return 'none'
    bounds = [mean_difference(x, y, 1 - 2 * alpha, side) for side in (-1, 1)]
    if max(map(abs, bounds)) < margin * abs(fmean(y)):
        return 'equivalent'
    if p is None and margin > 0:
        p = 2 * t_sf(abs(mean_difference(x, y)) / welch(x, y)[0], welch(x, y)[1])
    return 'different' if p is not None and p < alpha else 'undecided'

def conclude(groups, study, higher_is_better):  # method, letters of each group, verdict of each pair
    method, alpha = choose(groups, study['alpha']), study['alpha']
    pairs = [pair for pair in combinations(range(len(groups)), 2) if all(groups[i] for i in pair)]
    compared = {RANKS: dunn_p, WELCH: games_howell, ANOVA: tukey}.get(method)
    given = {} if method == RANKS else {'what': 'p'}
    p = {pair: compared(groups, *pair, **given) for pair in pairs} if compared else {}
    letters = [None] * len(groups)
    if method and min(map(len, groups)) >= 5:
        order = sorted(range(len(groups)), key=lambda i: fmean(groups[i]))[:: -1 if higher_is_better else 1]
        apart = [(order.index(i), order.index(j)) for (i, j), value in p.items() if value < alpha]
        for i, text in zip(order, letters_of(len(groups), apart)):
            letters[i] = text
    found = {(i, j): verdict(groups[i], groups[j], p.get((i, j)), alpha, study['margin']) for i, j in pairs}
    return method, letters, found

def conclusions(analysis, entries):  # pairs of what the report has and what the numbers give, with the place
    def sample(estimate):
        number = entries.get(estimate['value']['id'])
        return resolve(number['inputs']['of']) if number else []

    families = {family['id']: family for family in analysis['families']}
    for name, family in families.items():
        groups, labels = [sample(g['mean']) for g in family['groups']], [g['label'] for g in family['groups']]
        method, letters, verdicts = conclude(groups, analysis['study'], family['higher_is_better'])
        yield f'{name}: method', family['test'] and family['test']['method'], method
        yield f'{name}: letters', [g['letters'] for g in family['groups']], letters
        yield f'{name}: n', [g['n'] for g in family['groups']], [len(g) for g in groups]
        found = {(pair['first'], pair['second']): pair['verdict'] for pair in family['pairs']}
        yield f'{name}: verdicts', found, {(labels[i], labels[j]): word for (i, j), word in verdicts.items()}
        for pair in family['pairs']:
            word = pair['sentence']['text'].removeprefix(f'{pair["first"]} against {pair["second"]}: ').split(',')[0]
            expected = {'none': 'no verdict'}.get(pair['verdict'], pair['verdict'])
            yield f'{name}: sentence of {pair["first"]} and {pair["second"]}', word.split(' within')[0], expected
    for one in analysis['sensitivity']:
        better = one['family'].startswith('family-throughput')
        for which in ('valid', 'all'):
            groups = [sample(group[f'mean_{which}']) for group in one['groups']]
            letters = conclude(groups, analysis['study'], better)[1]
            yield f'{one["family"]}: letters_{which}', [g[f'letters_{which}'] for g in one['groups']], letters

# --- the archive -----------------------------------------------------------------------------------------------------

ROOT, SETS, VALUES = Path(), {}, {}

@lru_cache(maxsize=64)
def document(file): return json.loads((ROOT / file).read_bytes())

@lru_cache(maxsize=40)
def operations(run):  # (operation, succeeded) -> starts, latencies in microseconds, parts of a read-modify-write
    found = {}
    with gzip.open(ROOT / 'runs' / f'{run}.csv.gz', 'rt', encoding='utf-8', newline='') as lines:
        next(lines)
        for start, operation, latency, status, _, part, _ in csv.reader(lines):
            columns = found.setdefault((operation, status == 'OK'), (array('q'), array('q'), array('b')))
            for column, value in zip(columns, (start, latency, part)):
                column.append(int(value))
    return found

def select(run, operation=None, ok=True, parts=True):  # (start, latency); of all types: without parts
    for (name, good), rows in operations(run).items():
        if operation in (None, name) and good == ok:
            with_parts = parts and operation is not None
            yield from ((start, latency) for start, latency, part in zip(*rows) if with_parts or not part)

def count(runs, operation=None, ok=True, parts=True):
    return sum(1 for run in runs for _ in select(run, operation, ok, parts))

def runtime(run):
    rows = [*select(run), *select(run, ok=False)]
    return (max(start + latency for start, latency in rows) - min(start for start, _ in rows)) / 1e6

@lru_cache(maxsize=2)
def latencies(runs, operation, ordered):  # ms, of successful operations, run after run or from small to large
    found = array('d', (latency / 1000 for run in runs for _, latency in select(run, operation)))
    return array('d', sorted(found)) if ordered else found

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

def planned():
    series = [one for deployment in document('plan.json')['deployments'] for one in deployment['series']]
    return sum(one['trials'] * len(one['drivers']) for one in series)

def deployment_seconds():
    journal = [json.loads(line) for line in (ROOT / 'journal.jsonl').read_bytes().split(b'\n')[:-1]]
    return fsum(entry['seconds'] for entry in journal if entry['event'] == 'deployment-ended')

# --- the evaluator ---------------------------------------------------------------------------------------------------

FORMULAS = {
    formula.__name__: formula
    for formula in (
        runtime, histogram, timeline, field, write_amplification, failure, cell, planned, deployment_seconds,
        mean, quartile, lag_one, effective_size, mser, mean_difference, ratio_of_means, geometric_ratio, hedges_g,
        minimum_detectable, further_runs, kruskal_h, dunn_p, holm, omega_squared, levene_p, tie_correction, split_plot,
        power_slope,
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
    'percent_of': lambda first, second, **bound: 100 * ratio_of_means(first, second, **bound),
    'scaled_ratio': lambda first, second, scale: first / (second * scale),
    'scaled_distance': lambda first, second, scale: abs(first - second * scale),
    'mean_p': lambda of: 2 * t_sf(abs(fmean(of)) / sqrt(variance(of) / len(of)), len(of) - 1),
    'median': lambda of, **bound: order_statistic(sorted(of), 0.5, len(of), **bound) if bound else median(of),
    'sd': lambda of: sqrt(variance(of)),
    'minimum': lambda of: min(of),
    'maximum': lambda of: max(of),
    'margin': lambda first, second, share: share * abs(fmean(second)),
    'anova_f': lambda groups: one_way(groups)[0],
    'anova_df': lambda groups, which: one_way(groups)[which],
    'anova_p': lambda groups: f_sf(*one_way(groups)[:3]),
    'welch_f': lambda groups: welch_anova(groups)[0],
    'welch_df': lambda groups, which: welch_anova(groups)[which],
    'welch_p': lambda groups: f_sf(*welch_anova(groups)),
    'kruskal_df': lambda groups: len(groups) - 1,
    'kruskal_p': lambda groups: chi2_sf(kruskal_h(groups), len(groups) - 1),
    'shapiro_p': lambda groups: shapiro(residuals(groups)),
    'skewness': lambda groups: skewness(residuals(groups)),
    'tukey': tukey,
    'games_howell': games_howell,
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
    digits = 1e-6 if entry['formula'] in INTEGRALS else 1e-9
    # A difference of nearly equal numbers has only the digits that they leave.
    scale = max(map(abs, map(resolve, entry['inputs'].values()))) if entry['formula'] in DISTANCES else 1
    return len(expected) == len(found) and all(
        a == b or None not in (a, b) and math.isclose(a, b, rel_tol=digits, abs_tol=digits / 100 * max(1, scale))
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
