"""Temperatures, voltages, fans and power of this machine, from the kernel's hwmon drivers (lm-sensors).

BROKER=192.0.2.11 python3 hwmon.py
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from outbox import run

# The kernel's units: thousandths of a degree, V and A; millionths of a W; revolutions per minute.
# https://docs.kernel.org/hwmon/sysfs-interface.html
FACTORS = {'temp': 1e-3, 'in': 1e-3, 'curr': 1e-3, 'humidity': 1e-3, 'power': 1e-6, 'fan': 1}
CHIPS = Path(os.environ.get('SYSFS', '/sys')) / 'class/hwmon'


def word(text: str) -> str:
    """Return a text as one word of a topic."""
    return re.sub(r'[^\w.-]+', '_', text.strip())


def measure() -> Iterator[tuple[str, str, float]]:
    """Read every input of every chip, such as hwmon0/temp1_input. Some inputs have a label."""
    for chip in sorted(CHIPS.glob('hwmon*')):
        device = f'{word((chip / "name").read_text())}-{chip.name}'
        for file in sorted(chip.glob('*_input')):
            channel = file.name.removesuffix('_input')
            kind = channel.rstrip('0123456789')
            label = chip / f'{channel}_label'
            metric = word(label.read_text()) if label.exists() else channel
            if kind in FACTORS:
                yield device, metric, round(int(file.read_text()) * FACTORS[kind], 6)


run(measure)
