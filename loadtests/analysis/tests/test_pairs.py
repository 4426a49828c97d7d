import pytest
from scipy import stats

from datasets import CHICKWTS, INSECT_SPRAYS, PLANT_GROWTH, POOH, STRESS_REDUCTION, TOOTH_GROWTH, WARPBREAKS
from tidegauge_analysis.anova import two_way
from tidegauge_analysis.groups import check
from tidegauge_analysis.pairs import Comparison, dunn, dunn_unadjusted, games_howell, tukey_kramer


def find(pairs: tuple[Comparison, ...], first: str, second: str) -> tuple[float, float, float, float]:
    """Difference, bounds and p of first minus second, whichever way round the pair was compared."""
    for pair in pairs:
        assert pair.difference is not None
        assert pair.low is not None
        assert pair.high is not None
        if (pair.first, pair.second) == (first, second):
            return pair.difference, pair.low, pair.high, pair.p
        if (pair.second, pair.first) == (first, second):
            return -pair.difference, -pair.high, -pair.low, pair.p
    raise KeyError(f'{first}-{second}')


def near(*values: float, digits: float = 1e-6) -> object:
    return pytest.approx(values, rel=digits, abs=digits)


def test_tukey_of_plant_growth_in_r() -> None:
    pairs = tukey_kramer(PLANT_GROWTH)
    assert find(pairs, 'trt1', 'ctrl') == near(-0.371, -1.0622161, 0.3202161, 0.3908711)
    assert find(pairs, 'trt2', 'ctrl') == near(0.494, -0.1972161, 1.1852161, 0.1979960)
    assert find(pairs, 'trt2', 'trt1') == near(0.865, 0.1737839, 1.5562161, 0.0120064)


def test_tukey_of_insect_sprays_in_r() -> None:
    pairs = tukey_kramer(INSECT_SPRAYS)
    assert find(pairs, 'B', 'A') == near(0.8333333, -3.866075, 5.532742, 0.9951810)
    assert find(pairs, 'C', 'A') == near(-12.4166667, -17.116075, -7.717258, 0.0)
    assert find(pairs, 'D', 'A') == near(-9.5833333, -14.282742, -4.883925, 0.0000014)
    assert find(pairs, 'D', 'B') == near(-10.4166667, -15.116075, -5.717258, 0.0000002)
    assert find(pairs, 'D', 'C') == near(2.8333333, -1.866075, 7.532742, 0.4920707)
    assert find(pairs, 'F', 'E') == near(13.1666667, 8.467258, 17.866075, 0.0)


def test_tukey_kramer_of_chickwts_in_r() -> None:
    pairs = tukey_kramer(CHICKWTS)
    assert find(pairs, 'linseed', 'casein') == near(-104.833333, -170.587491, -39.07918, 0.0002100)
    assert find(pairs, 'soybean', 'casein') == near(-77.154762, -140.517054, -13.79247, 0.0083653)
    assert find(pairs, 'meatmeal', 'horsebean') == near(116.709091, 46.335105, 187.08308, 0.0001062)
    assert find(pairs, 'soybean', 'horsebean') == near(86.228571, 19.541684, 152.91546, 0.0042167)
    assert find(pairs, 'sunflower', 'soybean') == near(82.488095, 19.125803, 145.85039, 0.0038845)
    assert find(pairs, 'sunflower', 'meatmeal') == near(52.007576, -15.224388, 119.23954, 0.2206962)


def test_tukey_with_the_error_term_of_blocks_in_r() -> None:
    rows = [(*levels, value) for levels, values in WARPBREAKS.items() for value in values]
    wool, tension, breaks = zip(*rows, strict=True)
    table = two_way(wool, tension, breaks, interaction=False)
    groups = {level: [value for of, value in zip(tension, breaks, strict=True) if of == level] for level in 'LMH'}
    pairs = tukey_kramer(groups, error=(table.error_mean_square, table.error_df))
    assert find(pairs, 'M', 'H') == near(4.722222, -4.6311985, 14.07564, 0.4474210)
    assert find(pairs, 'L', 'H') == near(14.722222, 5.3688015, 24.07564, 0.0011218)
    assert find(pairs, 'L', 'M') == near(10.0, 0.6465793, 19.35342, 0.0336262)
    alone = tukey_kramer(groups)
    assert find(alone, 'L', 'H') == near(14.722222, 5.1623978, 24.28205, 0.0014315)


def test_tukey_against_matlab() -> None:
    groups = {
        '1': [24.5, 23.5, 26.4, 27.1, 29.9],
        '2': [28.4, 34.2, 29.5, 32.2, 30.1],
        '3': [26.1, 28.3, 24.3, 26.2, 27.8],
    }
    pairs = tukey_kramer(groups)
    assert find(pairs, '1', '2') == near(-4.6, -8.2491590248597, -0.9508409751403, 0.0144483269098)
    assert find(pairs, '1', '3') == near(-0.26, -3.9091590248597, 3.3891590248597, 0.9803107240900)
    assert find(pairs, '2', '3') == near(4.34, 0.6908409751403, 7.9891590248597, 0.0203311368795)
    unequal = {**groups, '1': [24.5, 23.5, 26.28, 26.4, 27.1, 29.9, 30.1, 30.1]}
    found = [pair.p for pair in tukey_kramer(unequal)]
    assert found == near(0.03371498443080, 0.85572267328807, 0.02259047020620)


