import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tidegauge_analysis.repeat import leaves, main, make_page, unit_of

Json = dict[str, Any]
HOSTILE = '</script><b>&{n1}'


def documents(count: int) -> list[Json]:
    random = np.random.default_rng(3)
    return [
        {
            'date': f'2026-01-0{at % 9 + 1}',
            'machine': {'cores': 2, 'cpu': HOSTILE},
            'summary': {'throughput': float(random.normal(5000, 100)), 'dropped': 0},
            'costs': [
                {'operation': 'READ', 'p99Ms': float(random.normal(4, 0.2))},
                {'operation': 'UPDATE', 'p99Ms': float(random.normal(6, 0.2))},
            ],
            'raw': list(range(1000)),
        }
        for at in range(count)
    ]


def test_leaves_are_named_by_their_place_and_text() -> None:
    assert dict(leaves(documents(1)[0])).keys() == {
        'summary.throughput', 'summary.dropped', 'costs[READ].p99Ms', 'costs[UPDATE].p99Ms',
    }  # fmt: skip
    assert dict(leaves({'trials': [{'way': 'a', 'n': 1}, {'way': 'a', 'n': 2}], 'ok': True})) == {
        'trials[0].n': 1.0,
        'trials[1].n': 2.0,
    }


def test_units_follow_the_names() -> None:
    assert [unit_of(path) for path in ('a.throughput', 'b.p99Ms', 'c.cpuMicros', 'd.count')] == ['/s', 'ms', 'µs', '']
    latencies = ('READ.figures.AverageLatency(us)', 'READ.latency.p99', 'READ.intended.mean', 'READ.latency.count')
    assert [unit_of(path) for path in latencies] == ['µs', 'µs', 'µs', '']


def test_the_page_has_mean_interval_and_every_value(tmp_path: Path) -> None:
    given = documents(5)
    files = []
    for at, document in enumerate(given):
        files.append(tmp_path / f'run-{at}.json')
        files[-1].write_text(json.dumps(document), encoding='utf-8')
    out = tmp_path / 'out.html'
    assert main(['--command', f'npm run x {HOSTILE}', '--quick', str(out), *map(str, files)]) == 0
    text = out.read_text(encoding='utf-8')
    assert '</script><b>' not in text
    assert 'quick results' in text
    embedded = json.loads(text.split('id="numbers-json">')[1].split('</script>')[0])
    values = [one['summary']['throughput'] for one in given]
    raw = [e['value'] for e in embedded['numbers'] if e['inputs'].get('path') == 'summary.throughput']
    assert raw == values
    mean = next(e for e in embedded['numbers'] if e['formula'] == 'mean' and e['unit'] == '/s')
    assert mean['value'] == pytest.approx(np.mean(values), rel=1e-12)
    assert 'run-0.json' in text
    assert '5 runs are too few' in text


def test_a_series_that_depends_on_its_past_is_noted() -> None:
    given = [{'throughput': 100.0 + at} for at in range(12)]
    page = make_page(given, [f'{at}.json' for at in range(12)], 'x', quick=False)
    assert any('the intervals are too narrow: throughput' in note for note in page.notes)
    assert page.stamp == ''


def test_invalid_runs_are_left_out_and_too_few_runs_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [{'valid': at != 1, 'throughput': 100.0 + at} for at in range(3)]
    page = make_page(given, ['a', 'b', 'c'], 'x', quick=False)
    assert '1 of 3 runs are invalid and were left out.' in page.notes
    file = tmp_path / 'a.json'
    file.write_text('{"valid": false}', encoding='utf-8')
    assert main([str(tmp_path / 'o.html'), str(file), str(file)]) == 1
    assert '0 of 2 runs are valid' in capsys.readouterr().err
    assert not (tmp_path / 'o.html').exists()


def test_runs_of_different_commands_are_refused() -> None:
    with pytest.raises(ValueError, match='no number in common'):
        make_page([{'a': 1}, {'b': 2}], ['a', 'b'], 'x', quick=False)


def test_figures_that_never_vary_need_no_picture() -> None:
    page = make_page([{'a': 1}, {'a': 1}], ['a', 'b'], 'x', quick=False)
    assert page.picture is None
    assert '1 of 1 figures are the same in every run.' in page.notes
