import { type Device, unknownDevice } from '@tidegauge/readings';
import type { DeviceFilter, DevicePatch, DeviceQuery, DeviceStore } from '../contract.ts';
import { compareText } from '../merge.ts';
import type { Database } from './database.ts';
import { isDuplicateKey } from './errors.ts';
import { insertNew } from './insert.ts';
import { fromDevice, fromPatch, toDevice } from './mapping.ts';

const FILTERS = ['year', 'city', 'site', 'kind'] as const;

export class MongodbDevices implements DeviceStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async get(name: string): Promise<Device | null> {
    const document = await this.#db.run(() => this.#db.devices.findOne({ _id: name }));
    return document === null ? null : toDevice(document);
  }

  put(device: Device): Promise<boolean> {
    const { _id, ...fields } = fromDevice(device);
    const replace = () => this.#db.devices.replaceOne({ _id }, fields, { upsert: true });
    return this.#db.run(async () => {
      // If two calls create the device at the same time, one is refused.
      const result = await replace().catch((error: unknown) => {
        if (!isDuplicateKey(error)) throw error;
        return replace();
      });
      return result.upsertedCount === 1;
    });
  }

  async register(names: readonly string[]): Promise<void> {
    await this.#db.run(async () => {
      const known = await this.#db.devices
        .find({ _id: { $in: [...names] } }, { projection: { _id: 1 } })
        .toArray();
      const fresh = new Set(names);
      for (const { _id } of known) fresh.delete(_id);
      const documents = [...fresh].sort(compareText).map((name) => fromDevice(unknownDevice(name)));
      await insertNew(this.#db.devices, documents);
    });
  }

  async patch(name: string, patch: DevicePatch): Promise<Device | null> {
    const fields = fromPatch(patch);
    if (Object.keys(fields).length === 0) return this.get(name);
    const document = await this.#db.run(() =>
      this.#db.devices.findOneAndUpdate({ _id: name }, { $set: fields }, { returnDocument: 'after' }),
    );
    return document === null ? null : toDevice(document);
  }

  patchWhere(filter: DeviceFilter, patch: DevicePatch): Promise<number> {
    const fields = fromPatch(patch);
    const matching = conditions(filter);
    return this.#db.run(async () => {
      if (Object.keys(fields).length === 0) return this.#db.devices.countDocuments(matching);
      return (await this.#db.devices.updateMany(matching, { $set: fields })).matchedCount;
    });
  }

  delete(name: string): Promise<boolean> {
    return this.#db.run(async () => (await this.#db.devices.deleteOne({ _id: name })).deletedCount === 1);
  }

  async list(query: DeviceQuery): Promise<Device[]> {
    const behind = query.after === undefined ? {} : { _id: { $gt: query.after } };
    const documents = await this.#db.run(() =>
      this.#db.devices
        .find({ ...conditions(query), ...behind })
        .sort({ _id: 1 })
        .limit(query.limit)
        .toArray(),
    );
    return documents.map(toDevice);
  }
}

function conditions(filter: DeviceFilter): DeviceFilter {
  const given = FILTERS.filter((field) => filter[field] !== undefined);
  return Object.fromEntries(given.map((field) => [field, filter[field]]));
}
