import { boundsOf, dayKey, GroupFolds, type RowGroupQuery, type RowGroups } from '../groups.ts';
import { DAY_US } from '../rollups/periods.ts';
import { deviceConditions } from '../sql-groups.ts';
import type { Database } from './database.ts';

// One part of the readings, about 5 ms: at most this many rows of at most this many consecutive series.
const PART_ROWS = 5000;
const PART_SERIES = 5000;

/**
 * Computes groups in parts of the identities (series, time), so that no statement blocks this thread for long. One
 * statement reads a part of both tables of readings, so a merge between two parts moves no reading from one part to
 * another.
 */
export async function groupsOf(db: Database, query: RowGroupQuery): Promise<RowGroups> {
  const { from, to } = boundsOf(query);
  const { partEnd, part, values } = groupStatements(query);
  const folds = new GroupFolds();
  const last = await db.run(
    () => db.statement('select max(id) as id from series').get()!.id as number | null,
  );
  for (let [series, time] = [1, from]; last !== null && series <= last && from < to; ) {
    await db.pause();
    const start = [series, time, from, to];
    const behind = series + PART_SERIES;
    [series, time] = await db.run(() => {
      const cut = db.statement(partEnd).get(...start, behind, PART_ROWS, ...values);
      const end: [number, number] =
        cut === undefined ? [behind, from] : [cut.series as number, cut.time as number];
      for (const row of db.statement(part).all(...start, ...end, ...values)) {
        const { grouped, count, min, max, sum } = row as Record<string, number>;
        const key = query.by === 'day' ? dayKey(grouped!) : String(grouped);
        folds.addPart({ key, count: count!, min: min!, max: max!, sum: sum! });
      }
      return end;
    });
  }
  return folds.groups(query);
}

/**
 * The statements of one part. Parameters: 1 and 2 are the first identity, 3 and 4 the bounds of times. From 7 on:
 * `values`. Bounds of times depend on `s` only, so that they are a range of the primary key, and a part costs the same
 * wherever it is in a long series.
 */
export function groupStatements({ by, metric, devices = {} }: RowGroupQuery) {
  const values: (string | number)[] = [];
  const bind = (value: string | number) => `?${values.push(value) + 6}`;
  const conditions = metric === undefined ? [] : [`s.metric = ${bind(metric)}`];
  const fields = deviceConditions(devices, bind);
  if (fields.length > 0)
    conditions.push(`s.device in (select d.name from devices d where ${fields.join(' and ')})`);
  const selected = ['true', ...conditions].join(' and ');
  const first = 'r.time >= case when s.id = ?1 then ?2 else ?3 end';
  const partEnd = `
    select r.series, r.time from series s cross join readings r on r.series = s.id
    where s.id >= ?1 and s.id < ?5 and ${first} and r.time < ?4 and ${selected}
    order by s.id, r.time limit 1 offset ?6`;
  const within = `
    s.id >= ?1 and s.id <= ?5 and ${first} and r.time < case when s.id = ?5 then ?6 else ?4 end
    and typeof(r.value) = 'real' and ${selected}`;
  const grouped = by === 'day' ? `r.time / ${DAY_US}` : `s.${by}`;
  const part = `
    select grouped, count(*) as count, min(value) as min, max(value) as max, sum(value) as sum from (
      select ${grouped} as grouped, r.value from series s cross join readings r on r.series = s.id where ${within}
      union all
      select ${grouped}, r.value from recent r cross join series s on s.id = r.series
      where r.series >= ?1 and r.series <= ?5 and ${within}
    ) group by grouped`;
  return { partEnd, part, values };
}
