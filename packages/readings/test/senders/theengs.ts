import type { SenderMessage } from './sender-message.ts';

/** Theengs Gateway and OpenMQTTGateway: Bluetooth sensors. The device is the sensor, whichever gateway receives it. */
export const theengs: readonly SenderMessage[] = [
  {
    source: 'theengs/gateway, docs/use/use.md (topic of the same page)',
    topic: 'home/TheengsGateway/BTtoMQTT/F35285',
    payload:
      '{"name":"F35285","id":"F3:52:85","rssi":-82,"brand":"BlueMaestro","model":"TempoDisc","model_id":"BM_V23","tempc":24.1,"tempf":75.38,"hum":104.7,"dp":24.8,"volt":2.56,"mfr":"Blue Maestro Limited"}',
    preset: 'theengs',
    readings: [
      ['F35285', 'rssi', -82],
      ['F35285', 'tempc', 24.1],
      ['F35285', 'tempf', 75.38],
      ['F35285', 'hum', 104.7],
      ['F35285', 'dp', 24.8],
      ['F35285', 'volt', 2.56],
    ],
    units: { tempc: 'Cel', hum: '%RH', volt: 'V', rssi: 'dBm' },
    auto: 'values',
  },
  {
    source: '1technophile/OpenMQTTGateway, issue 1288 (the name of the gateway is our own)',
    topic: 'home/OpenMQTTGateway/BTtoMQTT/C6C752663CBF',
    payload:
      '{"id":"C6:C7:52:66:3C:BF","mac_type":1,"rssi":-23,"brand":"SwitchBot","model":"Meter (Plus)","model_id":"THX1/W230150X","tempc":17.6,"tempf":63.68,"hum":63,"batt":100}',
    preset: 'theengs',
    readings: [
      ['C6C752663CBF', 'rssi', -23],
      ['C6C752663CBF', 'tempc', 17.6],
      ['C6C752663CBF', 'tempf', 63.68],
      ['C6C752663CBF', 'hum', 63],
      ['C6C752663CBF', 'batt', 100],
    ],
    units: { batt: '%EL' },
    auto: 'values',
  },
  {
    source: '1technophile/OpenMQTTGateway, docs/use/ble.md',
    topic: 'home/OpenMQTTGateway/BTtoMQTT/4C33A6603C79',
    payload: '{"hum":"52.6","tempc":"19.2","tempf":"66.56"}',
    preset: 'theengs',
    readings: [
      ['4C33A6603C79', 'hum', 52.6],
      ['4C33A6603C79', 'tempc', 19.2],
      ['4C33A6603C79', 'tempf', 66.56],
    ],
    auto: 'same',
  },
  {
    source: '1technophile/OpenMQTTGateway, docs/use/ble.md',
    topic: 'home/OpenMQTTGateway/BTtoMQTT/45E174126E00',
    payload:
      '{"id":"45:e1:74:12:6e:00","rssi":-89,"distance":21.51847,"servicedata":"fe0000000000000000000000000000000000000000"}',
    preset: 'theengs',
    readings: [
      ['45E174126E00', 'rssi', -89],
      ['45E174126E00', 'distance', 21.51847],
    ],
    auto: 'values',
  },
  {
    source: 'theengs/gateway, docs/use/use.md',
    topic: 'home/TheengsGateway/BTtoMQTT/112233445566',
    payload:
      '{"manufacturerdata": "2c0q1006191e7v30x6fa", "id": "11:22:33:44:55:66", "rssi": -42, "brand": "Apple", "model": "Apple iPhone/iPad", "model_id": "APPLEDEVICE", "type": "TRACK", "track": true, "unlocked": false, "distance": 0.03341741003670675}',
    preset: 'theengs',
    readings: [
      ['112233445566', 'rssi', -42],
      ['112233445566', 'track', 1],
      ['112233445566', 'unlocked', 0],
      ['112233445566', 'distance', 0.03341741003670675],
    ],
    auto: 'values',
  },
  {
    source: 'theengs/decoder, docs/use/ESP32.md (topic of theengs/gateway)',
    topic: 'home/TheengsGateway/BTtoMQTT/AABBCCDDEEFF',
    payload:
      '{"id":"AA:BB:CC:DD:EE:FF","name":"ATC_800021","rssi":-90,"servicedatauuid":"0x181a","brand":"Xiaomi","model":"LYWSD03MMC","model_id":"LYWSD03MMC_ATC","tempc":26.3,"tempf":79.34,"hum":49,"batt":29,"volt":2.487}',
    preset: 'theengs',
    readings: [
      ['AABBCCDDEEFF', 'rssi', -90],
      ['AABBCCDDEEFF', 'tempc', 26.3],
      ['AABBCCDDEEFF', 'tempf', 79.34],
      ['AABBCCDDEEFF', 'hum', 49],
      ['AABBCCDDEEFF', 'batt', 29],
      ['AABBCCDDEEFF', 'volt', 2.487],
    ],
    auto: 'values',
  },
  {
    source: '1technophile/OpenMQTTGateway, issue 2241 (the base topic is the default one)',
    topic: 'home/OpenMQTT/RTL_433toMQTT/Bresser-6in1/0/-361757422',
    payload:
      '{"model":"Bresser-6in1","id":-361757422,"channel":0,"battery_ok":0,"temperature_C":22.7,"humidity":69,"sensor_type":1,"wind_max_m_s":0,"wind_avg_m_s":0,"wind_dir_deg":0,"uv":0,"startup":1,"flags":0,"mic":"CRC","protocol":"Bresser Weather Center 6-in-1, 7-in-1 indoor, soil, new 5-in-1, 3-in-1 wind gauge, Froggit WH6000, Ventus C8488A","rssi":-36,"duration":32997}',
    preset: 'theengs',
    readings: [
      ['Bresser-6in1/0/-361757422', 'battery_ok', 0],
      ['Bresser-6in1/0/-361757422', 'temperature_C', 22.7],
      ['Bresser-6in1/0/-361757422', 'humidity', 69],
      ['Bresser-6in1/0/-361757422', 'sensor_type', 1],
      ['Bresser-6in1/0/-361757422', 'wind_max_m_s', 0],
      ['Bresser-6in1/0/-361757422', 'wind_avg_m_s', 0],
      ['Bresser-6in1/0/-361757422', 'wind_dir_deg', 0],
      ['Bresser-6in1/0/-361757422', 'uv', 0],
      ['Bresser-6in1/0/-361757422', 'startup', 1],
      ['Bresser-6in1/0/-361757422', 'flags', 0],
      ['Bresser-6in1/0/-361757422', 'rssi', -36],
    ],
    units: { temperature_C: 'Cel', wind_avg_m_s: 'm/s', rssi: 'dBm' },
  },
  {
    source: 'kitemetric.com, Mastering OpenMQTT Gateway (a gateway; shortened)',
    topic: 'home/OpenMQTT/SYStoMQTT',
    payload:
      '{"uptime": 60405, "version": "v1.6.0", "env": "lilygo-rtl_433", "freemem": 115572, "mqttport": "1883", "tempc": 57.77778, "rssi": -39, "modules": ["LilyGo_SSD1306", "WebUI", "rtl_433"]}',
    preset: 'theengs',
    readings: [
      ['OpenMQTT', 'uptime', 60405],
      ['OpenMQTT', 'freemem', 115572],
      ['OpenMQTT', 'tempc', 57.77778],
      ['OpenMQTT', 'rssi', -39],
    ],
    units: { uptime: 's', freemem: 'B', rssi: 'dBm' },
  },
];
