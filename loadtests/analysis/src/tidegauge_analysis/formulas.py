"""The formulas of `recompute.py` in words, for the list of numbers in a report."""

WORDS = {
    'mean': 'arithmetic mean',
    'median': 'median; its bounds are order statistics',
    'sd': 'standard deviation, with n \N{MINUS SIGN} 1',
    'minimum': 'smallest value',
    'maximum': 'largest value',
    'sum': 'sum',
    'difference': 'first minus second',
    'ratio': 'first divided by second',
    'product': 'first times a constant',
    'count': 'number of members of the list',
    'quartile': 'quartile, by linear interpolation between order statistics',
    'quantile': 'quantile of all operations together; its bounds are order statistics',
    'lag_one': 'autocorrelation of neighbours',
    'effective_size': 'number of independent observations with the same information, by batch means',
    'mser': 'length of the warm-up that minimises the marginal standard error',
    'mean_difference': 'difference of two means, with the interval of Welch',
    'ratio_of_means': 'ratio of two means, with the interval of Fieller',
    'geometric_ratio': 'geometric mean of the ratios of pairs',
    'mean_p': "Student's t test that the mean is zero",
    'hedges_g': "Hedges' g: difference of means by the pooled standard deviation, corrected for small samples",
    'margin': 'margin of equivalence: a share of the second mean',
    'minimum_detectable': 'smallest difference that a test of this size would find with the stated power',
    'further_runs': 'further runs of each group until a decision is likely',
    'anova_f': 'F of the analysis of variance',
    'anova_df': 'degrees of freedom of the analysis of variance',
    'anova_p': 'p of the analysis of variance',
    'welch_f': "F of Welch's analysis of variance",
    'welch_df': "degrees of freedom of Welch's analysis of variance",
    'welch_p': "p of Welch's analysis of variance",
    'kruskal_h': 'H of Kruskal and Wallis',
    'kruskal_df': 'number of groups minus one',
    'kruskal_p': 'p of Kruskal and Wallis',
    'omega_squared': 'share of the variance that the groups explain (omega squared)',
    'shapiro_p': 'p of the test of Shapiro and Wilk for normal residuals',
    'levene_p': 'p of the test of Brown and Forsythe for equal variances',
    'tie_correction': 'correction of ranks for ties',
    'skewness': 'skewness of the residuals',
    'tukey': 'Tukey-Kramer: difference, bounds or p for all pairs of the family',
    'games_howell': 'Games-Howell: difference, bounds or p for all pairs of the family',
    'dunn_p': "p of Dunn's test, adjusted by Holm",
    'holm': 'p adjusted by Holm',
    'split_plot': 'analysis of variance with an error between and an error within deployments',
}
"""By the name of the formula. Bounds have the same words; see `words`."""


def words(formula: str) -> str:
    """The formula in words: its name with spaces where there are no words."""
    for ending, prefix in (('_low', 'lower bound of the '), ('_high', 'upper bound of the ')):
        if formula.endswith(ending) and formula not in WORDS:
            return prefix + words(formula.removesuffix(ending))
    return WORDS.get(formula, formula.replace('_', ' '))
