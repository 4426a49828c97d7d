// Formats numbers and times in the visitor's locale.

const whole = new Intl.NumberFormat(undefined, { maximumFractionDigits: 0 });
const decimals = [0, 1, 2, 3].map(
  (digits) =>
    new Intl.NumberFormat(undefined, { minimumFractionDigits: digits, maximumFractionDigits: digits }),
);
const significant = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 4, notation: 'scientific' });

/** A count with group separators. */
export function count(value) {
  return whole.format(value);
}

/** Cuts the middle out of a long text, because names differ mostly at their ends. */
export function middleCut(text, most) {
  if (text.length <= most) return text;
  const half = Math.floor((most - 1) / 2);
  return `${text.slice(0, half).trimEnd()}…${text.slice(-half).trimStart()}`;
}

const MAX_TEXT = 100;

/** A measured value: a number with about four significant digits, or a text, cut when it is long. */
export function measure(value) {
  if (typeof value !== 'number') return value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}…` : value;
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e7 || size < 1e-3)) return significant.format(value);
  if (size >= 1000 || Number.isInteger(value)) return whole.format(value);
  return decimals[size >= 100 ? 1 : size >= 1 ? 2 : 3].format(value);
}

/** Names of the SenML registry as people write them. Other units stay as they are. */
const SYMBOLS = new Map([
  ['Cel', '°C'],
  ['deg', '°'],
  ['Ohm', 'Ω'],
  ['m2', 'm²'],
  ['m3', 'm³'],
  ['m/s2', 'm/s²'],
  ['W/m2', 'W/m²'],
  ['ug/m3', 'µg/m³'],
  ['%RH', '% RH'],
  ['%EL', '%'],
  // A ratio and a state have no symbol.
  ['/', ''],
]);

/** A unit as people write it; empty without one. */
export function symbol(unit) {
  return unit === undefined || unit === null ? '' : (SYMBOLS.get(unit) ?? unit);
}

/** A measured value with its unit: `21.5 °C`. A text has none. */
export function quantity(value, unit) {
  const sign = typeof value === 'number' ? symbol(unit) : '';
  return sign === '' ? measure(value) : `${measure(value)}\u00a0${sign}`;
}

/** Readings per second: `0.4`, `52`, `61,000`. */
export function rate(perSecond) {
  return perSecond > 0 && perSecond < 10 ? decimals[1].format(perSecond) : whole.format(perSecond);
}

/** A duration: `0.42 ms`, `3.1 ms`, `1.2 s`, `1 min 35 s`, `12 min`, `5 h`, `3 d`. */
export function duration(seconds) {
  if (seconds === null) return '–';
  const ms = seconds * 1000;
  if (ms < 1) return `${decimals[2].format(ms)} ms`;
  if (ms < 10) return `${decimals[1].format(ms)} ms`;
  if (ms < 1000) return `${whole.format(ms)} ms`;
  if (seconds < 59.5) return `${decimals[seconds < 10 ? 1 : 0].format(seconds)} s`;
  if (seconds >= 600) return age(seconds);
  const rounded = Math.round(seconds);
  return `${Math.floor(rounded / 60)} min ${rounded % 60} s`;
}

/** How long ago, in one unit: `now`, `12 s`, `3 min`, `2 h`, `5 d`. */
export function age(seconds) {
  if (seconds < 1.5) return 'now';
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${whole.format(Math.floor(seconds / 86_400))} d`;
}

const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const dated = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
});

/** A time in milliseconds since the epoch, with its date unless it is within 24 hours of `now`. */
export function moment(milliseconds, now) {
  return (Math.abs(now - milliseconds) < 86_400_000 ? clock : dated).format(milliseconds);
}

const HOUSEKEEPING = /^(?:battery|voltage|rssi|snr|signal|uptime|heap|memory)/i;

/** Whether a metric is the state of the sensor's board. */
export function isHousekeeping(metric) {
  return HOUSEKEEPING.test(metric);
}

/** Order of metrics: measured quantities first, the state of the sensor's board last. */
export function byInterest(a, b) {
  return isHousekeeping(a) - isHousekeeping(b) || collator.compare(a, b);
}

/** Characters of an axis label at most. */
const LABEL_LENGTH = 7;

/** Axis labels with the unit, unless that makes one too long. */
export function ticksWithUnit(values, unit) {
  const labels = ticks(values);
  const sign = symbol(unit);
  if (sign === '' || labels.some((label) => label.length + 1 + sign.length > LABEL_LENGTH)) return labels;
  return labels.map((label) => `${label}\u00a0${sign}`);
}

/** Axis labels, with the decimals of their step. */
function ticks(values) {
  const step = values.length > 1 ? Math.abs(values[1] - values[0]) : 1;
  let digits = 0;
  while (digits < 6 && !isWhole(step * 10 ** digits)) digits += 1;
  if (Math.abs(values.at(-1)) >= 1e7) return values.map(measure);
  const format = new Intl.NumberFormat(undefined, {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return values.map((value) => format.format(value));
}

/** Whether a number is whole, but for the rounding of its computation. */
function isWhole(number) {
  return number > 0.5 && Math.abs(number - Math.round(number)) < 1e-6 * number;
}

/** Natural order: site-2 before site-10. */
export const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });
