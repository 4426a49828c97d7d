import { boundsOf, dayKey, GroupFolds, type RowGroupQuery, type RowGroups } from '../groups.ts';
import { DAY_US } from '../rollups/periods.ts';
import { deviceConditions } from '../sql-groups.ts';
import type { Blocks } from './blocks.ts';
import type { Database } from './database.ts';
import { lastSeries } from './series.ts';

// One part of the readings, about 5 ms: at most this many rows and blocks of at most this many consecutive series.
const PART_ROWS = 5000;
const PART_BLOCKS = 4;
const PART_SERIES = 2000;

/** A series, and one of its blocks. */
interface PartBlock {
  readonly id: number;
  readonly device: string;
  readonly metric: string;
  readonly first: number;
  readonly last: number;
}

/** A series and a time. */
type Identity = [series: number, time: number];

function identityOf(cut: Record<string, unknown> | undefined, otherwise: Identity): Identity {
  return cut === undefined ? otherwise : [cut.series as number, cut.time as number];
}

function toPart({ grouped, count, min, max, sum }: Record<string, number>, by: RowGroupQuery['by']) {
  const key = by === 'day' ? dayKey(grouped!) : String(grouped);
  return { key, count: count!, min: min!, max: max!, sum: sum! };
}

/** Where a part ends: before its bound if it has as many blocks as a part can have. */
function endOfPart(blocks: readonly PartBlock[], bound: Identity): Identity {
  const most = blocks[PART_BLOCKS - 1];
  const isEarlier = most !== undefined && (most.id < bound[0] || most.last + 1 < bound[1]);
  return isEarlier ? [most.id, most.last + 1] : bound;
}

/**
 * Computes groups in parts of the identities (series, time), so that no statement blocks this thread for long. One
 * transaction reads a part of both tables of readings and of the blocks, so a merge between two parts moves no reading from
 * one part to another.
 */
export async function groupsOf(db: Database, blocks: Blocks, query: RowGroupQuery): Promise<RowGroups> {
  const { by } = query;
  const { from, to } = boundsOf(query);
  const { partEnd, partBlocks, part, values } = groupStatements(query);
  const folds = new GroupFolds();
  const last = await db.run(() => lastSeries(db));
  const addBlock = ({ id, device, metric }: PartBlock, start: number, end: number) => {
    let day = -1;
    let key = by === 'device' ? device : metric;
    for (const { times, values: numbers } of blocks.numbers(id, start, end)) {
      for (let index = 0; index < times.length; index += 1) {
        const ofDay = by === 'day' ? Math.floor(times[index]! / DAY_US) : day;
        if (ofDay !== day) {
          day = ofDay;
          key = dayKey(day);
        }
        folds.add(key, numbers[index]!);
      }
    }
  };
  for (let [series, time] = [1, from]; last !== null && series <= last && from < to; ) {
    await db.pause();
    const start = [series, time, from, to] as const;
    const behind = series + PART_SERIES;
    [series, time] = await db.read(() => {
      const cut = db.statement(partEnd).get(...start, behind, PART_ROWS, ...values);
      const bound = identityOf(cut, [behind, from]);
      const found = db.statement(partBlocks).all(...start, ...bound, ...values) as unknown as PartBlock[];
      const end = endOfPart(found, bound);
      for (const block of found) {
        const { id } = block;
        const low = Math.max(block.first, id === start[0] ? start[1] : from);
        addBlock(block, low, Math.min(block.last + 1, id === end[0] ? end[1] : to));
      }
      for (const row of db.statement(part).all(...start, ...end, ...values)) {
        folds.addPart(toPart(row as Record<string, number>, by));
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
  const low = 'case when s.id = ?1 then ?2 else ?3 end';
  const high = 'case when s.id = ?5 then ?6 else ?4 end';
  const first = `r.time >= ${low}`;
  const partEnd = `
    select r.series, r.time from series s cross join readings r on r.series = s.id
    where s.id >= ?1 and s.id < ?5 and ${first} and r.time < ?4 and ${selected}
    order by s.id, r.time limit 1 offset ?6`;
  // As for one series: the block that begins last before a time is the only one that can reach into what follows.
  const partBlocks = `
    select s.id, s.device, s.metric, b.first, b.last from series s cross join tidegauge_blocks b on b.series = s.id
    where s.id >= ?1 and s.id <= ?5 and b.first < ${high} and b.last >= ${low} and ${low} < ${high}
      and b.first >= coalesce((
        select f.first from tidegauge_blocks f where f.series = s.id and f.first <= ${low}
        order by f.first desc limit 1), ${low})
      and ${selected}
    order by s.id, b.first limit ${PART_BLOCKS}`;
  const within = `
    s.id >= ?1 and s.id <= ?5 and ${first} and r.time < ${high}
    and typeof(r.value) = 'real' and ${selected}`;
  const grouped = by === 'day' ? `r.time / ${DAY_US}` : `s.${by}`;
  const part = `
    select grouped, count(*) as count, min(value) as min, max(value) as max, sum(value) as sum from (
      select ${grouped} as grouped, r.value from series s cross join readings r on r.series = s.id where ${within}
      union all
      select ${grouped}, r.value from recent r cross join series s on s.id = r.series
      where r.series >= ?1 and r.series <= ?5 and ${within}
      union all
      select ${grouped}, r.value from arrivals r cross join series s on s.id = r.series
      where r.series >= ?1 and r.series <= ?5 and ${within}
    ) group by grouped`;
  return { partEnd, partBlocks, part, values };
}
