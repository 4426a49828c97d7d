"""Writes as Home Assistant's integration "influxdb" does, with the client of InfluxDB 1 or 2. The key is in KEY.

Usage: write.py 1|2 HOST PORT
"""

import os
import sys
from datetime import UTC, datetime

from influxdb import InfluxDBClient
from influxdb_client import InfluxDBClient as InfluxDBClient2
from influxdb_client.client.write_api import ASYNCHRONOUS, SYNCHRONOUS
from influxdb_client.rest import ApiException

TIME = datetime(2026, 11, 21, 14, 0, 0, 250000, tzinfo=UTC)
# The points of two changes of a state: measurement is the unit, and texts end in _str.
POINTS = [
    {
        'measurement': '°C',
        'tags': {'domain': 'sensor', 'entity_id': 'living_room_temperature'},
        'time': TIME,
        'fields': {'value': 21.5, 'friendly_name_str': 'Living room, "north"', 'battery': 97.0},
    },
    {
        'measurement': 'light.desk lamp',
        'tags': {'domain': 'light', 'entity_id': 'desk_lamp'},
        'time': TIME,
        'fields': {'value': 1.0, 'state': 'on', 'supported': True, 'count': 3},
    },
]

version, host, port = sys.argv[1:]
key = os.environ['KEY']
if version == '1':
    old = InfluxDBClient(host, int(port), username='home', password=key, database='home', timeout=5)
    old.write_points([])
    old.write_points(POINTS)
    old.close()
else:
    new = InfluxDBClient2(f'http://{host}:{port}', key, org='home', timeout=5000, verify_ssl=True)
    # The integration takes the answer 400 to an empty write as a sign that address and key are right.
    try:
        new.write_api(write_options=SYNCHRONOUS).write(bucket='home', record=b'')
    except ApiException as error:
        if error.status != 400:
            raise
    new.write_api(write_options=ASYNCHRONOUS).write(bucket='home', record=POINTS).get()
    new.close()
