"""A meter or an inverter that speaks Modbus TCP. Take the registers from its manual.

python3 -m pip install pymodbus==3.16.1
METER=192.0.2.20 BROKER=192.0.2.11 python3 modbus.py
"""

import os
from collections.abc import Iterator

from outbox import run
from pymodbus import ModbusException
from pymodbus.client import ModbusTcpClient

TYPES = ModbusTcpClient.DATATYPE
# Metric, address of the first register (the number in the manual less 40001 or 1), type, factor.
REGISTERS = [
    ('voltage', 0, TYPES.UINT16, 0.1),
    ('power', 1, TYPES.INT32, 1),
    ('frequency', 3, TYPES.FLOAT32, 1),
]
DEVICE = os.environ.get('DEVICE', 'meter')
meter = ModbusTcpClient(os.environ.get('METER', '127.0.0.1'), port=int(os.environ.get('METER_PORT', '502')))


def measure() -> Iterator[tuple[str, str, float]]:
    """Read the holding registers one value at a time. The client connects again after an error."""
    for metric, address, kind, factor in REGISTERS:
        try:
            answer = meter.read_holding_registers(address, count=kind.value[1], device_id=1)
        except ModbusException as error:
            raise OSError(error) from error
        if answer.isError():
            print(metric, answer)
        elif isinstance(value := meter.convert_from_registers(answer.registers, kind), (int, float)):
            yield DEVICE, metric, round(value * factor, 6)


run(measure)
