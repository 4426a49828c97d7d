import pytest

from datasets import ATM_WT_AG, INSECT_SPRAYS, OATS, PLANT_GROWTH, SI_RSTV, TOOTH_GROWTH, WARPBREAKS, sm_ls
from tidegauge_analysis.anova import Anova, one_way, split_plot, two_way, welch


def seven_digits(value: float) -> object:
    return pytest.approx(value, rel=1e-7)


def test_nist_si_rstv() -> None:
    table = one_way(SI_RSTV)
    [term] = table.terms
    assert (term.df, table.error_df) == (4, 20)
    assert term.sum_of_squares == seven_digits(5.11462616e-2)
    assert table.error_sum_of_squares == seven_digits(2.1663656e-1)
    assert term.f == seven_digits(1.18046237440255)
    assert term.p == seven_digits(0.3494474934)
    assert table.r_squared == seven_digits(0.190999039051129)
    assert table.error_mean_square**0.5 == seven_digits(0.104076068334656)


def test_nist_atm_wt_ag() -> None:
    table = one_way(ATM_WT_AG)
    [term] = table.terms
    assert (term.df, table.error_df) == (1, 46)
    # Seven of the ten digits of the data are its common offset.
    assert term.sum_of_squares == pytest.approx(3.638341875e-9, rel=1e-6)
    assert table.error_sum_of_squares == pytest.approx(1.04951729166667e-8, rel=1e-6)
    assert term.f == pytest.approx(1.59467335677930e1, rel=1e-6)
    assert term.p == pytest.approx(0.0002326844483, rel=1e-6)


@pytest.mark.parametrize(
    ('replicates', 'f', 'r_squared'),
    [
        (21, 2.1e1, 4.82758620689655e-1),
        (201, 2.01e2, 4.71830985915493e-1),
        (2001, 2.001e3, 4.70712773465067e-1),
    ],
)
@pytest.mark.parametrize(('base', 'digits'), [(1, 1e-7), (10**6, 1e-7), (10**12, 1e-4)])
def test_nist_sm_ls(replicates: int, f: float, r_squared: float, base: int, digits: float) -> None:
    table = one_way(sm_ls(replicates, base))
    assert table.terms[0].f == pytest.approx(f, rel=digits)
    assert table.r_squared == pytest.approx(r_squared, rel=digits)
    assert table.error_mean_square**0.5 == pytest.approx(0.1, rel=digits)


def test_plant_growth() -> None:
    table = one_way(PLANT_GROWTH)
    assert table.terms[0].sum_of_squares == pytest.approx(3.76634, rel=1e-6)
    assert table.error_sum_of_squares == pytest.approx(10.49209, rel=1e-6)
    assert table.terms[0].f == seven_digits(4.84608786238)
    assert table.terms[0].p == seven_digits(0.0159099583256)


def test_insect_sprays_by_both_methods() -> None:
    assert one_way(INSECT_SPRAYS).terms[0].f == seven_digits(34.7022820555)
    assert one_way(INSECT_SPRAYS).terms[0].p == seven_digits(3.18258372615e-17)
    found = welch(INSECT_SPRAYS)
    assert (found.f, found.df_between) == (seven_digits(36.06544389), 5)
    assert found.df_within == seven_digits(30.04256051)
    assert found.p == pytest.approx(7.999e-12, rel=1e-3)


def test_welch_of_plant_growth_and_of_r_oneway_test() -> None:
    found = welch(PLANT_GROWTH)
    assert (found.f, found.df_within) == (seven_digits(5.180972408), seven_digits(17.12841862))
    assert found.p == pytest.approx(0.01739, abs=5e-6)
    r = welch(
        {
            'a': [-50.42, 40.31, -18.09, 35.58, -6.8, 0.22],
            'b': [23.44, 4.5, 15.1, 9.66],
            'c': [11.94, 11.1, 9.87, 9.09, 3.33],
        }
    )
    assert r.f == seven_digits(0.609740409019517)
    assert r.p == seven_digits(0.574838941286302)


def warpbreaks(*, interaction: bool) -> Anova:
    rows = [(*levels, value) for levels, values in WARPBREAKS.items() for value in values]
    wool, tension, breaks = zip(*rows, strict=True)
    return two_way(wool, tension, breaks, interaction=interaction)


