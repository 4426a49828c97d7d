// Connects the parts of the page. Readings change the data at once, and the document at most four times a second.

import { followAlerts } from './alerts.js';
import { serverNow } from './api.js';
import { complain } from './banner.js';
import { $, setText } from './dom.js';
import { initExport } from './export.js';
import { follow } from './feed.js';
import { offerAddresses } from './first-steps.js';
import { initManage } from './manage.js';
import { paintMap } from './map.js';
import { learn, learnPauses, load, readingState, sensors } from './model.js';
import { initOverview, paintOverview } from './overview.js';
import { forgetBalance, initPipeline, refreshPipeline } from './pipeline.js';
import {
  firstListed,
  focusRow,
  hrefOf,
  initSensorList,
  paintAges,
  paintList,
  seedVisible,
  select,
  touch,
} from './sensor-list.js';
import { addGap, addLive, initSensorView, paintSensor, show, shownSensor } from './sensor-view.js';
import { initSession } from './session.js';

const ANNOTATION_METRIC = 'annotation';
const PAINT_MS = 250;
const POLL_MS = 2000;
const RELOAD_MS = 300_000;
/** When less of the charts is visible, selecting a sensor scrolls to them. Pixels. */
const LEAST_IN_VIEW = 240;

/** Views besides the list of sensors and a sensor. */
const TABS = new Set(['today', 'history', 'pipeline']);

const narrow = matchMedia('(max-width: 56rem)');
/** The sensor in the address, the one that is shown, and the last one that was shown. */
let named = null;
let shown = null;
let last = null;
let beats = 0;
/** `live` or `lost`; null before the first connection. */
let feed = null;
/** Whether ingest can store readings, as far as is known. */
let isStoring = true;
/** Whether no sensor has reported yet, so that the page explains how one is connected. */
let isEmpty = false;
/** The history view, which is loaded when it is first opened. */
let past = null;

/**
 * The views of a narrow window: #/ (sensors), #/today, #/pipeline, #/sensor/<name>. A wide window shows all of them.
 * #/history?<view> is a view in both.
 */
function route() {
  const [path, query = ''] = location.hash.split(/\?(.*)/);
  const [, view = '', ...segments] = path.split('/');
  named = view === 'sensor' ? segments.map(decoded).join('/') : null;
  const before = document.body.dataset.view;
  const after = view === 'sensor' || TABS.has(view) ? view : 'sensors';
  document.body.dataset.view = after;
  for (const tab of document.querySelectorAll('[data-tab]')) {
    if (tab.dataset.tab === after) tab.setAttribute('aria-current', 'page');
    else tab.removeAttribute('aria-current');
  }
  openWanted();
  if (after === 'history') void openPast(query);
  else past?.leaveHistory();
  if (!narrow.matches || before === after) return;
  scrollTo(0, 0);
  // The element that had the focus is hidden now.
  if (after === 'sensor') $('charts').focus({ preventScroll: true });
  if (after === 'history') $('history').focus({ preventScroll: true });
  if (after === 'sensors' && last !== null) focusRow(last);
}

function isHistory() {
  return document.body.dataset.view === 'history';
}

/** Shows the history, unless another view is open when it is loaded. */
async function openPast(query) {
  try {
    past ??= await import('./history.js');
    complain('past', null);
  } catch {
    complain('past', 'The history cannot be loaded. Reload this page.');
    return;
  }
  if (isHistory()) past.openHistory(query, () => last ?? firstListed());
}

