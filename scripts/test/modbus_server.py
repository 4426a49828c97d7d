"""A Modbus TCP server for tests, with the registers of examples/sensors/python/modbus.py: modbus_server.py PORT."""

import sys

from pymodbus.server import StartTcpServer
from pymodbus.simulator import DataType, SimData, SimDevice

registers = [
    SimData(0, values=2304, datatype=DataType.UINT16),
    SimData(1, values=-1250, datatype=DataType.INT32),
    SimData(3, values=50.03125, datatype=DataType.FLOAT32),
]
print('ready', flush=True)
StartTcpServer(context=SimDevice(1, registers), address=('127.0.0.1', int(sys.argv[1])))
