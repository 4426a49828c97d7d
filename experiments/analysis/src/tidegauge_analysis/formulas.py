"""The formulas of `recompute.py` in words, for the list of numbers in a report."""

WORDS = {
    'throughput': 'successful operations of the run per second, from the start of the first to the end of the last',
    'runtime': 'time from the start of the first operation to the end of the last',
    'operations': 'number of operations',
    'latency_mean': 'arithmetic mean of the latencies of all operations together',
    'latency_sd': 'standard deviation of the latencies of all operations together',
    'latency_minimum': 'smallest latency',
    'latency_maximum': 'largest latency',
    'latency_quantile': 'quantile of the latencies of all operations together; its bounds are order statistics',
    'latency_effective_size': 'number of independent latencies with the same information, by batch means',
    'histogram': 'operations in each bin',
    'timeline': 'operations by the time of their start',
    'field': 'a field of a file',
    'field_over': 'a field of a file divided by another',
    'field_per': 'a field of a file for each operation',
    'node_share': 'share of the nodes of a role in the processor time of all nodes',
    'write_amplification': 'bytes that the store wrote for each byte of values that the run wrote',
    'failure': 'rates, pauses and failed operations before and after the kill of a node',
    'cell': 'a cell of a file with published numbers',
    'planned': 'runs of the plan',
    'deployment_seconds': 'time of all deployments, from the journal',
    'scaled_ratio': 'first divided by second, in the same unit',
    'scaled_distance': 'distance of first and second, in the same unit',
    'mean': 'arithmetic mean',
    'median': 'median; its bounds are order statistics',
    'sd': 'standard deviation, with n \N{MINUS SIGN} 1',
    'minimum': 'smallest value',
    'maximum': 'largest value',
    'sum': 'sum',
    'difference': 'first minus second',
    'product': 'first times a constant',
    'count': 'number of members of the list',
    'quartile': 'quartile, by linear interpolation between order statistics',
    'quantile': 'quantile of all operations together; its bounds are order statistics',
    'lag_one': 'autocorrelation of neighbours',
    'effective_size': 'number of independent observations with the same information, by batch means',
    'mser': 'length of the warm-up that minimises the marginal standard error',
    'geometric_mean': 'geometric mean; its bounds are those of Student for the logarithms',
    'mean_of_units': 'mean over deployments, or over trials, with the interval of Student',
    'mean_difference': 'mean over deployments, or over trials, of first minus second, with the interval of Student',
    'paired_median': 'median of the differences of operations that took turns one by one',
    'prior': 'what the contrasts of the same kind show about the variance of one (Smyth)',
    'prior_of_exponents': 'what the exponents along the same factor show about the variance of one (Smyth)',
    'ratio': 'geometric mean of the ratios of deployments or trials; its bounds: Student, for the logarithms',
    'ratio_p': 'p of the test of Student that the mean logarithm of the ratios is zero',
    'log_ratio': 'mean logarithm of the ratios, or its squared error',
    'log_of_limit': 'mean logarithm of the ratio to a limit, or its squared error',
    'further_units': 'further deployments or trials until a decision is likely',
    'mean_exponent': 'exponent of a power law, mean over deployments or trials, with the interval of Student',
    'exponent': 'exponent of a power law, mean over deployments or trials, or its squared error',
    'pooled': 'over all comparisons, by a model with random effects (REML), with the interval of Hartung and Knapp',
    'pooled_blocks': 'over all comparisons and blocks, both random, with the interval of Satterthwaite',
    'percent_of': 'first in percent of the second, by logarithms, with the interval of Welch',
    'holm': 'p adjusted by Holm',
}
"""By the name of the formula. Bounds have the same words; see `words`."""


def words(formula: str) -> str:
    """The formula in words: its name with spaces where there are no words."""
    for ending, prefix in (('_low', 'lower bound of the '), ('_high', 'upper bound of the ')):
        if formula.endswith(ending) and formula not in WORDS:
            return prefix + words(formula.removesuffix(ending))
    return WORDS.get(formula, formula.replace('_', ' '))
