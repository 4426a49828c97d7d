import pytest

from sample_analysis import Sample
from tidegauge_analysis.document import to_json
from tidegauge_analysis.metrics import in_words
from tidegauge_analysis.present import combination, fill, numbers_in, plain, show, show_estimate, show_p


@pytest.mark.parametrize(
    ('value', 'unit', 'text'),
    [
        (5172.4, 'ops/s', '5,172\xa0ops/s'),
        (0.012345, 'ms', '0.01235\xa0ms'),
        (3, 'runs', '3\xa0runs'),
        (0.9, '', '0.9'),
        (-1.25, 's', '\N{MINUS SIGN}1.25\xa0s'),
        (1_234_567, 'bytes', '1.235\xa0MB'),
        (12, 'bytes/s', '12\xa0B/s'),
        (12.5, '%', '12.5%'),
        (1e-9, '', '1.000e\N{MINUS SIGN}09'),
        (0, 'ms', '0\xa0ms'),
        (None, 'ms', '\N{EN DASH}'),
    ],
)
def test_a_value_is_shown_with_about_four_digits_and_its_unit(value: float | None, unit: str, text: str) -> None:
    assert show(value, unit) == text


def test_an_estimate_is_rounded_by_its_interval() -> None:
    sample = Sample()
    assert show_estimate(to_json(sample.estimate(5172.43, 4981.2, 5363.9, 'ops/s'))) == '5,170 [4,980, 5,360]\xa0ops/s'
    assert show_estimate(to_json(sample.estimate(1.23456, 1.23, 1.24, 'ms'))) == '1.2346 [1.2300, 1.2400]\xa0ms'
    assert show_estimate(to_json(sample.estimate(12.5, None, None, 's'))) == '12.5\xa0s'
    assert show_estimate(to_json(sample.none('s', 'none'))) == '\N{EN DASH}'
    of_sizes = sample.estimate(1_234_567, 1_210_000, 1_260_000, 'bytes')
    assert show_estimate(to_json(of_sizes)) == '1.235\xa0MB [1.210\xa0MB, 1.260\xa0MB]'
    # A bound that is not zero is not shown as zero.
    assert show_estimate(to_json(sample.estimate(1.5, 0.02, 41, ''))) == '1.50 [0.02, 41.00]'
    assert show_estimate(to_json(sample.estimate(1, -80, 120, ''))) == '0 [\N{MINUS SIGN}80, 120]'


def test_a_sentence_shows_an_estimate_with_the_digits_of_its_interval() -> None:
    values = {'n1': 1.83333, 'n2': 1.61234, 'n3': 2.08765, 'n4': 0.123456}
    numbers = {name: {'id': name, 'value': value, 'unit': ''} for name, value in values.items()}
    assert plain('{n1} ({n2!} to {n3!}), and {n4}', numbers) == '1.83 (1.61 to 2.09), and 0.1235'
    assert plain('A has {n1} times that of B ({n2!} to {n3!})', numbers) == 'A has 1.83 times that of B (1.61 to 2.09)'
    # The bounds are not those of the first number.
    assert plain('{n4} of {n1} ({n2!} to {n3!})', numbers) == '0.1235 of 1.83 (1.61 to 2.09)'


def test_a_small_p_is_shown_as_below_a_bound() -> None:
    assert show_p(1e-9) == '<\xa00.001'
    assert show_p(0.0412) == '0.041'


def test_placeholders_become_numbers() -> None:
    numbers = {'n1': {'id': 'n1', 'value': 2.5, 'unit': 'ms', 'formula': 'mean'}}
    assert plain('It takes {n1}.', numbers) == 'It takes 2.5\xa0ms.'
    assert plain('{n1} and {x}', numbers) == '2.5\xa0ms and {x}'
    with pytest.raises(KeyError):
        fill('{n2}', numbers)


def test_p_values_in_sentences_have_their_own_form() -> None:
    assert plain('p {n1}', {'n1': {'id': 'n1', 'value': 1e-9, 'unit': '', 'formula': 'anova_p'}}) == 'p <\xa00.001'


def test_levels_are_shown_as_the_experiment_file_has_them() -> None:
    assert combination({'store': 'hbase', 'rf': 3.0, 'sync': True}) == 'store hbase, rf 3, sync true'


def test_all_numbers_of_a_document_are_found_once() -> None:
    sample = Sample()
    document = {'a': [to_json(sample.estimate(1, 0, 2, ''))], 'b': to_json(sample.numbers([1, 2], '', 'histogram'))}
    assert sorted(number['id'] for number in numbers_in(document)) == ['n1', 'n2', 'n3', 'n4']


def test_a_placeholder_can_leave_out_the_unit() -> None:
    numbers = {'n1': {'id': 'n1', 'value': 1.5, 'unit': 'ms'}, 'n2': {'id': 'n2', 'value': 2048, 'unit': 'bytes'}}
    assert plain('{n1} or {n1!}', numbers) == '1.5\N{NO-BREAK SPACE}ms or 1.5'
    assert plain('{n2!}', numbers) == plain('{n2}', numbers)


@pytest.mark.parametrize(
    ('name', 'words'),
    [
        ('throughput', 'throughput'),
        ('read.mean', 'mean read latency'),
        ('all.p999', '99.9th percentile of the latency'),
        ('rmw.p99', '99th percentile of the read-modify-write latency'),
        ('update.sd', 'standard deviation of the update latency'),
        ('beauty', 'beauty'),
    ],
)
def test_metrics_have_words(name: str, words: str) -> None:
    assert in_words(name) == words
