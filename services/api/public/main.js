// Wires the page. Readings change data at once and the document four times a second at most.

import { serverNow } from './api.js';
import { $, setText } from './dom.js';
import { follow } from './feed.js';
import { paintMap } from './map.js';
import { learn, load, sensors } from './model.js';
import { forgetBalance, initPipeline, refreshPipeline } from './pipeline.js';
import {
  firstListed,
  initSensorList,
  paintAges,
  paintList,
  seedVisible,
  select,
  touch,
} from './sensor-list.js';
import { addGap, addLive, initSensorView, paintSensor, show } from './sensor-view.js';

const PAINT_MS = 250;
const POLL_MS = 2000;
const RELOAD_MS = 300_000;

const narrow = matchMedia('(max-width: 56rem)');
const complaints = new Map();

function complain(about, message) {
  if (message === null) complaints.delete(about);
  else complaints.set(about, message);
  const [first] = complaints.values();
  $('banner').hidden = first === undefined;
  if (first !== undefined) setText($('banner'), first);
}

/** #/ sensors, #/pipeline, #/sensor/<name>: the views of a phone; a wide window shows all at once. */
function route() {
  const [, view = '', ...segments] = location.hash.split('/');
  const name = view === 'sensor' ? segments.map(decodeURIComponent).join('/') : null;
  const before = document.body.dataset.view;
  document.body.dataset.view = name === null ? (view === 'pipeline' ? 'pipeline' : 'sensors') : 'sensor';
  for (const tab of document.querySelectorAll('[data-tab]')) {
    if (tab.dataset.tab === document.body.dataset.view) tab.setAttribute('aria-current', 'page');
    else tab.removeAttribute('aria-current');
  }
  if (name !== null) open(name);
  else if (narrow.matches) open(null);
  if (narrow.matches && before !== document.body.dataset.view) scrollTo(0, 0);
}

function open(name) {
  select(name);
  show(name);
}

/** A wide window has room for charts from the start: the first sensor's. */
function openFirst() {
  if (narrow.matches || location.hash.startsWith('#/sensor/')) return;
  const first = firstListed();
  if (first === null) return;
  opened = true;
  open(first);
}

let opened = false;
let beats = 0;

function paint() {
  if (document.hidden) return;
  paintList();
  if (!opened && document.body.dataset.loading === undefined) openFirst();
  paintSensor();
  if (beats++ % 4 !== 0) return;
  paintAges();
  paintMap(serverNow());
  void seedVisible();
}

async function poll() {
  if (!document.hidden) {
    try {
      const { unreachable, mqtt } = await refreshPipeline();
      complain('ingest', unreachable.length === 0 ? null : `${unreachable[0].reason}`);
      complain('mqtt', mqtt.connected ? null : 'Ingest is not connected to the broker; it keeps trying.');
    } catch (error) {
      forgetBalance();
      complain('ingest', error.message);
    }
  }
  setTimeout(poll, POLL_MS);
}

async function reload() {
  try {
    await load();
    for (const sensor of sensors.values()) touch(sensor);
    // What stands below the charts is shown with them, in its place.
    delete document.body.dataset.loading;
    paint();
    complain('sensors', null);
    setTimeout(reload, RELOAD_MS);
  } catch (error) {
    complain('sensors', error.message);
    setTimeout(reload, POLL_MS);
  }
}

function onState(state) {
  $('state').dataset.state = state;
  setText($('state').querySelector('span'), state === 'live' ? 'Live' : 'Reconnecting');
  complain('feed', state === 'live' ? null : 'The live feed is cut; what you see may be old. Trying again…');
}

initSensorList();
initSensorView();
initPipeline();
addEventListener('hashchange', route);
narrow.addEventListener('change', route);
document.addEventListener('visibilitychange', paint);
route();
follow({
  state: onState,
  gap: addGap,
  readings(list) {
    for (const reading of list) {
      const sensor = learn(reading);
      if (sensor !== null) touch(sensor);
      addLive(reading);
    }
  },
});
void reload();
void poll();
setInterval(paint, PAINT_MS);
