"""Client of the Tidegauge HTTP API. It uses the standard library only."""

from tidegauge_client.client import Client
from tidegauge_client.errors import ProblemError, SendError, TidegaugeError, UnreachableError
from tidegauge_client.kept import KeptReadings
from tidegauge_client.live import Gap, NewReadings
from tidegauge_client.types import Aggregate, Bucket, Delivery, Device, DeviceWithUnits, NewReading, Reading

__version__ = '0.2.0'
__all__ = [
    'Aggregate',
    'Bucket',
    'Client',
    'Delivery',
    'Device',
    'DeviceWithUnits',
    'Gap',
    'KeptReadings',
    'NewReading',
    'NewReadings',
    'ProblemError',
    'Reading',
    'SendError',
    'TidegaugeError',
    'UnreachableError',
]
