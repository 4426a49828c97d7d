from __future__ import annotations

import tomllib
from pathlib import Path

from tidegauge_sim.options import FLAGS, Flag

README = Path(__file__).parents[2] / 'README.md'
ROOT = README.parent
SECTION = '## Settings\n'


def row(flag: Flag) -> str:
    default = 'off' if flag.is_switch else f'`{flag.default}`' if flag.default is not None else ''
    takes = 'no value' if flag.is_switch else flag.takes
    return f'| `--{flag.name}` | `{flag.variable}` | {takes} | {default} | {flag.purpose} |'


def test_the_table_of_settings_equals_the_flags() -> None:
    section = README.read_text('utf-8').partition(SECTION)[2].partition('\n## ')[0]
    rows = [line for line in section.splitlines() if line.startswith('| `--')]
    assert rows == [row(flag) for flag in FLAGS]


def test_the_requirements_pin_the_dependencies_of_the_package() -> None:
    text = (ROOT / 'requirements.txt').read_text('utf-8')
    locked = [line.split()[0] for line in text.splitlines() if '==' in line]
    project = tomllib.loads((ROOT / 'pyproject.toml').read_text('utf-8'))
    assert locked == project['project']['dependencies']
