import type { SenderMessage } from './sender-message.ts';

/** OwnTracks, the location of phones. */
export const owntracks: readonly SenderMessage[] = [
  {
    source: 'owntracks/booklet, docs/guide/quicksetup.md',
    topic: 'owntracks/jane/nokia',
    payload:
      '{"_type":"location","SSID":"mywifi","alt":154,"batt":53,"conn":"w","created_at":1706856299,"lat":48.856826,"lon":2.292713,"tid":"j1","tst":1706856298,"vel":0}',
    preset: 'owntracks',
    time: '2024-02-02T06:44:58.000000Z',
    readings: [
      ['jane/nokia', 'alt', 154],
      ['jane/nokia', 'batt', 53],
      ['jane/nokia', 'lat', 48.856826],
      ['jane/nokia', 'lon', 2.292713],
      ['jane/nokia', 'vel', 0],
    ],
    units: { lat: 'lat', lon: 'lon', alt: 'm', batt: '%EL', vel: 'km/h' },
    auto: 'values',
  },
  {
    source: 'owntracks/booklet, docs/tech/lua.md (topic of docs/features/traccar.md)',
    topic: 'owntracks/jane/phone',
    payload:
      '{"batt":-1,"lon":2.29513,"lat":48.85833,"t":"u","tst":1441984413,"_type":"location","tid":"JJ"}',
    preset: 'owntracks',
    time: '2015-09-11T15:13:33.000000Z',
    readings: [
      ['jane/phone', 'batt', -1],
      ['jane/phone', 'lon', 2.29513],
      ['jane/phone', 'lat', 48.85833],
    ],
    auto: 'values',
  },
  {
    source: 'owntracks/booklet, docs/features/waypoints.md',
    topic: 'owntracks/jane/phone/event',
    payload: `{
      "_type": "transition",
      "desc": "My favorite coffee shop (Delaville)",
      "event": "enter",
      "lat": 48.87069,
      "lon": 2.34916,
      "rid": "f7676c",
      "tid": "j1",
      "tst": 1707057574,
      "wtst": 1610104395
}`,
    preset: 'owntracks',
    time: '2024-02-04T14:39:34.000000Z',
    readings: [
      ['jane/phone', 'desc', 'My favorite coffee shop (Delaville)'],
      ['jane/phone', 'event', 'enter'],
      ['jane/phone', 'lat', 48.87069],
      ['jane/phone', 'lon', 2.34916],
    ],
    auto: 'values',
  },
  {
    source: 'owntracks/booklet, docs/features/waypoints.md',
    topic: 'owntracks/jane/phone/waypoint',
    payload: `{
    "_type": "waypoint",
    "desc": "My favorite coffee shop (Delaville)",
    "lat": 48.87069,
    "lon": 2.34916,
    "rad": "50",
    "tst": "1385997757",
    "rid": "f7676c",
    "wtst": 1610104395
}`,
    preset: 'owntracks',
    readings: [],
  },
  {
    source: 'owntracks/booklet, docs/features/pedometer.md (topic of docs/tech/mqtt.md)',
    topic: 'owntracks/jj/5s/step',
    payload: `{
    "_type": "steps", 
    "from": 1400455130, 
    "steps": 1234, 
    "to": 1400458000, 
    "tst": 1400455130
}`,
    preset: 'owntracks',
    time: '2014-05-18T23:18:50.000000Z',
    readings: [['jj/5s', 'steps', 1234]],
    auto: 'values',
  },
  {
    source: 'home-assistant/core, tests/components/owntracks/test_device_tracker.py',
    topic: 'owntracks/greg/phone',
    payload: '{"_type": "lwt", "tst": 1}',
    preset: 'owntracks',
    readings: [],
  },
  {
    source:
      'owntracks/ios, issue 307 (a last will, whose time is a text; the topic is that of another issue)',
    topic: 'owntracks/jp/nexus4',
    payload: '{"tst":"1439932257","_type":"lwt"}',
    preset: 'owntracks',
    readings: [],
  },
  {
    source: 'owntracks/ios, issue 630',
    topic: 'owntracks/otr/HT',
    payload:
      '{"cog":268,"lon":-122.024304,"acc":10,"vel":28,"topic":"owntracks/otr/HT","lat":37.337723,"inregions":["Here-1587063718"],"conn":"w","tst":1587063733,"alt":0,"_type":"location","tid":"HT","_http":true}',
    preset: 'owntracks',
    time: '2020-04-16T19:02:13.000000Z',
    readings: [
      ['otr/HT', 'cog', 268],
      ['otr/HT', 'lon', -122.024304],
      ['otr/HT', 'acc', 10],
      ['otr/HT', 'vel', 28],
      ['otr/HT', 'lat', 37.337723],
      ['otr/HT', 'alt', 0],
    ],
    units: { vel: 'km/h', cog: 'deg' },
  },
  {
    source: 'owntracks/android, issue 631 (a transition; the masked place is our own)',
    topic: 'owntracks/morenstrat/px/event',
    payload:
      '{"_type":"transition","acc":16.0,"desc":"Home","event":"enter","lat":52.5,"lon":13.4,"t":"l","tid":"px","tst":1544358288,"wtst":1544357}',
    preset: 'owntracks',
    time: '2018-12-09T12:24:48.000000Z',
    readings: [
      ['morenstrat/px', 'acc', 16],
      ['morenstrat/px', 'desc', 'Home'],
      ['morenstrat/px', 'event', 'enter'],
      ['morenstrat/px', 'lat', 52.5],
      ['morenstrat/px', 'lon', 13.4],
    ],
  },
];