/** A segment of the address, decoded; unchanged when its encoding is invalid. */
function decoded(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Shows the sensor in the address. Without one, a wide window shows the last sensor that was shown, or the first. */
function openWanted() {
  const isLoading = document.body.dataset.loading !== undefined;
  const isHidden = narrow.matches || isLoading || isHistory();
  const wanted = named ?? (isHidden ? null : (last ?? firstListed()));
  const name = isHistory() ? 'History' : wanted;
  document.title = name === null ? 'Tidegauge' : `${name} – Tidegauge`;
  if (wanted === shown) return;
  shown = wanted;
  last = wanted ?? last;
  select(wanted);
  show(wanted);
}

/** Scrolls to the charts when they are not visible, so that a selection has a visible effect. */
function reveal() {
  if (narrow.matches || shown === null) return;
  const { top } = $('charts').getBoundingClientRect();
  const covered = document.querySelector('.top').getBoundingClientRect().bottom;
  if (top < covered || top > innerHeight - LEAST_IN_VIEW) $('charts').scrollIntoView();
}

function paint() {
  if (document.hidden) return;
  paintList();
  openFirst();
  if (shown === null) openWanted();
  past?.paintHistory();
  paintSensor();
  if (beats++ % 4 !== 0) return;
  paintAges();
  paintMap(serverNow());
  paintOverview();
  void seedVisible();
  void learnPauses(serverNow());
}

/** In a narrow window, the charts of the first sensor replace the explanation of how it is connected. */
function openFirst() {
  const first = firstListed();
  const isWanted = isEmpty && narrow.matches && document.body.dataset.view === 'sensors';
  if (isWanted && first !== null) location.hash = hrefOf(first);
  isEmpty = readingState().state === 'ready' && sensors.size === 0;
}

async function poll() {
  if (!document.hidden) {
    try {
      const { unreachable, mqtt, trouble } = await refreshPipeline();
      if (sensors.size === 0) await offerAddresses(mqtt.addresses);
      isStoring = trouble === null;
      showState();
      complain('store', isStoring ? null : `Readings that cannot be stored wait. ${sentence(trouble)}`);
      complain('ingest', unreachable.length === 0 ? null : unreachable[0].reason);
      complain('mqtt', mqtt.connected ? null : 'Ingest is not connected to the broker. It keeps trying.');
    } catch (error) {
      forgetBalance();
      if (error.status === 403) {
        // The key is limited to some devices, and the ledger is of all devices.
        document.body.dataset.limited = '';
        return;
      }
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
  // The parts below the charts are shown together with them, so that they do not move.
  paintOverview();
  delete document.body.dataset.loading;
  paint();
  setTimeout(reload, again);
}

function sentence(text) {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}

/** The state of the feed. While readings cannot be stored, an open feed is not live. */
function showState() {
  if (feed === null) return;
  const [state, text] =
    feed === 'lost' ? ['lost', 'Reconnecting'] : isStoring ? ['live', 'Live'] : ['lost', 'Not all stored'];
  $('state').dataset.state = state;
  setText($('state').querySelector('span'), text);
}

function onState(state) {
  feed = state;
  showState();
  const lost = 'The connection to the server is lost, so values may be out of date. Reconnecting…';
  complain('feed', state === 'live' ? null : lost);
}

/** Waits until the visitor may read, also when the server does not answer yet. */
async function signedIn() {
  for (;;) {
    try {
      if (await initSession()) break;
      complain('session', 'Sign in to see the readings: reload this page.');
      await new Promise(() => {});
    } catch (error) {
      complain('session', error.message);
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }
  complain('session', null);
}

initSensorList(reveal);
initSensorView();
initExport(shownSensor);
initPipeline();
initManage();
initOverview();
addEventListener('hashchange', () => {
  route();
  if (named !== null) reveal();
});
narrow.addEventListener('change', route);
document.addEventListener('visibilitychange', paint);
document.querySelector('.skip').addEventListener('click', (event) => {
  // The fragment of the address is a view, so it cannot also be a position in the page.
  event.preventDefault();
  $(isHistory() ? 'history' : 'charts').focus();
});
route();
await signedIn();
follow({
  state: onState,
  gap() {
    addGap();
    past?.missInHistory();
  },
  readings(list) {
    for (const reading of list) {
      // A note that a sensor publishes is read with the other annotations.
      if (reading.metric === ANNOTATION_METRIC) continue;
      const sensor = learn(reading);
      if (sensor !== null) touch(sensor);
      addLive(reading);
      past?.addToHistory(reading);
    }
  },
});
void reload();
void followAlerts();
void poll();
setInterval(paint, PAINT_MS);
