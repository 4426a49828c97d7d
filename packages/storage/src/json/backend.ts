import { access, constants, readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { type Backend, capabilities } from '../backend.ts';
import type { BackendContext } from '../context.ts';
import type { StoreSpace } from '../contract.ts';
import { DISK_FULL, StoreError } from '../errors.ts';
import { ROLLUPS_STATE, sinceDocument } from '../rollups/limits.ts';
import type { JsonConfig } from './config.ts';
import { JsonDevices } from './devices.ts';
import { translated } from './errors.ts';
import { takeLease } from './leases.ts';
import { JsonReadings } from './readings.ts';
import { JsonRecords } from './records.ts';
import { JsonRollups } from './rollups.ts';
import { type Layout, layoutOf, migrateFolder, openFolder } from './schema.ts';
import { SkippedLines } from './skipped-lines.ts';

const CAPABILITIES = capabilities({
  countsDuplicates: true,
  // A power failure can leave the first rows of a batch that was never acknowledged.
  atomicBatches: false,
  maxBatch: 5000,
  writers: 2,
  orderedScan: true,
});

/** A disk with less free space counts as full: one or two batches. */
const LEAST_FREE = 4 * 1024 * 1024;

/** Readings, devices and records as JSON Lines in a folder. Several processes can use it at the same time. */
export class JsonBackend implements Backend {
  readonly name = 'json';
  readonly capabilities = CAPABILITIES;
  readonly readings: JsonReadings;
  readonly devices: JsonDevices;
  readonly records: JsonRecords;
  readonly rollups: JsonRollups;
  readonly #layout: Layout;

  constructor(config: JsonConfig, context: BackendContext) {
    const skipped = new SkippedLines(context.logger);
    this.#layout = layoutOf(config.folder);
    this.devices = new JsonDevices(this.#layout, skipped);
    this.readings = new JsonReadings(this.#layout, config.memoryBytes, skipped);
    this.records = new JsonRecords(this.#layout, skipped);
    this.rollups = new JsonRollups(this.#layout, skipped);
  }

  open(): Promise<void> {
    return translated(this.#layout.folder, () => openFolder(this.#layout));
  }

  migrate(): Promise<void> {
    return translated(this.#layout.folder, async () => {
      await migrateFolder(this.#layout);
      await this.readings.migrate();
      await this.rollups.ensureState(ROLLUPS_STATE, sinceDocument(this.readings.isEmpty));
    });
  }

  /** Does not write, because probes come every few seconds and writes wear out an SD card. */
  health(): Promise<void> {
    const { readings } = this.#layout;
    return translated(readings, async () => {
      await access(readings, constants.W_OK | constants.X_OK);
      const { bavail, bsize } = await statfs(readings);
      if (bavail * bsize >= LEAST_FREE) return;
      throw new StoreError('UNAVAILABLE', `${readings}: the disk is full`, {
        hint: DISK_FULL,
      });
    });
  }

  lease(name: string, holder: string, ms: number): Promise<boolean> {
    const { folder } = this.#layout;
    return translated(folder, () => takeLease(folder, name, holder, ms));
  }

  /** Adds up the files of the days. Others are small. */
  space(): Promise<StoreSpace> {
    const { readings } = this.#layout;
    return translated(readings, async () => {
      let used = 0;
      for (const file of await readdir(readings)) {
        const found = await stat(join(readings, file)).catch(() => null);
        used += found?.size ?? 0;
      }
      return { used, spare: 0, shrinks: true, path: readings };
    });
  }

  async close(): Promise<void> {
    await translated(this.#layout.folder, async () => {
      await this.readings.close();
      await this.devices.close();
      await this.records.close();
      await this.rollups.close();
    });
  }
}
