import type { SenderMessage } from './sender-message.ts';

/** Victron Energy GX devices (Venus OS). */
export const victron: readonly SenderMessage[] = [
  {
    source: 'victronenergy/dbus-flashmq, README.md (the portal ID is our own)',
    topic: 'N/c0619ab12345/pvinverter/20/Ac/Power',
    payload: '{"value": 936}',
    preset: 'victron',
    readings: [['c0619ab12345/pvinverter/20', 'Ac.Power', 936]],
    auto: 'same',
  },
  {
    source: 'victronenergy/dbus-flashmq, README.md (the portal ID is our own)',
    topic: 'N/c0619ab12345/solarcharger/279/Dc/0/Voltage',
    payload: '{"value":20.43000030517578}',
    preset: 'victron',
    readings: [['c0619ab12345/solarcharger/279', 'Dc.0.Voltage', 20.43000030517578]],
    auto: 'same',
  },
  {
    source: 'victronenergy/dbus-flashmq, README.md (the portal ID is our own)',
    topic: 'N/c0619ab12345/pvinverter/20/Ac/L2/Power',
    payload: '{"value": null}',
    preset: 'victron',
    readings: [],
    ignored: ['Ac.L2.Power'],
  },
  {
    source: 'victronenergy/dbus-flashmq, README.md (a device that is gone; the portal ID is our own)',
    topic: 'N/c0619ab12345/pvinverter/20/Ac/Power',
    payload: '',
    preset: 'victron',
    readings: [],
  },
  {
    source: 'victronenergy/dbus-flashmq, README.md (the portal ID is our own)',
    topic: 'N/c0619ab12345/settings/0/Settings/Vrmlogger/Logmode',
    payload: '{"max":2,"min":0,"value":1}',
    preset: 'victron',
    readings: [['c0619ab12345/settings/0', 'Settings.Vrmlogger.Logmode', 1]],
    auto: 'values',
  },
  {
    source: 'victronenergy/dbus-flashmq, README.md (the portal ID is our own)',
    topic: 'N/c0619ab12345/settings/0/Settings/Vrmlogger/Url',
    payload: '{"value":""}',
    preset: 'victron',
    readings: [],
    ignored: ['Settings.Vrmlogger.Url'],
  },
  {
    source: 'victronenergy/dbus-flashmq, README.md (the portal ID is our own)',
    topic: 'N/c0619ab12345/full_publish_completed',
    payload: '{"full-publish-completed-echo":"Ucq2YLVt6ZWdgUNf","value":1718860914}',
    preset: 'victron',
    readings: [],
  },
  {
    source: 'tomer-w/ha-victron-mqtt, issue 113 (the numbers of the portal and of the battery are our own)',
    topic: 'N/c0619ab2f10b/battery/512/System/MinVoltageCellId',
    payload: '{"value":"C3"}',
    preset: 'victron',
    readings: [['c0619ab2f10b/battery/512', 'System.MinVoltageCellId', 'C3']],
  },
  {
    source: 'tomer-w/ha-victron-mqtt, issue 111 (the numbers of the portal and of the system are our own)',
    topic: 'N/c0619ab2f10b/dcsystem/0/Dc/0/Voltage',
    payload: '{"value":26.68000030517578}',
    preset: 'victron',
    readings: [['c0619ab2f10b/dcsystem/0', 'Dc.0.Voltage', 26.68000030517578]],
    units: { 'Dc.0.Voltage': 'V' },
  },
];
