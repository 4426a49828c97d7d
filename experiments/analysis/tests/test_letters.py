import itertools
import random
from collections.abc import Mapping, Sequence

import pytest
from scipy import stats

from datasets import CHICKWTS, INSECT_SPRAYS, PLANT_GROWTH
from tidegauge_analysis.contrasts import holm
from tidegauge_analysis.letters import Pair, compact_letters


def pairs(*names: str) -> set[Pair]:
    return {frozenset(pair) for pair in names}


def by_tukey(groups: Mapping[str, Sequence[float]], *, descending: bool) -> dict[str, str]:
    names = list(groups)
    p = stats.tukey_hsd(*groups.values()).pvalue
    order = sorted(names, key=lambda name: sum(groups[name]) / len(groups[name]), reverse=descending)
    different = {
        frozenset((names[i], names[j])) for i, j in itertools.combinations(range(len(names)), 2) if p[i, j] < 0.05
    }
    return compact_letters(order, different)


def test_piepho_example_one() -> None:
    assert compact_letters('0123', pairs('01', '02', '03', '13')) == {'0': 'a', '1': 'b', '2': 'bc', '3': 'c'}


def test_all_different_and_none_different() -> None:
    assert compact_letters('xyz', pairs('xy', 'xz', 'yz')) == {'x': 'a', 'y': 'b', 'z': 'c'}
    assert compact_letters('xyz', set()) == {'x': 'a', 'y': 'a', 'z': 'a'}


def test_chickwts_as_multcomp_letters_4() -> None:
    assert by_tukey(CHICKWTS, descending=True) == {
        'sunflower': 'a',
        'casein': 'a',
        'meatmeal': 'ab',
        'soybean': 'b',
        'linseed': 'bc',
        'horsebean': 'c',
    }


def test_chickwts_by_wilcoxon_as_the_r_package_cld() -> None:
    """The vignette of cld: pairwise.wilcox.test(exact = FALSE), adjusted by Holm. Its letters have another order."""
    between = list(itertools.combinations(CHICKWTS, 2))
    raw = [stats.mannwhitneyu(CHICKWTS[one], CHICKWTS[two], method='asymptotic').pvalue for one, two in between]
    different = {frozenset(pair) for pair, p in zip(between, holm(raw), strict=True) if p < 0.05}
    letters = compact_letters(sorted(CHICKWTS), different)
    published = {
        'casein': 'a', 'horsebean': 'b', 'linseed': 'bc', 'meatmeal': 'ac', 'soybean': 'c', 'sunflower': 'a',
    }  # fmt: skip
    for one, two in between:
        assert bool(set(letters[one]) & set(letters[two])) == bool(set(published[one]) & set(published[two]))


def test_plant_growth_ascending_as_emmeans() -> None:
    assert by_tukey(PLANT_GROWTH, descending=False) == {'trt1': 'a', 'ctrl': 'ab', 'trt2': 'b'}


def test_insect_sprays_has_two_families() -> None:
    letters = by_tukey(INSECT_SPRAYS, descending=True)
    assert {name for name, letter in letters.items() if letter == 'a'} == {'A', 'B', 'F'}
    assert {name for name, letter in letters.items() if letter == 'b'} == {'C', 'D', 'E'}


def random_relation(draws: random.Random, count: int) -> tuple[list[str], set[Pair]]:
    names = [f'g{index}' for index in range(count)]
    share = draws.random()
    return names, {frozenset(pair) for pair in itertools.combinations(names, 2) if draws.random() < share}


@pytest.mark.parametrize('seed', range(60))
def test_letters_are_shared_by_exactly_the_groups_that_do_not_differ(seed: int) -> None:
    draws = random.Random(seed)
    names, different = random_relation(draws, draws.randint(2, 9))
    letters = compact_letters(names, different)
    assert list(letters) == names
    for one, two in itertools.combinations(names, 2):
        assert bool(set(letters[one]) & set(letters[two])) == (frozenset((one, two)) not in different)
    used = sorted(set(''.join(letters.values())))
    assert used == list('abcdefghijklmnopqrstuvwxyz'[: len(used)])
    assert letters[names[0]].startswith('a')


@pytest.mark.parametrize('seed', range(60))
def test_no_letter_can_be_dropped(seed: int) -> None:
    draws = random.Random(seed)
    names, different = random_relation(draws, draws.randint(2, 9))
    letters = compact_letters(names, different)
    for dropped in set(''.join(letters.values())):
        rest = {name: set(own) - {dropped} for name, own in letters.items()}
        whole = all(rest.values()) and all(
            rest[one] & rest[two]
            for one, two in itertools.combinations(names, 2)
            if frozenset((one, two)) not in different
        )
        assert not whole, f'{dropped} is not needed in {letters}'


@pytest.mark.parametrize('seed', range(30))
def test_another_order_does_not_change_who_shares(seed: int) -> None:
    draws = random.Random(seed)
    names, different = random_relation(draws, draws.randint(2, 9))
    one = compact_letters(names, different)
    draws.shuffle(names)
    other = compact_letters(names, different)
    for pair in itertools.combinations(names, 2):
        assert bool(set(one[pair[0]]) & set(one[pair[1]])) == bool(set(other[pair[0]]) & set(other[pair[1]]))


def test_refusals_name_what_is_wrong() -> None:
    with pytest.raises(ValueError, match='z is not the name of a group'):
        compact_letters('xy', pairs('xz'))
    with pytest.raises(ValueError, match='appears twice'):
        compact_letters('xx', set())
    many = [str(index) for index in range(53)]
    with pytest.raises(ValueError, match='53 letters are needed'):
        compact_letters(many, {frozenset(pair) for pair in itertools.combinations(many, 2)})
