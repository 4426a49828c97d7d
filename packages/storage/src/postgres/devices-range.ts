import { MAX_TIME } from '@tidegauge/readings';
import type { DeviceFilter, DevicesRangeQuery } from '../contract.ts';
import { deviceConditions } from '../sql-groups.ts';
import { binder, type Value } from './database.ts';
import { READING_COLUMNS } from './mapping.ts';

/**
 * One page of a range over devices: device, metric and the columns of a reading. Reads at most a page of each series,
 * from the position of the page on, and stops at the device that fills the page.
 */
export function devicesStatement(filter: DeviceFilter, query: DevicesRangeQuery, values: Value[]): string {
  const { metric, from = 0, to = MAX_TIME + 1, order = 'desc', limit, after } = query;
  const bind = binder(values);
  const [low, high, page] = [bind(from), bind(to), bind(limit)];
  const series = deviceConditions(filter, bind);
  if (metric !== undefined) series.push(`s.metric = ${bind(metric)}`);
  let [first, end] = [low, high];
  if (after !== undefined) {
    const [device, time, name] = [bind(after.device), bind(after.time), bind(after.metric)];
    series.push(`d.name >= ${device}`);
    // Series of the last device continue at the time of the last reading, or one microsecond off it.
    const bound = (isThere: string) =>
      `case when d.name > ${device} then null when ${isThere} then ${time}::bigint + 1 else ${time}::bigint end`;
    if (order === 'desc') end = `least(${high}, ${bound(`s.metric < ${name}`)})`;
    else first = `greatest(${low}, ${bound(`s.metric <= ${name}`)})`;
  }
  return `
    select d.name, s.metric, r.*
    from devices d join series s on s.device = d.name cross join lateral (
      select ${READING_COLUMNS} from readings
      where series = s.id and time >= ${first}::bigint and time < ${end}::bigint
      order by time ${order} limit ${page}
    ) r
    where ${series.join(' and ')}
    order by d.name, r.time ${order}, s.metric ${order} limit ${page}`;
}
