import json
from pathlib import Path

import pytest

from tidegauge_analysis.peers import main


@pytest.mark.parametrize('quick', [False, True])
def test_a_bar_for_each_consumer(tmp_path: Path, quick: bool) -> None:  # noqa: FBT001 - a parameter of the test
    trial = {'perSecond': 90_000.4, 'cpuMicros': 6.14, 'mebibytes': 200.6}
    results = [{'consumer': name, 'trials': [trial, trial], **trial} for name in ('first', 'second', 'third')]
    figures, out = tmp_path / 'figures.json', tmp_path / 'out.svg'
    figures.write_text(json.dumps({'quick': quick, 'results': results}), encoding='utf-8')
    assert main([str(figures), str(out)]) == 0
    svg = out.read_text(encoding='utf-8')
    assert 'first: 90,000 messages/s, 6.1 µs of CPU per message, 201 MiB. second: ' in svg
    assert all(f'>{name}</text>' in svg for name in ('first', 'second', 'third'))
    assert ('QUICK RESULTS' in svg) is quick
