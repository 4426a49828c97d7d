// What the history view shows, as a text in the address, and changes of the time shown. Pure functions; times and lengths
// are milliseconds.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;
/** Lengths in the address, the longest first. */
const LENGTHS = { y: YEAR, d: DAY, h: HOUR, m: MINUTE, s: SECOND };
/** The shortest time that is shown. */
export const LEAST_SPAN = MINUTE;
/** Times of readings are below this. */
const MOST_TIME = Date.UTC(2254, 0, 1);
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?Z$/;
/** Most series, and most metrics of sites, in an address. */
const MOST_SERIES = 20;
/** The shares of a pinch are at least this far apart, so that the time shown stays finite. */
const LEAST_PINCH = 0.02;

/** Ranges with a button. `last`: the time until now. `all`: from the first reading until now. */
export const RANGES = [
  { label: '5 min', range: { last: 5 * MINUTE } },
  { label: '1 h', range: { last: HOUR } },
  { label: '6 h', range: { last: 6 * HOUR } },
  { label: '24 h', range: { last: DAY } },
  { label: '7 d', range: { last: 7 * DAY } },
  { label: '30 d', range: { last: 30 * DAY } },
  { label: '1 y', range: { last: YEAR } },
  { label: 'All', range: { all: true } },
];

/** Earlier periods that can be drawn beneath: their name, and the change of the date. */
export const EARLIER = {
  day: { label: 'the day before', days: -1 },
  week: { label: 'the week before', days: -7 },
  year: { label: 'the year before', years: -1 },
};

/** A view without lines: the last day, in the visitor's zone. */
export const EMPTY_VIEW = {
  series: [],
  groups: [],
  range: { last: DAY },
  compare: null,
  zone: 'local',
};

/**
 * The view in a query of the address: `{series: [{device, metric}], groups: [{site, metric}], range, compare, zone}`.
 * `range` is `{last}`, `{all: true}` or `{from, to}`, `compare` a key of EARLIER or null, and `zone` `local` or `utc`.
 * Invalid parts are left out.
 */
export function parseView(query) {
  const given = new URLSearchParams(query);
  const compare = given.get('compare');
  return {
    series: seriesIn(given.getAll('s')),
    groups: groupsIn(given.getAll('g')),
    range: rangeIn(given) ?? EMPTY_VIEW.range,
    compare: compare !== null && Object.hasOwn(EARLIER, compare) ? compare : null,
    zone: given.get('zone') === 'utc' ? 'utc' : 'local',
  };
}

/** The query of a view: `parseView` returns an equal view. */
export function formatView({ series, groups, range, compare, zone }) {
  const query = new URLSearchParams();
  for (const { device, metric } of series) query.append('s', `${device}/${metric}`);
  for (const { site, metric } of groups) query.append('g', `${metric}/${site}`);
  if (range.all) query.set('last', 'all');
  else if (range.last !== undefined) query.set('last', lengthText(range.last));
  else {
    query.set('from', timeText(range.from));
    query.set('to', timeText(range.to));
  }
  if (compare !== null) query.set('compare', compare);
  if (zone === 'utc') query.set('zone', 'utc');
  // These characters separate nothing in a query, and names stay readable.
  return String(query).replaceAll('%2F', '/').replaceAll('%3A', ':');
}

/** The address of a view, from its # on. */
export function hashOf(view) {
  return `#/history?${formatView(view)}`;
}

/** Whether two ranges are the same. */
export function isSameRange(one, other) {
  return ['last', 'all', 'from', 'to'].every((key) => one[key] === other[key]);
}

/** The time that a range shows, `{from, to}`. `first` is the time of the first reading, or null. */
export function spanOf(range, now, first) {
  if (range.all) return { from: Math.min(first ?? now - DAY, now - LEAST_SPAN), to: now };
  if (range.last !== undefined) return { from: Math.max(0, now - range.last), to: now };
  return { from: range.from, to: range.to };
}

/** A range that is `factor` times as long. The time at `share` of it, from 0 to 1, stays where it is. */
export function zoom({ from, to }, factor, share, now) {
  const latest = Math.max(now, to);
  const length = between((to - from) * factor, LEAST_SPAN, latest);
  return placed(from + share * (to - from - length), length, latest);
}

/** A range that is moved by a share of its length; negative to earlier times. It does not go beyond now. */
export function pan({ from, to }, share, now) {
  return placed(from + share * (to - from), to - from, Math.max(now, to));
}

/** The part of a range between two shares of it. */
export function selected({ from, to }, start, end, now) {
  const share = Math.abs(end - start);
  const length = Math.max((to - from) * share, LEAST_SPAN);
  const middle = from + ((start + end) / 2) * (to - from);
  return placed(middle - length / 2, length, Math.max(now, to));
}

/** The range in which the times under two fingers, at two shares before, are under the fingers again. */
export function pinched({ from, to }, [a, b], [c, d], now) {
  const apart = Math.max(Math.abs(d - c), LEAST_PINCH);
  const latest = Math.max(now, to);
  const length = between(((to - from) * Math.abs(b - a)) / apart, LEAST_SPAN, latest);
  const middle = from + ((a + b) / 2) * (to - from);
  return placed(middle - ((c + d) / 2) * length, length, latest);
}

/** A range of a length that begins at a time, moved so that it is between 1970 and `latest`. */
function placed(from, length, latest) {
  const whole = Math.round(length);
  const start = Math.round(between(from, 0, latest - whole));
  return { from: start, to: start + whole };
}

function between(value, least, most) {
  return Math.max(least, Math.min(value, most));
}

/** A metric has no slash, and a device can have several. */
function seriesIn(texts) {
  const series = [...new Set(texts)].map((text) => {
    const slash = text.lastIndexOf('/');
    return { device: text.slice(0, Math.max(0, slash)), metric: text.slice(slash + 1) };
  });
  return series.filter(({ device, metric }) => device !== '' && metric !== '').slice(0, MOST_SERIES);
}

/** The site is empty for sensors without a site. */
function groupsIn(texts) {
  const groups = [...new Set(texts)]
    .filter((text) => text.indexOf('/') > 0)
    .map((text) => {
      const slash = text.indexOf('/');
      return { site: text.slice(slash + 1), metric: text.slice(0, slash) };
    });
  return groups.slice(0, MOST_SERIES);
}

function rangeIn(given) {
  const last = given.get('last');
  if (last === 'all') return { all: true };
  const [, number, unit] = /^(\d{1,10})([ydhms])$/.exec(last ?? '') ?? [];
  const length = unit === undefined ? 0 : Number(number) * LENGTHS[unit];
  if (length >= LEAST_SPAN && length <= MOST_TIME) return { last: length };
  const [from, to] = [timeIn(given.get('from')), timeIn(given.get('to'))];
  return from !== null && to !== null && to - from >= LEAST_SPAN ? { from, to } : null;
}

function timeIn(text) {
  const time = TIME.test(text ?? '') ? Date.parse(text) : Number.NaN;
  return time >= 0 && time <= MOST_TIME ? time : null;
}

function timeText(time) {
  return new Date(time).toISOString().replace('.000Z', 'Z');
}

/** The length in the largest unit of which it is a multiple. */
function lengthText(length) {
  const [unit, size] = Object.entries(LENGTHS).find(([, each]) => length % each === 0);
  return `${length / size}${unit}`;
}
