import json
from pathlib import Path

import pytest

from results import Truth, write_results
from tidegauge_analysis.document import Json, to_json
from tidegauge_analysis.report import analyse
from tidegauge_analysis.sizing import main, markdown, need, scalings
from tidegauge_analysis.usl import Law, fit_scalability

LAW = Law(0.05, 0.002, 1000.0)
"""A latency of 1 ms with one node gives 1000 operations per second."""


@pytest.fixture(scope='module')
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp('sizing') / 'results'
    truth = Truth(
        hard={'store': ['cassandra'], 'nodes': [1, 2, 3, 4]}, easy={'workload': ['g'], 'driver': ['raw']},
        latency={'cassandra': 1000.0}, effect=lambda factors: LAW.at(1) / LAW.at(factors['nodes']),
        metrics=['throughput'], groups=['nodes'], per=['workload'], trials=6, operations=200, between_trials=0.005,
        fixed={'threads': 1, 'target': 0, 'records': 1000, 'fields': 10, 'rf': 2},
    )  # fmt: skip
    write_results(path, truth)
    (path / 'report').mkdir()
    (path / 'report' / 'analysis.json').write_text(json.dumps(to_json(analyse(path)[0])))
    return path


def test_boards_for_a_rate_and_a_retention_are_those_of_the_law(results: Path) -> None:
    analysis = json.loads((results / 'report' / 'analysis.json').read_text())
    (scaling,) = scalings(analysis)
    assert sorted(scaling.throughput) == [1, 2, 3, 4]
    assert scaling.factors == {'workload': 'g', 'rf': 2}
    assert scaling.bytes_per_record == pytest.approx(2100)
    sizes = sorted(scaling.throughput)
    fit = fit_scalability(sizes, [scaling.throughput[size] for size in sizes])
    assert fit.law.at(4) == pytest.approx(LAW.at(4), rel=0.03)
    small = need(fit, scaling, 100, 1)
    # Two copies need two boards, whatever the rate; 18 GB need two disks with 16 GB for data.
    assert (small.for_rate, small.for_retention, small.is_extrapolated) == (2, 2, False)
    large = need(fit, scaling, LAW.at(6) * 0.9, 1)
    assert large.is_extrapolated
    assert large.boards is not None
    assert large.boards >= 5
    assert need(fit, scaling, 1e6, 1).boards is None


def test_the_tables_mark_extrapolations(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(results), '--rate', '1000', '--rate', '1e6', '--retention-days', '1']) == 0
    text = capsys.readouterr().out
    assert '| workload g, rf 2 | 1, 2, 3, 4 |' in text
    assert 'not reached' in text
    assert 'an extrapolation by the law' in text
    assert main([str(results / 'nowhere')]) == 1
    assert 'cannot be read: No such file or directory: make the report first: npm run study' in capsys.readouterr().err


def test_too_few_numbers_of_nodes_give_a_reason(results: Path) -> None:
    analysis = json.loads((results / 'report' / 'analysis.json').read_text())
    for family in analysis['families']:
        family['groups'] = family['groups'][:3]
    text = markdown(analysis, [100], 1, 32e9)
    assert text.startswith('No combination has 4 numbers of nodes')
    assert 'the law needs 4 sizes' in text


def over_threads(folder: Path, law: Law) -> Json:
    """The analysis of results whose throughput over threads follows this law."""
    truth = Truth(
        hard={'store': ['cassandra']}, easy={'workload': ['g'], 'driver': ['raw'], 'threads': [1, 8, 16, 32, 64]},
        latency={'cassandra': 1000.0}, effect=lambda factors: law.at(1) / law.at(factors['threads']),
        metrics=['throughput'], groups=['store'], per=['workload', 'threads'], trials=4, operations=200,
        between_trials=0.005, fixed={'nodes': 1, 'target': 0, 'records': 1000, 'fields': 10, 'rf': 1},
    )  # fmt: skip
    write_results(folder, truth)
    return to_json(analyse(folder)[0])


def test_throughput_that_only_rises_has_no_peak_and_no_tiny_numbers(tmp_path: Path) -> None:
    text = markdown(over_threads(tmp_path, Law(0.2, 0.0, 1000.0)), [100], 1, 32e9)
    (row,) = [line for line in text.splitlines() if line.startswith('| workload g')]
    assert '| none |' in row
    assert '| 0 (0 to ' in row


def test_threads_have_a_law_and_no_boards(tmp_path: Path) -> None:
    peaked = Law(0.02, 0.001, 1000.0)
    analysis = over_threads(tmp_path, peaked)
    (scaling,) = scalings(analysis, 'threads')
    assert sorted(scaling.throughput) == [1, 8, 16, 32, 64]
    assert scalings(analysis, 'nodes') == []
    text = markdown(analysis, [100], 1, 32e9)
    assert '| measured threads |' in text
    assert 'Boards for the rate' not in text
    means = {size: sum(values) / len(values) for size, values in scaling.throughput.items()}
    assert max(means, key=means.__getitem__) == 32
    peak = fit_scalability(sorted(means), [scaling.throughput[size] for size in sorted(means)]).law.peak
    assert peak == pytest.approx(peaked.peak, rel=0.15)
