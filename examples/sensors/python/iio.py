"""Chips on I2C or SPI that have a kernel driver: air pressure, light, acceleration, analog inputs (Industrial I/O).

BROKER=192.0.2.11 python3 iio.py
"""

import os
from collections.abc import Iterator
from pathlib import Path

from outbox import run

CHIPS = Path(os.environ.get('SYSFS', '/sys')) / 'bus/iio/devices'


def part(chip: Path, channel: str, name: str, default: float) -> float:
    """Return the scale or the offset of a channel: its own, or the one of all channels of its kind."""
    for owner in (channel, channel.rstrip('0123456789'), channel.partition('_')[0]):
        if (file := chip / f'in_{owner}_{name}').exists():
            return float(file.read_text())
    return default


def measure() -> Iterator[tuple[str, str, float]]:
    """Read every channel, in the kernel's units: thousandths of a degree, a volt or a percent; kPa; lux.

    https://docs.kernel.org/iio/iio_devbuf.html and Documentation/ABI/testing/sysfs-bus-iio
    """
    for chip in sorted(CHIPS.glob('iio:device*')):
        device = f'{(chip / "name").read_text().strip()}-{chip.name.removeprefix("iio:")}'
        for file in sorted(chip.glob('in_*_input')):
            yield device, file.name[3:-6], float(file.read_text())
        for file in sorted(chip.glob('in_*_raw')):
            channel = file.name[3:-4]
            if not (chip / f'in_{channel}_input').exists():
                raw = int(file.read_text()) + part(chip, channel, 'offset', 0)
                yield device, channel, round(raw * part(chip, channel, 'scale', 1), 6)


run(measure)
