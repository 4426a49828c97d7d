import type { Device } from '@tidegauge/readings';
import { createStore, type DeviceStore, MAX_PAGE, type Store } from '@tidegauge/storage';
import { type Outcome, outcomeOf } from '../operations/outcome.ts';
import { type HttpClient, refusalIn } from './http-client.ts';
import { outcomeOfError } from './record-target.ts';

/**
 * The result of an operation on devices. `value` decodes it on its call, so decoding is not part of the measured time.
 * It is null where the operation does not read its result.
 */
export interface DeviceResult<T> {
  readonly outcome: Outcome;
  readonly value: () => T | null;
}

/** A target of operations on the register of devices. No operation rejects: each resolves to its outcome. */
export interface DeviceTarget {
  selectOne(name: string): Promise<DeviceResult<Device>>;
  selectSome(year: number): Promise<DeviceResult<readonly Device[]>>;
  /** Changes the city of all devices of a year. Resolves to their number. */
  updateSome(year: number, city: string): Promise<DeviceResult<number>>;
  /** Reads devices to check them; null where there is none. Rejects when they cannot be read. */
  check(names: readonly string[]): Promise<readonly (Device | null)[]>;
}

/** A target that calls the store directly, over connections that stay open (`raw`). */
export function rawDevices(store: Store): DeviceTarget {
  return targetOf((call) => call(store.devices));
}

/** A target that opens the store for each operation, and closes it (`raw-connect`). All of it is measured. */
export function rawDevicesWithConnect(url: string): DeviceTarget {
  return targetOf(async (call) => {
    const store = await createStore(url);
    try {
      await store.open();
      return await call(store.devices);
    } finally {
      await store.close();
    }
  });
}

function targetOf(use: <T>(call: (devices: DeviceStore) => Promise<T>) => Promise<T>): DeviceTarget {
  return {
    selectOne: (name) =>
      resultOf(
        use((devices) => devices.get(name)),
        (device) => (device === null ? 'NOT_FOUND' : 'OK'),
      ),
    selectSome: (year) => resultOf(use((devices) => all(devices, year))),
    updateSome: (year, city) => resultOf(use((devices) => devices.patchWhere({ year }, { city }))),
    check: (names) => use((devices) => getAll(devices, names)),
  };
}

async function all(devices: DeviceStore, year: number): Promise<readonly Device[]> {
  const found: Device[] = [];
  for await (const page of devicePages((query) => devices.list(query), { year, limit: MAX_PAGE })) {
    found.push(...page);
  }
  return found;
}

/** The pages of a list of devices, in its order. */
export async function* devicePages(
  list: DeviceStore['list'],
  query: Parameters<DeviceStore['list']>[0] & { readonly limit: number },
): AsyncGenerator<readonly Device[]> {
  for (let after = query.after; ; ) {
    const page = await list({ ...query, ...(after === undefined ? {} : { after }) });
    yield page;
    if (page.length < query.limit) return;
    after = page.at(-1)!.name;
  }
}

/** Reads devices one after the other. */
export async function getAll(
  devices: Pick<DeviceStore, 'get'>,
  names: readonly string[],
): Promise<readonly (Device | null)[]> {
  const found: (Device | null)[] = [];
  for (const name of names) found.push(await devices.get(name));
  return found;
}

/** The result of a call of a store or of its driver. */
export function resultOf<T>(
  call: Promise<T>,
  outcome: (value: T) => Outcome = () => 'OK',
): Promise<DeviceResult<NonNullable<T>>> {
  return call.then(
    (value) => ({ outcome: outcome(value), value: () => value ?? null }),
    (error) => ({ outcome: outcomeOfError(error), value: () => null }),
  );
}

/** A target that calls the HTTP API of the application (`app`, and `app-connect` with a client that keeps nothing open). */
export function appDevices(api: string, client: HttpClient): DeviceTarget {
  const send = (method: string, url: string, body?: string) =>
    client.send(method, url, body).catch(() => ({ status: 0, body: '' }));
  const urlOf = (name: string): string => `${api}/v1/devices/${name}`;
  const get = async (name: string): Promise<Device | null> => {
    const { status, body } = await client.send('GET', urlOf(name));
    if (status === 404) return null;
    if (status !== 200) throw new Error(`reading ${name} failed: ${refusalIn({ status, body })}`);
    return JSON.parse(body) as Device;
  };
  return {
    async selectOne(name) {
      const { status, body } = await send('GET', urlOf(name));
      return {
        outcome: outcomeOf(status),
        value: () => (status === 200 ? (JSON.parse(body) as Device) : null),
      };
    },
    async selectSome(year) {
      const pages: string[] = [];
      let next: string | null = null;
      do {
        const cursor: string = next === null ? '' : `&cursor=${encodeURIComponent(next)}`;
        const { status, body } = await send(
          'GET',
          `${api}/v1/devices?year=${year}&limit=${MAX_PAGE}${cursor}`,
        );
        if (status !== 200) return { outcome: outcomeOf(status), value: () => null };
        pages.push(body);
        next = nextOf(body);
      } while (next !== null);
      return { outcome: 'OK', value: () => pages.flatMap((page) => devicesIn(page)) };
    },
    async updateSome(year, city) {
      const { status, body } = await send(
        'PATCH',
        `${api}/v1/devices?year=${year}`,
        JSON.stringify({ city }),
      );
      const value = () => (status === 200 ? (JSON.parse(body) as { matched: number }).matched : null);
      return { outcome: outcomeOf(status), value };
    },
    check: (names) => getAll({ get }, names),
  };
}

/** The devices in the response of a list. */
export function devicesIn(body: string): readonly Device[] {
  return (JSON.parse(body) as { readonly devices: readonly Device[] }).devices;
}

/** The cursor at the end of the response of a list, without decoding its devices. null: it was the last page. */
export function nextOf(body: string): string | null {
  const [, next] = /"next":(null|"[^"]*")\}\s*$/.exec(body.slice(-4096)) ?? [];
  if (next === undefined) throw new Error('the response of the API is not a list of devices');
  return JSON.parse(next) as string | null;
}
