import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Device } from '@tidegauge/readings';
import { parseUrl, type StoreUrl } from '@tidegauge/storage';
import { type Connection, createConnection } from 'mariadb';
import { type Collection, MongoClient } from 'mongodb';
import { loadedDevice } from '../operations/registered-devices.ts';
import { type DeviceTarget, getAll, rawDevicesWithConnect, resultOf } from './device-target.ts';

export interface PublishedTarget extends DeviceTarget {
  /** Called once after a load of this many devices. */
  prepare(devices: number): Promise<void>;
}

/**
 * The operations as the program of Lazarev and Gosudarev does them, as far as the code that they print shows it: plain
 * drivers, and a connection for each operation. MongoDB's cursors are never read, so the driver does not send the query.
 * JSON files are read, parsed and written whole, without waiting for the disk.
 *
 * The tables are those of the application, with its indexes, except for the JSON file.
 *
 * @param storeUrl of one of `PUBLISHED_STORES`
 */
export function publishedDevices(storeUrl: string): PublishedTarget {
  const url = parseUrl(storeUrl);
  if (url.scheme === 'json') return jsonFile(join(url.path, 'people.json'));
  const target = url.scheme === 'mariadb' ? mariadb(url) : mongodb(url);
  return {
    ...target,
    prepare: async () => {},
    check: rawDevicesWithConnect(storeUrl).check,
  };
}

type Operations = Omit<PublishedTarget, 'prepare' | 'check'>;

function mariadb({ hosts, user, password, path }: StoreUrl): Operations {
  const { host, port } = hosts[0]!;
  const options = { host, port: port ?? 3306, user: user!, password: password ?? '', database: path };
  const use = async <T>(call: (connection: Connection) => Promise<T>): Promise<T> => {
    const connection = await createConnection(options);
    try {
      return await call(connection);
    } finally {
      await connection.end();
    }
  };
  return {
    selectOne: (name) =>
      resultOf(
        use(async (connection) => {
          const [row] = await connection.query<Device[]>('select * from devices where name = ?', [name]);
          return row ?? null;
        }),
        (row) => (row === null ? 'NOT_FOUND' : 'OK'),
      ),
    selectSome: (year) =>
      resultOf(
        use((connection) => connection.query<Device[]>('select * from devices where year = ?', [year])),
      ),
    updateSome: (year, city) =>
      resultOf(
        use(async (connection) => {
          const sql = 'update devices set city = ? where year = ?';
          // The number of matching rows, also where they have the city already.
          const { affectedRows } = await connection.query<{ affectedRows: number }>(sql, [city, year]);
          return affectedRows;
        }),
      ),
  };
}

function mongodb({ hosts, user, password, path, options }: StoreUrl): Operations {
  const places = hosts.map(({ host, port }) => `${host}:${port ?? 27017}`).join(',');
  const ofDriver = ['authSource', 'replicaSet', 'tls', 'tlsCAFile'].flatMap((name) => {
    const value = options.get(name);
    return value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`];
  });
  const auth = user === null ? {} : { auth: { username: user, password: password ?? '' } };
  const use = async <T>(
    call: (people: Collection<{ _id: string; year: number; city: string }>) => Promise<T>,
  ): Promise<T> => {
    const client = new MongoClient(`mongodb://${places}/${path}?${ofDriver.join('&')}`, auth);
    try {
      await client.connect();
      return await call(client.db(path).collection('devices'));
    } finally {
      await client.close();
    }
  };
  return {
    selectOne: (name) => resultOf(use(async (people) => unread(people.find({ _id: name })))),
    selectSome: (year) => resultOf(use(async (people) => unread(people.find({ year })))),
    updateSome: (year, city) =>
      resultOf(use(async (people) => (await people.updateMany({ year }, { $set: { city } })).matchedCount)),
  };
}

/** The cursor is dropped, as in the published program. */
function unread(_cursor: object): null {
  return null;
}

/** One file with an array of all devices. */
function jsonFile(path: string): PublishedTarget {
  const read = async () => JSON.parse(await readFile(path, 'utf8')) as Device[];
  return {
    prepare: (devices) =>
      writeFile(path, JSON.stringify(Array.from({ length: devices }, (_, number) => loadedDevice(number)))),
    selectOne: (name) =>
      resultOf(
        read().then((people) => people.find((each) => each.name === name) ?? null),
        (found) => (found === null ? 'NOT_FOUND' : 'OK'),
      ),
    selectSome: (year) => resultOf(read().then((people) => people.filter((each) => each.year === year))),
    updateSome: (year, city) =>
      resultOf(
        read().then(async (people) => {
          let matched = 0;
          const changed = people.map((each) => {
            if (each.year !== year) return each;
            matched += 1;
            return { ...each, city };
          });
          await writeFile(path, JSON.stringify(changed));
          return matched;
        }),
      ),
    async check(names) {
      const people = new Map((await read()).map((each) => [each.name, each]));
      return getAll({ get: async (name) => people.get(name) ?? null }, names);
    },
  };
}
