# A sensor in MicroPython, for an ESP32, a Raspberry Pi Pico W and others. While the broker is unavailable it keeps readings on
# the board's flash, KEEP bytes at most; then the oldest half is dropped. The last RING readings stay in memory, to send again
# what did not arrive.
#   mpremote mip install umqtt.simple
#   mpremote cp main.py : + reset
import json, network, ntptime, os, time
from umqtt.simple import MQTTClient, MQTTException

WIFI, PASSWORD = 'my network', 'my password'
BROKER, TOPIC, PERIOD, KEEP = '192.0.2.11', 'sensors/site-1/roof/temperature', 10, 100000
OLD, NEW = 'old.ndjson', 'new.ndjson'
DEVICE, RING = TOPIC[TOPIC.find('/') + 1:TOPIC.rfind('/')], 100
EPOCH = 946684800 if time.gmtime(0)[0] == 2000 else 0  # many boards count from 2000
boot, seq, client = ''.join('%02x' % byte for byte in os.urandom(4)), 0, None
ring, requests = [], []

def send_again(request):
    first = ring[0][0] if request['boot'] == boot else None
    for number, line in ring:
        if first is not None and any(low <= number <= high for low, high in request['ranges']): client.publish(TOPIC, line, qos=1)
    if first is None or request['ranges'][0][0] < first:  # older ones are gone
        client.publish('sensors/' + DEVICE + '/kept', json.dumps({'boot': request['boot'], 'kept': first}), qos=1)

def measure():
    import esp32
    return esp32.mcu_temperature()

def connect():
    wlan = network.WLAN(network.STA_IF)
    wlan.active(True)
    if not wlan.isconnected(): wlan.connect(WIFI, PASSWORD)
    while time.gmtime()[0] < 2024: ntptime.settime()  # OSError until the network is there
    made = MQTTClient('sensor-' + boot, BROKER, keepalive=60)
    made.set_callback(lambda topic, message: requests.append(message) if len(requests) < 4 else None)
    made.connect(True, 10)
    try: made.subscribe('tidegauge/resend/' + DEVICE)
    except MQTTException: print('no requests: the broker refuses the subscription')
    for name in (OLD, NEW):  # what was kept. A message that is published twice is stored once, because t is the same.
        if name in os.listdir():
            with open(name) as file:
                for line in file: made.publish(TOPIC, line.strip(), qos=1)
            os.remove(name)
    return made

while True:
    line = json.dumps({'t': (EPOCH * 10**9 + time.time_ns()) // 1000, 'v': measure(), 'boot': boot, 'seq': seq})
    ring = (ring + [(seq, line)])[-RING:]
    try:
        client = client or connect()
        client.publish(TOPIC, line, qos=1)  # returns when the broker has acknowledged it
        client.check_msg()
        while requests: send_again(json.loads(requests.pop()))
    except Exception as error:  # umqtt raises OSError, MQTTException, IndexError and AssertionError
        print('kept:', error)
        client = None
        with open(NEW, 'a') as file: file.write(line + '\n')
        if os.stat(NEW)[6] > KEEP // 2:
            if OLD in os.listdir(): os.remove(OLD)
            os.rename(NEW, OLD)
    seq += 1
    time.sleep(PERIOD)