def test_warpbreaks_with_interaction() -> None:
    table = warpbreaks(interaction=True)
    assert (table.error_df, table.error_sum_of_squares) == (48, seven_digits(5745.111111111))
    assert [(seven_digits(term.f), seven_digits(term.p)) for term in table.terms] == [
        (3.765288361, 0.05821297596),
        (8.498046648, 0.0006926209367),
        (4.189068967, 0.02104419073),
    ]


def test_warpbreaks_with_wool_as_block() -> None:
    table = warpbreaks(interaction=False)
    assert table.error_df == 50
    assert table.term('first').f == pytest.approx(3.339316, rel=1e-6)
    assert table.term('first').p == seven_digits(0.07361366898)
    assert table.term('second').f == seven_digits(7.536650695)
    assert table.term('second').p == seven_digits(0.001377777523)
    with pytest.raises(KeyError):
        table.term('third')


def test_tooth_growth() -> None:
    rows = [(*levels, value) for levels, values in TOOTH_GROWTH.items() for value in values]
    table = two_way(*zip(*rows, strict=True), interaction=True)
    assert table.error_df == 54
    assert table.error_sum_of_squares == pytest.approx(712.106, rel=1e-7)
    assert [(seven_digits(term.f), seven_digits(term.p)) for term in table.terms] == [
        (15.57197945, 0.0002311828098),
        (91.99996489, pytest.approx(4.046291e-18, rel=1e-6)),
        (4.106991094, 0.02186026896),
    ]


def test_split_plot_of_yates_oats() -> None:
    """R: summary(aov(Y ~ N*V + Error(B/V), data = MASS::oats)), as printed in its documentation."""
    rows = [
        (block, variety, str(level), value) for block, variety, values in OATS for level, value in enumerate(values)
    ]
    found = split_plot(*zip(*rows, strict=True))
    assert (found.between.error_df, found.within.error_df) == (10, 45)
    assert found.between.term('block').sum_of_squares == pytest.approx(15875, abs=0.5)
    assert found.between.term('hard').sum_of_squares == pytest.approx(1786, abs=0.5)
    assert found.between.error_sum_of_squares == pytest.approx(6013, abs=0.5)
    assert found.between.term('hard').f == pytest.approx(1.485, abs=5e-4)
    assert found.between.term('hard').p == pytest.approx(0.272, abs=5e-4)
    assert found.within.term('easy').f == pytest.approx(37.686, abs=5e-4)
    assert found.within.term('easy').p == pytest.approx(2.46e-12, rel=5e-3)
    assert found.within.term('hard:easy').f == pytest.approx(0.303, abs=5e-4)
    assert found.within.term('hard:easy').p == pytest.approx(0.932, abs=5e-4)
    assert found.within.error_sum_of_squares == pytest.approx(7969, abs=0.5)


def test_trials_of_one_deployment_are_no_replicates_of_it() -> None:
    rows = [
        (block, variety, str(level), value + noise)
        for block, variety, values in OATS
        for level, value in enumerate(values)
        for noise in (-1, 0, 1)
    ]
    found = split_plot(*zip(*rows, strict=True))
    assert found.between.error_df == 10
    assert found.between.term('hard').f == pytest.approx(1.485, abs=5e-4)


def test_refusals_name_what_is_wrong() -> None:
    with pytest.raises(ValueError, match='two groups or more, but got 1'):
        one_way({'a': [1, 2]})
    with pytest.raises(ValueError, match='group b: needs 2 observations or more, but has 1'):
        one_way({'a': [1, 2], 'b': [3]})
    with pytest.raises(ValueError, match='group b: has an observation that is not a finite number'):
        one_way({'a': [1, 2], 'b': [3, float('nan')]})
    with pytest.raises(ValueError, match='do not vary within groups'):
        one_way({'a': [1, 1], 'b': [3, 3]})
    with pytest.raises(ValueError, match='group b: all observations are equal'):
        welch({'a': [1, 2], 'b': [3, 3]})
    with pytest.raises(ValueError, match='not balanced: its cells have 1, 2 observations'):
        two_way('aabbb', 'xyxyy', [1, 2, 3, 4, 5], interaction=False)
    with pytest.raises(ValueError, match='no degrees of freedom for the error'):
        two_way('aabb', 'xyxy', [1, 2, 3, 5], interaction=True)
    with pytest.raises(ValueError, match='two levels or more of the block, but has 1'):
        split_plot('ii', 'ab', 'xx', [1, 2])
