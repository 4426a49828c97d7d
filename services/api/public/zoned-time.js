// Calendar times and ticks of a time axis in a zone. All come from Intl: a day in which the clocks change has not 24
// hours. Times are milliseconds since the epoch. Pure functions.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** 1970-01-05 was a Monday: steps of weeks begin on Mondays. */
const FIRST_MONDAY = 5;

const FIELDS = {
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
  minute: 'numeric',
  second: 'numeric',
  hourCycle: 'h23',
};
const CLOCK = { hour: '2-digit', minute: '2-digit' };
const DATE = { month: 'short', day: 'numeric' };
/** The labels of ticks, by the unit of their step. */
const LABELS = {
  second: { ...CLOCK, second: '2-digit' },
  minute: CLOCK,
  hour: CLOCK,
  day: DATE,
  month: { month: 'short' },
  year: { year: 'numeric' },
};
const MOMENT = { ...DATE, year: 'numeric', ...CLOCK, second: '2-digit' };
const SPAN = { ...DATE, year: 'numeric', ...CLOCK };

/** Steps of a time axis: the unit, the number of units, and about how long the step is. */
const STEPS = [
  ...stepsOf('second', SECOND, [1, 2, 5, 10, 15, 30]),
  ...stepsOf('minute', MINUTE, [1, 2, 5, 10, 15, 30]),
  ...stepsOf('hour', HOUR, [1, 2, 3, 6, 12]),
  ...stepsOf('day', DAY, [1, 2, 7, 14]),
  ...stepsOf('month', 30.4 * DAY, [1, 2, 3, 6]),
  ...stepsOf('year', 365.25 * DAY, [1, 2, 5, 10, 20, 50, 100]),
];

/** Periods of the calendar by number, and the fields at which a period begins. */
const CALENDAR = {
  day: {
    numberOf: (year, month, day) => Date.UTC(year, month - 1, day - (FIRST_MONDAY - 1)) / DAY,
    startOf: (number) => [1970, 1, FIRST_MONDAY + number],
  },
  month: {
    numberOf: (year, month) => year * 12 + month - 1,
    startOf: (number) => [Math.floor(number / 12), (number % 12) + 1, 1],
  },
  year: { numberOf: (year) => year, startOf: (number) => [number, 1, 1] },
};

const formats = new Map();

const LOCAL = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The name of the zone of the visitor's device, such as `Europe/Lisbon`, when the page was loaded. */
export function localZone() {
  return LOCAL;
}

/** Year, month (from 1), day, hour, minute and second of a time in a zone. */
export function fieldsOf(time, zone) {
  const fields = {};
  for (const { type, value } of formatOf('en-US', zone, FIELDS).formatToParts(time))
    fields[type] = Number(value);
  return [fields.year, fields.month, fields.day, fields.hour, fields.minute, fields.second];
}

/**
 * The time at which the clocks of a zone show year, month, day, and optionally hour, minute and second. Fields can be
 * beyond their range, as in `Date.UTC`. A time that the clocks omit becomes a later one. Of a time that they show twice,
 * it is one of both.
 */
export function instantOf(fields, zone) {
  const [year, month, day, hour = 0, minute = 0, second = 0] = fields;
  const clock = Date.UTC(year, month - 1, day, hour, minute, second);
  const first = clock - offsetAt(clock, zone);
  const time = clock - offsetAt(first, zone);
  return time + offsetAt(time, zone) === clock ? time : Math.max(first, time);
}

/** The same time of day, some calendar days or years later or earlier. */
export function shifted(time, zone, { days = 0, years = 0 }) {
  const [year, month, day, ...clock] = fieldsOf(time, zone);
  return instantOf([year + years, month, day + days, ...clock], zone) + (time % SECOND);
}

/**
 * Ticks from `from` to `to`: at round times of the clocks, or at the begin of days, months or years.
 *
 * @param most about the largest number of ticks
 * @returns the unit of the step, and the times
 */
export function ticksOf(from, to, most, zone) {
  const step = STEPS.find(({ about }) => (to - from) / about <= most) ?? STEPS.at(-1);
  const times = step.about < DAY ? clockTicks(from, to, step.about, zone) : dateTicks(from, to, step, zone);
  return { unit: step.unit, times };
}

/** Labels of ticks. At midnight the label is the date, and in January the year. */
export function tickLabels({ unit, times }, zone) {
  return times.map((time) => {
    const [, month, , hour, minute, second] = fieldsOf(time, zone);
    const isMidnight = hour === 0 && minute === 0 && second === 0;
    let label = LABELS[unit];
    if (unit === 'month' && month === 1) label = LABELS.year;
    if (label.hour !== undefined && isMidnight) label = DATE;
    return formatOf(undefined, zone, label).format(time);
  });
}

/** Date and time in the visitor's language. */
export function momentIn(time, zone) {
  return formatOf(undefined, zone, MOMENT).format(time);
}

/** Begin and end of a span in the visitor's language. */
export function spanIn(from, to, zone) {
  return formatOf(undefined, zone, SPAN).formatRange(from, to);
}

/** A time as the value of a field for date and time. */
export function fieldText(time, zone) {
  const [year, ...rest] = fieldsOf(time, zone).map((field) => String(field).padStart(2, '0'));
  return `${year.padStart(4, '0')}-${rest[0]}-${rest[1]}T${rest.slice(2).join(':')}`;
}

/** The time in a field for date and time; null when the field is empty. */
export function fieldTime(text, zone) {
  const fields = text.split(/\D/).map(Number);
  return fields.length < 3 || fields.some(Number.isNaN) ? null : instantOf(fields.slice(0, 6), zone);
}

function stepsOf(unit, length, counts) {
  return counts.map((count) => ({ unit, count, about: count * length }));
}

function formatOf(locale, zone, options) {
  const key = `${locale} ${zone} ${Object.keys(options)}`;
  const known = formats.get(key);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat(locale, { ...options, timeZone: zone });
  formats.set(key, format);
  return format;
}

/** What the clocks of a zone show more than UTC. */
function offsetAt(time, zone) {
  const [year, month, day, hour, minute, second] = fieldsOf(time, zone);
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(time / SECOND) * SECOND;
}

function clockTicks(from, to, step, zone) {
  const times = [];
  for (let time = Math.ceil(from / SECOND) * SECOND; time <= to; ) {
    const offset = offsetAt(time, zone);
    const clock = Math.ceil((time + offset) / step) * step;
    const tick = clock - offset;
    const later = offsetAt(tick, zone);
    // The clocks changed before the tick: they show that time earlier, or it is omitted or later.
    const moved = clock - later;
    if (moved !== tick && (moved < time || moved > tick || offsetAt(moved, zone) !== later)) {
      time = tick;
      continue;
    }
    if (moved <= to) times.push(moved);
    time = moved + SECOND;
  }
  return times;
}

function dateTicks(from, to, { unit, count }, zone) {
  const { numberOf, startOf } = CALENDAR[unit];
  const times = [];
  for (let number = Math.floor(numberOf(...fieldsOf(from, zone)) / count) * count; ; number += count) {
    const time = instantOf(startOf(number), zone);
    if (time > to) return times;
    // A zone that crossed the date line has a day twice or not at all.
    if (time >= from && time !== times.at(-1)) times.push(time);
  }
}