def test_tukey_of_the_nist_handbook() -> None:
    """https://www.itl.nist.gov/div898/handbook/prc/section4/prc471.htm, two decimals."""
    pairs = tukey_kramer(
        {
            '1': [6.9, 5.4, 5.8, 4.6, 4.0],
            '2': [8.3, 6.8, 7.8, 9.2, 6.5],
            '3': [8.0, 10.5, 8.1, 6.9, 9.3],
            '4': [5.8, 3.8, 6.1, 5.6, 6.2],
        }
    )
    published = {('2', '1'): (0.29, 4.47), ('3', '1'): (1.13, 5.31), ('1', '4'): (-2.25, 1.93)}
    published |= {('2', '3'): (-2.93, 1.25), ('3', '4'): (0.97, 5.15)}
    for (first, second), bounds in published.items():
        assert find(pairs, first, second)[1:3] == pytest.approx(bounds, abs=0.006)


def test_games_howell_of_tooth_growth_by_dose() -> None:
    """The R package rstatix, three digits."""
    doses = {
        dose: [value for levels, values in TOOTH_GROWTH.items() if levels[1] == dose for value in values]
        for dose in ('0.5', '1', '2')
    }
    pairs = games_howell(doses)
    assert find(pairs, '1', '0.5')[:3] == pytest.approx((9.13, 5.69, 12.6), rel=5e-3)
    assert find(pairs, '2', '0.5')[0] == pytest.approx(15.5, rel=5e-3)
    assert find(pairs, '2', '1') == pytest.approx((6.37, 3.19, 9.54, 5.57e-5), rel=5e-3)


def test_games_howell_against_spss() -> None:
    pairs = games_howell({'0': [24, 23, 31, 51], '1': [34, 18, 18, 26], '2': [17, 68, 59, 7]})
    assert find(pairs, '0', '1')[1:] == near(-16.5492749527311, 33.0492749527311, 0.558733632413559)
    assert find(pairs, '0', '2')[1:] == near(-63.6702454316458, 52.6702454316458, 0.941147750599221)
    assert find(pairs, '1', '2')[1:] == near(-74.3174374251372, 46.8174374251372, 0.682983914946841)


def test_stress_reduction_at_99_percent_in_r() -> None:
    # statsmodels' tests: rstatix' Games-Howell, whose p has three digits, and R's TukeyHSD. Both are second - first.
    pairs = games_howell(STRESS_REDUCTION, 0.99)
    assert find(pairs, 'mental', 'medical')[:3] == near(1.8888888888888888, 0.7123347940930316, 3.0654429836847461)
    assert find(pairs, 'physical', 'medical')[:3] == near(0.8888888888888888, -0.8105797509636128, 2.5883575287413905)
    assert find(pairs, 'physical', 'mental')[:3] == near(-1, -2.6647460755237473, 0.6647460755237473)
    assert [pair.p for pair in pairs] == pytest.approx([0.000196, 0.206, 0.127], rel=3e-3)
    pairs = tukey_kramer(STRESS_REDUCTION, 0.99)
    assert find(pairs, 'mental', 'medical') == near(1.8888888888888889, 0.2658549, 3.511923, 0.002837638)
    assert find(pairs, 'physical', 'medical') == near(0.888888888888889, -0.5908785, 2.368656, 0.150456)
    assert find(pairs, 'physical', 'mental') == near(-1, -2.587133, 0.5871331, 0.1266072)


def test_games_howell_of_unequal_sizes_against_spss() -> None:
    pairs = games_howell(
        {
            '0': [30, 23, 51],
            '1': [-81, 71, -27, 63],
            '2': [42, 11, 29, 19, 50],
            '3': [23, 22, 20, 18, 9],
        }
    )
    assert [pair.p for pair in pairs] == near(
        0.872754274788618,
        0.975262840867171,
        0.426250615130288,
        0.914895060900059,
        0.986143225009396,
        0.475534443633567,
    )


def test_of_two_groups_they_are_the_t_tests() -> None:
    two = {name: PLANT_GROWTH[name] for name in ('ctrl', 'trt2')}
    student = stats.ttest_ind(*two.values())
    unequal = stats.ttest_ind(*two.values(), equal_var=False)
    assert tukey_kramer(two)[0].p == pytest.approx(student.pvalue, rel=1e-6)
    assert games_howell(two)[0].p == pytest.approx(unequal.pvalue, rel=1e-6)


def test_dunn_of_plant_growth() -> None:
    found = dunn_unadjusted(check(PLANT_GROWTH))
    assert [z for z, _ in found] == near(1.1177255, -1.6892896, -2.8070151)
    assert [p for _, p in found] == near(0.263684268, 0.091163944, 0.00500029037)


def test_dunn_of_insect_sprays() -> None:
    found = dunn_unadjusted(check(INSECT_SPRAYS))
    assert [z for z, _ in found] == near(
        *(-0.3127338, 4.7740776, 3.1175655, 3.8505355, -0.4055767),
        *(5.0868115, 3.4302994, 4.1632693, -0.0928429),
        *(-1.6565121, -0.9235421, -5.1796543),
        *(0.7329699, -3.5231422),
        -4.2561122,
    )


def test_dunn_with_heavy_ties_adjusted_by_holm() -> None:
    raw = dunn_unadjusted(check(POOH))
    assert [z for z, _ in raw] == near(3.7702412, -0.4813074 * -1, -3.2889338)
    assert [p for _, p in raw] == near(1.63089829e-4, 0.630298045, 0.00100567661)
    assert [pair.p for pair in dunn(POOH)] == near(4.892694e-4, 0.6302980448, 2.0113532e-3)
    assert all(pair.difference is None for pair in dunn(POOH))


def test_refusals_name_what_is_wrong() -> None:
    with pytest.raises(ValueError, match='groups a and b do not vary'):
        games_howell({'a': [1, 1], 'b': [2, 2]})
    with pytest.raises(ValueError, match='no ranks to compare'):
        dunn({'a': [1, 1], 'b': [1, 1]})
