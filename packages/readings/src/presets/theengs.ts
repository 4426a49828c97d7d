import type { Preset } from './preset.ts';
import { RTL_433_UNITS, TRANSMISSION } from './rtl-433.ts';

/**
 * https://gateway.theengs.io/ and https://docs.openmqttgateway.com/use/ble.html. A sensor is the device, whichever
 * gateway receives it.
 */
export const theengs: Preset = {
  name: 'theengs',
  title: 'Theengs Gateway, OpenMQTTGateway',
  base: 'home',
  routes: [
    { topic: '+/BTtoMQTT/undecoded', mapping: 'ignore' },
    {
      topic: '+/BTtoMQTT/{device}',
      mapping: {
        time: false,
        drop: [
          ...[
            'id',
            'mac',
            'name',
            'brand',
            'model',
            'model_id',
            'mfr',
            'type',
            'mac_type',
            'adv_type',
            'mfid',
          ],
          ...[
            'uuid',
            'major',
            'minor',
            'servicedata*',
            'manufacturerdata',
            'device',
            'cidc',
            'acts',
            'cont',
            'encr',
          ],
          ...['hass_uuid', 'time'],
        ],
        units: {
          'tempc*': 'Cel',
          hum: '%RH',
          moi: '%',
          batt: '%EL',
          volt: 'V',
          pres: 'hPa',
          lux: 'lx',
          rssi: 'dBm',
          txpower: 'dBm',
          distance: 'm',
          power: 'W',
          energy: 'kWh',
          current: 'A',
        },
      },
    },
    {
      topic: '{device}/SYStoMQTT',
      mapping: {
        keep: ['uptime', 'freemem', 'rssi', 'tempc'],
        units: { uptime: 's', freemem: 'B', rssi: 'dBm' },
      },
    },
    {
      // Sensors of 433 and 868 MHz: a model, a channel and a number, and the button of a remote.
      topic: '+/RTL_433toMQTT/{device+}',
      mapping: {
        device: '{device}/{unit|}',
        time: false,
        drop: [...TRANSMISSION, 'model', 'id', 'channel'],
        units: { rssi: 'dBm', ...RTL_433_UNITS },
      },
    },
    { topic: '{device}/LWT', mapping: { metric: 'LWT', values: { LWT: 'state' } } },
    { topic: '#', mapping: 'ignore' },
  ],
};
