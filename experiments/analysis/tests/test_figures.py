import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from sample_analysis import HOSTILE, sample_analysis
from tidegauge_analysis import load_plots, plots
from tidegauge_analysis.figures import Drawing
from tidegauge_analysis.present import show_estimate

ANALYSIS, _ = sample_analysis()
STAMP = 'quick results'
SVG = '{http://www.w3.org/2000/svg}'
Json = dict[str, Any]


def reads() -> list[Json]:
    return [row for row in ANALYSIS['latencies'] if row['operation'] == 'READ']


def added() -> list[Json]:
    return [row for row in ANALYSIS['drivers'] if row['metric'] == 'read.mean']


DRAWN: dict[str, Callable[[], Drawing | None]] = {
    'bars': lambda: plots.bars(ANALYSIS['families'][:2], 'bars', STAMP),
    'one-run': lambda: plots.bars(ANALYSIS['families'][-1:], 'one-run', STAMP),
    'boxes': lambda: plots.boxes(ANALYSIS['families'][:1], 'boxes', STAMP, ['three-sigma', 'tukey']),
    'drivers': lambda: plots.drivers(added(), 'drivers', STAMP),
    'series': lambda: plots.trial_series(ANALYSIS['series'], 'series', STAMP),
    'histograms': lambda: load_plots.histograms(reads(), 'histograms', STAMP),
    'timelines': lambda: load_plots.timelines(reads(), 'timelines', STAMP),
    'curves': lambda: load_plots.curves(ANALYSIS['curves'], 'curves', STAMP),
    'processors': lambda: load_plots.resources(ANALYSIS['resources'], 'r', STAMP)[0],
    'disks': lambda: load_plots.resources(ANALYSIS['resources'], 'r', STAMP)[1],
}
WORDS = {
    'bars': ['cassandra, raw', 'workload c', 'throughput (ops/s), higher is better'],
    'one-run': ['postgres, raw', 'running time (s), lower is better'],
    'boxes': ['hbase, app', 'Dots: beyond 3 sd from the mean'],
    'drivers': ['cassandra', 'raw', 'app', 'app \N{MINUS SIGN} raw (ms), paired'],
    'series': ['no steady state', 'flat', 'trial'],
    'histograms': ['postgres, a, raw'],
    'timelines': ['99th percentile', 'seconds from the start of the run'],
    'curves': ['overload', 'target throughput (ops/s)', 'postgres'],
    'processors': ['processors in use', 'memory (MB)'],
    'disks': ['written (MB per run)', 'not known'],
}


def test_labels_leave_out_levels_that_say_nothing() -> None:
    factors = [
        {'store': 'cassandra', 'nodes': 3, 'fault': 'none', 'consistency': 'ONE'},
        {'store': 'hbase', 'nodes': 3, 'fault': 'none', 'consistency': 'default'},
        {'store': 'hbase', 'nodes': 3, 'fault': 'kill-node', 'consistency': 'default'},
    ]
    rows = [{'factors': each, 'label': f'full {at}'} for at, each in enumerate(factors)]
    assert plots.short_labels(rows) == ['cassandra, consistency ONE', 'hbase', 'hbase, fault kill-node']
    # Nothing is left of a single row, and two rows must not look alike.
    assert plots.short_labels(rows[:1]) == ['full 0']
    assert plots.short_labels([*rows, rows[1]]) == ['full 0', 'full 1', 'full 2', 'full 1']


def draw(name: str) -> Drawing:
    drawing = DRAWN[name]()
    assert drawing is not None
    return drawing


@pytest.mark.parametrize('name', DRAWN)
def test_a_figure_has_its_text_its_stamp_and_a_description(name: str) -> None:
    drawing = draw(name)
    root = ET.fromstring(drawing.svg)  # noqa: S314 - made by us
    texts = {''.join(element.itertext()).strip() for element in root.iter(f'{SVG}text')}
    assert texts >= {*WORDS[name], STAMP.upper()}
    assert root.get('role') == 'img'
    labels = {element.get('id'): element.text for element in root}
    assert labels[root.get('aria-labelledby')] == drawing.title
    assert labels[root.get('aria-describedby')] == drawing.description
    assert not re.search(r'\bnan\b', drawing.svg, re.IGNORECASE)
    assert drawing.png.startswith(b'\x89PNG')


