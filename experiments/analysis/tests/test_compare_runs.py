import json
from pathlib import Path
from typing import Any

import pytest

from tidegauge_analysis.compare_runs import main

Json = dict[str, Any]


def runs(*throughputs: float, version: str = '1', threads: int = 2, valid: bool = True) -> list[Json]:
    return [
        {
            'version': version,
            'valid': valid,
            'machine': {'cores': 2},
            'parts': [{'profile': 'records', 'model': {'threads': threads}}],
            'summary': {
                'throughput': throughput,
                'operations': {'READ': {'latency': {'count': 9, 'mean': 1e6 / throughput, 'p99': 5000}}},
            },
        }
        for throughput in throughputs
    ]


def compared(folder: Path, one: object, two: object) -> int:
    files = [folder / 'a.json', folder / 'b.json']
    for file, content in zip(files, (one, two), strict=True):
        file.write_text(json.dumps(content))
    return main([str(file) for file in files])


def test_the_runs_of_two_versions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = runs(1000, 1010, 990, 1005, 995)
    invalid = runs(1, valid=False)
    assert compared(tmp_path, [*before, *invalid], runs(1200, 1190, 1210, 1195, 1205, version='2')) == 0
    assert capsys.readouterr().out.splitlines() == [
        'A has 5 valid runs, B has 5.',
        '  version: "1" in A, "2" in B',
        'throughput: 1000 and 1200 /s; B is 1.200 times A (1.187 to 1.213): different',
        'operations.READ.latency.mean: 1000.1 and 833.36 µs; B is 0.833 times A (0.824 to 0.842): different',
        'operations.READ.latency.p99: 5000 and 5000 µs; B is 1.000 times A',
    ]


def test_one_run_of_other_work_has_a_ratio_and_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compared(tmp_path, runs(1000)[0], runs(1500, threads=4)[0]) == 0
    text = capsys.readouterr().out
    assert 'They do different work' in text
    assert 'parts[0].model.threads: 2 in A, 4 in B' in text
    assert 'repeat both with --repeat 5' in text
    assert 'throughput: 1000 and 1500 /s; B is 1.500 times A\n' in text


@pytest.mark.parametrize(
    ('content', 'reason'),
    [({'a': 1}, 'has no figures of npm run loadtest'), (runs(1, valid=False), 'has no valid run')],
)
def test_files_without_figures_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: object, reason: str
) -> None:
    assert compared(tmp_path, runs(1), content) == 1
    assert reason in capsys.readouterr().err
    assert main([str(tmp_path / 'a.json'), str(tmp_path / 'none.json')]) == 1
    assert 'none.json cannot be read: No such file or directory\n' in capsys.readouterr().err
