import { formatTime, parseTime } from '@tidegauge/readings';
import type { Group, Groups, Store } from '@tidegauge/storage';
import { outcomeOf } from '../operations/outcome.ts';
import type { QueryName, ReadLoad } from '../operations/read-load.ts';
import { type Answer, type AnsweredReading, TOP } from '../operations/right-answers.ts';
import { type DeviceResult, nextOf, resultOf } from './device-target.ts';
import type { HttpClient } from './http-client.ts';

/** Does one query. It does not reject: it resolves to its outcome. The answer is decoded by `value`. */
export type Ask = () => Promise<DeviceResult<Answer>>;

/** Readings of one page through the API. */
const PAGE = 1000;

/** A query that calls the store directly (`raw`). */
export function rawQuery(store: Store, load: ReadLoad, query: QueryName): Ask {
  const answer = rawAnswer(store, load, query);
  return () => resultOf(answer());
}

function rawAnswer({ readings, devices }: Store, load: ReadLoad, query: QueryName): () => Promise<Answer> {
  const { device, city, from, to } = load.asked;
  const { name } = device;
  const limit = load.readings;
  const groups = async (found: Promise<Groups>): Promise<Answer> => ({ groups: (await found).groups });
  switch (query) {
    case 'q1': {
      const { metric, time } = load.firstOfAsked();
      const identity = { device: name, metric, from: time, to: time + 1, limit: 1 };
      return async () => {
        const [found] = await all(readings.range(identity));
        return { site: found === undefined ? null : await siteOf(found.device) };
      };
    }
    case 'q2':
      return async () => ({ readings: await all(readings.range({ device: name, limit: 1 })) });
    case 'q3':
      return async () => {
        const [site, found] = await Promise.all([
          siteOf(name),
          all(readings.range({ device: name, from, to, limit })),
        ]);
        return { site, readings: found };
      };
    case 'q4':
      return async () => ({ readings: await all(readings.range({ device: name, limit })) });
    case 'q5':
      return () => groups(readings.groups({ by: 'device', order: 'sum', limit: TOP }));
    case 'q6':
      return () => groups(readings.groups({ by: 'device', order: 'mean', limit: load.devices }));
    case 'q7':
      return () => groups(readings.groups({ by: 'day', limit: load.dayCount }));
    case 'q8':
      return () => groups(readings.groups({ by: 'metric', order: 'count', limit: load.metrics }));
    case 'q9':
      return () => groups(readings.groups({ by: 'metric', order: 'sum', limit: load.metrics }));
    case 'q10':
      return async () => ({ readings: await all(readings.rangeOfDevices({ city }, { limit })) });
  }

  async function siteOf(device: string): Promise<string | null> {
    return (await devices.get(device))?.site ?? null;
  }
}

async function all(
  readings: AsyncIterable<{
    readonly device: string;
    readonly time: number;
    readonly value: number | string;
  }>,
): Promise<AnsweredReading[]> {
  const found: AnsweredReading[] = [];
  for await (const { device, time, value } of readings) found.push({ device, time, value: Number(value) });
  return found;
}

/** A query through the HTTP API of the application (`app`). Long answers are read page by page. */
export function appQuery(api: string, client: HttpClient, load: ReadLoad, query: QueryName): Ask {
  const paths = appPaths(load, query);
  return async () => {
    const bodies: Bodies = { site: [], readings: [], groups: [] };
    for (const [kind, path] of Object.entries(paths) as [keyof Bodies, string][]) {
      const isPaged = kind === 'readings' && !path.includes('limit=1&');
      const status = await readPages(client, `${api}${path}`, isPaged, bodies[kind]);
      if (status !== 200) return { outcome: outcomeOf(status), value: () => null };
    }
    return { outcome: 'OK', value: () => answerIn(bodies) };
  };
}

/**
 * Adds the bodies of the pages at a URL to `bodies`. Resolves to the last status: the first one that is not 200, or 0 when
 * there was no response.
 *
 * @param isPaged whether cursors are followed
 */
async function readPages(
  client: HttpClient,
  url: string,
  isPaged: boolean,
  bodies: string[],
): Promise<number> {
  let next: string | null = null;
  do {
    const cursor: string = next === null ? '' : `&cursor=${encodeURIComponent(next)}`;
    const { status, body } = await client
      .send('GET', `${url}${cursor}`)
      .catch(() => ({ status: 0, body: '' }));
    if (status !== 200) return status;
    bodies.push(body);
    next = isPaged ? nextOf(body) : null;
  } while (next !== null);
  return 200;
}

/** Bodies of the responses. */
type Bodies = Record<keyof Answer, string[]>;

/** The paths of a query. `limit=1` comes first where one reading is wanted, and its cursor is not followed. */
function appPaths(load: ReadLoad, query: QueryName): Partial<Record<keyof Answer, string>> {
  const { device, city, from, to } = load.asked;
  const ofDevice = `device=${encodeURIComponent(device.name)}`;
  const site = `/v1/devices/${device.name}`;
  const groups = (parameters: string) => ({ groups: `/v1/readings/groups?${parameters}` });
  switch (query) {
    case 'q1': {
      const { metric, time } = load.firstOfAsked();
      const identity = `${ofDevice}&metric=${metric}&from=${iso(time)}&to=${iso(time + 1)}`;
      return { readings: `/v1/readings?limit=1&${identity}`, site };
    }
    case 'q2':
      return { readings: `/v1/readings?limit=1&${ofDevice}` };
    case 'q3':
      return { site, readings: `/v1/readings?${ofDevice}&from=${iso(from)}&to=${iso(to)}&limit=${PAGE}` };
    case 'q4':
      return { readings: `/v1/readings?${ofDevice}&limit=${PAGE}` };
    case 'q5':
      return groups(`by=device&order=sum&limit=${TOP}`);
    case 'q6':
      return groups(`by=device&order=mean&limit=${load.devices}`);
    case 'q7':
      return groups(`by=day&limit=${load.dayCount}`);
    case 'q8':
      return groups(`by=metric&order=count&limit=${load.metrics}`);
    case 'q9':
      return groups(`by=metric&order=sum&limit=${load.metrics}`);
    case 'q10':
      return { readings: `/v1/readings?city=${encodeURIComponent(city)}&limit=${PAGE}` };
  }
}

function answerIn({ site, readings, groups }: Bodies): Answer {
  return {
    ...(site.length === 0 ? {} : { site: (JSON.parse(site[0]!) as { site: string | null }).site }),
    readings: readings.flatMap((body) =>
      (JSON.parse(body) as { readings: { device: string; time: string; value: number }[] }).readings.map(
        ({ device, time, value }) => ({ device, time: parseTime(time)!, value }),
      ),
    ),
    groups: groups.flatMap((body) => (JSON.parse(body) as { groups: Group[] }).groups),
  };
}

function iso(time: number): string {
  return encodeURIComponent(formatTime(time));
}
