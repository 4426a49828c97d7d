// Wires the page. Readings change data at once and the document four times a second at most.

import { serverNow } from './api.js';
import { complain } from './banner.js';
import { $, setText } from './dom.js';
import { follow } from './feed.js';
import { paintMap } from './map.js';
import { learn, load, sensors } from './model.js';
import { forgetBalance, initPipeline, refreshPipeline } from './pipeline.js';
import {
  firstListed,
  focusRow,
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
/** Below this much of the charts in the window, a sensor that was selected is brought into view. Pixels. */
const LEAST_IN_VIEW = 240;

const narrow = matchMedia('(max-width: 56rem)');
/** The sensor that the address names, the one on show, and the last one on show. */
let named = null;
let shown = null;
let last = null;
let beats = 0;

/** #/ sensors, #/pipeline, #/sensor/<name>: the views of a phone; a wide window shows all at once. */
function route() {
  const [, view = '', ...segments] = location.hash.split('/');
  named = view === 'sensor' ? segments.map(decoded).join('/') : null;
  const before = document.body.dataset.view;
  const after = named === null ? (view === 'pipeline' ? 'pipeline' : 'sensors') : 'sensor';
  document.body.dataset.view = after;
  for (const tab of document.querySelectorAll('[data-tab]')) {
    if (tab.dataset.tab === after) tab.setAttribute('aria-current', 'page');
    else tab.removeAttribute('aria-current');
  }
  openWanted();
  if (!narrow.matches || before === after) return;
  scrollTo(0, 0);
  // What had the focus is hidden now.
  if (after === 'sensor') $('charts').focus({ preventScroll: true });
  if (after === 'sensors' && last !== null) focusRow(last);
}

/** A segment of the address; one that is badly encoded stands for itself. */
function decoded(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Shows the sensor that is named. A wide window always has room for one: the last shown, or the first. */
function openWanted() {
  const isLoading = document.body.dataset.loading !== undefined;
  const wanted = named ?? (narrow.matches || isLoading ? null : (last ?? firstListed()));
  if (wanted === shown) return;
  shown = wanted;
  last = wanted ?? last;
  select(wanted);
  show(wanted);
  document.title = wanted === null ? 'Tidegauge' : `${wanted} – Tidegauge`;
}

/** A selection that changes nothing on the screen would look like nothing happened. */
function reveal() {
  if (narrow.matches || shown === null) return;
  const { top } = $('charts').getBoundingClientRect();
  const covered = document.querySelector('.top').getBoundingClientRect().bottom;
  if (top < covered || top > innerHeight - LEAST_IN_VIEW) $('charts').scrollIntoView();
}

function paint() {
  if (document.hidden) return;
  paintList();
  if (shown === null) openWanted();
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
      complain('ingest', unreachable.length === 0 ? null : unreachable[0].reason);
      complain('mqtt', mqtt.connected ? null : 'Ingest is not connected to the broker. It keeps trying.');
    } catch (error) {
      forgetBalance();
      complain('ingest', error.message);
    }
  }
  setTimeout(poll, POLL_MS);
}

async function reload() {
  let again = RELOAD_MS;
  try {
    await load();
    for (const sensor of sensors.values()) touch(sensor);
    complain('sensors', null);
  } catch (error) {
    again = POLL_MS;
    complain('sensors', error.message);
  }
  // What stands below the charts is shown with them, in its place.
  delete document.body.dataset.loading;
  paint();
  setTimeout(reload, again);
}

function onState(state) {
  $('state').dataset.state = state;
  setText($('state').querySelector('span'), state === 'live' ? 'Live' : 'Reconnecting');
  const lost = 'The connection to the server is lost, so values may be out of date. Reconnecting…';
  complain('feed', state === 'live' ? null : lost);
}

initSensorList(reveal);
initSensorView();
initPipeline();
addEventListener('hashchange', () => {
  route();
  if (named !== null) reveal();
});
narrow.addEventListener('change', route);
document.addEventListener('visibilitychange', paint);
document.querySelector('.skip').addEventListener('click', (event) => {
  // The address names a sensor, so it cannot name a place in the page too.
  event.preventDefault();
  $('charts').focus();
});
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
