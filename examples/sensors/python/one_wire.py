"""Thermometers on a 1-Wire bus: DS18B20, DS18S20 and others that the kernel's driver w1_therm reads.

On a Raspberry Pi, `dtoverlay=w1-gpio` in config.txt starts the bus.
BROKER=192.0.2.11 python3 one_wire.py
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from outbox import run

BUS = Path(os.environ.get('SYSFS', '/sys')) / 'bus/w1/devices'
FAMILIES = {'10', '22', '28', '3b', '42'}
POWER_ON = 85_000  # what a DS18B20 reports before its first measurement


def measure() -> Iterator[tuple[str, str, float]]:
    """Read every thermometer. The first line ends with YES when the checksum is right, the second has t=23125."""
    for chip in sorted(BUS.glob('*-*')):
        if chip.name[:2] not in FAMILIES:
            continue
        try:
            text = (chip / 'w1_slave').read_text()
        except OSError as error:  # unplugged
            print(chip.name, error)
            continue
        found = re.search(r'YES\n.* t=(-?\d+)', text)
        if found is None or int(found[1]) == POWER_ON:
            print(chip.name, 'no valid measurement:', text)
        else:
            yield chip.name, 'temperature', int(found[1]) / 1000


run(measure)
