"""Histograms, curves and logarithmic axes of operations that are known."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from results import Truth, write_results
from sample_analysis import sample_analysis
from tidegauge_analysis import load_plots
from tidegauge_analysis.document import Analysis, to_json
from tidegauge_analysis.figures import canvas
from tidegauge_analysis.report import analyse

Json = dict[str, Any]


def one_run(folder: Path, latencies: list[int]) -> Analysis:
    """The analysis of results in which one run has reads of these latencies, in microseconds."""
    truth = Truth(
        hard={'store': ['postgres']}, easy={'driver': ['raw']}, trials=2, operations=len(latencies), per=[],
        metrics=['read.mean'], exactly=latencies,
    )  # fmt: skip
    return analyse(write_results(folder / 'results', truth))[0]


def test_a_known_distribution_gives_known_bins(tmp_path: Path) -> None:
    # Twenty bins for each power of ten: the edges around 1 ms are 0.891, 1 and 1.122 ms.
    given = [900] * 3 + [1000] * 4 + [1100] * 2 + [10_000]
    (found,) = one_run(tmp_path, given).latencies
    counts = dict(zip(found.histogram.edges, found.histogram.counts.values, strict=False))
    filled = {round(edge, 3): count for edge, count in counts.items() if count}
    assert filled == {0.891: 3, 1.0: 6, 10.0: 1}
    assert found.operations.value == 10
    assert len(found.histogram.edges) == len(found.histogram.counts.values) + 1
    assert (found.minimum.value, found.mean.value, found.maximum.value) == (0.9, 1.89, 10.0)


def test_a_histogram_shows_its_bins_as_heights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Any] = []

    def kept(*given: Any, **grid: Any) -> Any:  # noqa: ANN401 - as canvas
        figure, axes = canvas(*given, **grid)
        drawn.extend(axis for row in axes for axis in row)
        return figure, axes

    monkeypatch.setattr('tidegauge_analysis.load_plots.canvas', kept)
    rows = to_json(one_run(tmp_path, [900] * 2 + [1000] * 4 + [2000] * 1))['latencies']
    assert load_plots.histograms(rows, 'histogram', '') is not None
    heights, edges, _ = drawn[0].patches[0].get_data()
    filled = {round(float(edges[at]), 3): height for at, height in enumerate(heights) if height}
    assert filled == {0.891: 0.5, 1.0: 1.0, 1.995: 0.25}


@pytest.fixture(scope='module')
def loads(tmp_path_factory: pytest.TempPathFactory) -> Json:
    """Reads of 2 ms that reach at most 300 operations per second, with targets below and above."""
    truth = Truth(
        hard={'store': ['postgres']}, easy={'target': [100, 200, 400, 800], 'driver': ['raw']}, trials=4, per=[],
        groups=['target'], metrics=['read.mean', 'cpu'], capacity=300, operations=400,
        fixed={'threads': 1, 'records': 1000, 'fields': 10},
    )  # fmt: skip
    return to_json(analyse(write_results(tmp_path_factory.mktemp('loads') / 'results', truth))[0])


def test_a_known_curve_gives_known_points_and_its_overload(loads: Json) -> None:
    (curve,) = loads['curves']
    assert [point['load'] for point in curve['points']] == [100, 200, 400, 800]
    achieved = [point['achieved']['value']['value'] for point in curve['points']]
    assert achieved == pytest.approx([100, 200, 300, 300], rel=0.01)
    assert [point['target']['value'] for point in curve['points']] == [100, 200, 400, 800]
    assert [point['latency']['value']['value'] for point in curve['points']] == pytest.approx([2.0] * 4, rel=0.1)
    assert curve['overload'] == 2
    drawing = load_plots.curves([curve], 'curves', '')
    assert drawing is not None
    assert 'overloaded from point 3' in drawing.description


def test_a_logarithmic_axis_has_plain_numbers() -> None:
    rows = sample_analysis()[0]['curves']
    for point, latency in zip(rows[0]['points'], np.geomspace(0.5, 2000, len(rows[0]['points'])), strict=True):
        for part in ('value', 'low', 'high'):
            point['latency'][part]['value'] = float(latency)
    drawing = load_plots.curves(rows, 'curves', '')
    assert drawing is not None
    assert 'mathdefault' not in drawing.svg
    assert '1,000' in drawing.svg
