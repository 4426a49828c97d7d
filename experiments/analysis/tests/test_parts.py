"""Studies with parts, and the figures of sweeps."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from results import Truth, write_results
from tidegauge_analysis.document import Json, to_json
from tidegauge_analysis.report import analyse, write_report
from tidegauge_analysis.sweep_plots import curve_figures, sweeps

SVG = '{http://www.w3.org/2000/svg}'
PARTS = {
    'threads': {
        'levels': {'store': ['postgres'], 'driver': ['raw', 'app'], 'threads': [1, 4, 16], 'level': ['ONE']},
        'groups': ['threads'],
        'per': ['driver'],
    },
    'consistency': {
        'levels': {'store': ['postgres'], 'driver': ['raw'], 'threads': [1], 'level': ['ONE', 'QUORUM', 'ALL']},
        'groups': ['level'],
        'per': [],
    },
}


@pytest.fixture(scope='module')
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of all combinations, of which the parts have some."""
    truth = Truth(
        hard={'store': ['postgres']},
        easy={'driver': ['raw', 'app'], 'threads': [1, 4, 16], 'level': ['ONE', 'QUORUM', 'ALL']},
        fixed={'target': 0, 'records': 1000, 'fields': 10},
        metrics=['throughput', 'read.mean'],
        groups=['store'],
        per=['driver'],
        figures=['sweeps', 'curves'],
    )
    path = write_results(tmp_path_factory.mktemp('parts') / 'results', truth)
    plan = json.loads((path / 'plan.json').read_text())
    plan['study']['parts'] = PARTS
    (path / 'plan.json').write_text(json.dumps(plan))
    return path


@pytest.fixture(scope='module')
def document(results: Path) -> Json:
    """The analysis, as JSON."""
    return to_json(analyse(results)[0])


def test_each_part_is_analysed_on_its_own(document: Json) -> None:
    families = [family for family in document['families'] if family['metric'] == 'read.mean']
    found = [(family['part'], family['per'], [group['factors'] for group in family['groups']]) for family in families]
    assert found == [
        ('threads', {'driver': 'raw'}, [{'threads': 1}, {'threads': 4}, {'threads': 16}]),
        ('threads', {'driver': 'app'}, [{'threads': 1}, {'threads': 4}, {'threads': 16}]),
        ('consistency', {}, [{'level': 'ONE'}, {'level': 'QUORUM'}, {'level': 'ALL'}]),
    ]
    assert [family['title'] for family in families][1:] == [
        'Mean read latency (part threads, app)',
        'Mean read latency (part consistency)',
    ]
    assert len({family['id'] for family in document['families']}) == len(document['families'])
    assert all(group['n'] == 6 for family in families for group in family['groups'])


def test_a_combination_of_two_parts_has_the_same_runs_in_both(document: Json) -> None:
    [first, *_, last] = [family for family in document['families'] if family['metric'] == 'read.mean']
    base = [[value['run'] for value in family['groups'][0]['values']] for family in (first, last)]
    assert base[0] == base[1]


def test_curves_stay_in_their_part(document: Json) -> None:
    assert [(curve['part'], curve['label'], len(curve['points'])) for curve in document['curves']] == [
        ('threads', 'raw', 3),
        ('threads', 'app', 3),
    ]
    assert len(curve_figures(document['curves'], 'curves', '')) == 1
    many = [{**curve, 'part': name} for name in 'abcd' for curve in document['curves']]
    assert [drawing.name for drawing in curve_figures(many, 'curves', '')][:2] == [
        'curves-a-threads-read-mean-raw',
        'curves-a-threads-read-mean-app',
    ]


def test_a_sweep_has_a_figure_for_each_metric(document: Json) -> None:
    drawings = sweeps(document['families'], 'sweep', 'quick results')
    assert [drawing.name for drawing in drawings] == [
        'sweep-threads-threads-throughput',
        'sweep-threads-threads-read-mean',
        'sweep-consistency-level-throughput',
        'sweep-consistency-level-read-mean',
    ]
    roots = [ET.fromstring(drawing.svg) for drawing in drawings]  # noqa: S314 - made by us
    texts = [{''.join(text.itertext()).strip() for text in root.iter(f'{SVG}text')} for root in roots]
    assert texts[0] >= {'threads', 'driver raw', 'driver app', 'QUICK RESULTS'}
    assert texts[3] >= {'level', 'ONE', 'QUORUM', 'ALL', 'mean read latency (ms)'}


def test_categories_are_no_sweep_without_a_part(document: Json) -> None:
    categories = [family for family in document['families'] if family['part'] == 'consistency']
    assert sweeps([{**family, 'part': None} for family in categories], 'sweep', '') == []


def test_the_report_of_parts_is_recomputed(results: Path) -> None:
    page = write_report(results)
    assert 'Sweeps of one factor' in page.read_text()
    program = [sys.executable, str(results / 'report' / 'recompute.py'), str(results)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)  # noqa: S603 - our own program
    assert done.returncode == 0, done.stdout + done.stderr