@pytest.mark.parametrize('name', ['bars', 'series', 'curves'])
def test_a_figure_has_the_same_bytes_each_time(name: str) -> None:
    assert draw(name) == draw(name)


def test_a_description_has_the_values() -> None:
    group = ANALYSIS['families'][0]['groups'][0]
    assert f': {show_estimate(group["mean"])}, letter' in draw('bars').description
    assert f', letter {group["letters"]}' in draw('bars').description


def test_hostile_text_stays_text() -> None:
    family = ANALYSIS['families'][0]
    groups = [{**family['groups'][0], 'label': HOSTILE}, *family['groups'][1:]]
    drawing = plots.bars([{**family, 'groups': groups, 'title': HOSTILE}], 'hostile', '')
    assert drawing is not None
    assert '<b>' not in drawing.svg
    root = ET.fromstring(drawing.svg)  # noqa: S314 - made by us
    texts = ' '.join(''.join(element.itertext()) for element in root.iter(f'{SVG}text'))
    assert '<b>50 % &' in texts
    assert '$x_1$' in texts


def test_the_inline_figure_takes_its_colours_from_the_page() -> None:
    drawing = draw('bars')
    assert drawing.inline.startswith('<svg ')
    assert 'var(--ink, #1b1f24)' in drawing.inline
    assert not re.search(r'(?<!, )#[0-9a-f]{6}\b', drawing.inline)
    assert 'var(' not in drawing.svg


def box(rule: str, values: list[float]) -> tuple[list[float], list[float]]:
    """The five lines of a box from the bottom to the top, and its dots."""
    drawn = plots.BOXES[rule][0]({'values': [{'value': {'value': value}} for value in values]})
    return [float(drawn[key]) for key in ('whislo', 'q1', 'med', 'q3', 'whishi')], list(drawn['fliers'])


def test_boxes_follow_the_rule_that_the_study_names() -> None:
    # The mean is 14.5 and the standard deviation is 30.2: no value is beyond three of them.
    values = [1.0, 2, 3, 4, 5, 6, 7, 8, 9, 100]
    assert box('tukey', values) == ([1, 3.25, 5.5, 7.75, 9], [100])
    assert box('three-sigma', values) == ([1, 3.25, 5.5, 7.75, 100], [])
    # The mean is 10.5 and the standard deviation is 2.3: one value is beyond three of them, at the upper line.
    values = [10.0] * 9 + [9.0, 11.0] * 5 + [20.0]
    assert box('three-sigma', values) == ([9, 9.75, 10, 11, 20], [20])
    family = ANALYSIS['families'][0]
    both, one = (plots.boxes([family], 'boxes', '', rules) for rules in (['three-sigma', 'tukey'], ['three-sigma']))
    assert both is not None
    assert one is not None
    assert 'IQR' in both.svg
    assert 'IQR' not in one.svg


def test_ids_of_two_figures_differ() -> None:
    def ids(name: str) -> set[str]:
        return set(re.findall(r'\bid="([^"]+)"', draw(name).inline))

    assert not ids('bars') & ids('boxes')


def test_nothing_is_drawn_without_values() -> None:
    family = ANALYSIS['families'][0]
    empty = {**family, 'groups': [{**group, 'values': []} for group in family['groups']]}
    assert plots.bars([empty], 'empty', '') is None
    assert plots.boxes([empty], 'empty', '', ['tukey']) is None
    assert plots.drivers([], 'empty', '') is None
    assert plots.trial_series([], 'empty', '') is None
    assert load_plots.histograms([], 'empty', '') is None
    assert load_plots.timelines([], 'empty', '') is None
    assert load_plots.curves([], 'empty', '') is None
    assert load_plots.resources([], 'empty', '') == []
