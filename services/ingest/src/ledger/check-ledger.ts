import { forEach } from '@tidegauge/parallel';
import type { Logger } from '@tidegauge/service';
import type { Store } from '@tidegauge/storage';
import type { SequenceLedger } from './sequence-ledger.ts';

/** Devices that are read at the same time. */
const DEVICES_AT_ONCE = 8;
/** Readings of one device that are read at most: those of an hour at 250/s. */
const MOST_READINGS = 900_000;
/** The longest time of a check. Devices that are not read by then cannot be judged. */
const LIMIT_MS = 60_000;

export interface CheckOptions {
  readonly from: number;
  readonly isFinal: boolean;
  readonly wasUnused: boolean;
}

/**
 * Completes a ledger that may lack the last numbers, after a power cut or because ingest ran on another board: numbers of
 * readings that the store has are recorded. A number is missing only when the store does not have it. Where that cannot be
 * decided, the device is in doubt.
 *
 * @param from no reading with an earlier time can be lacking, microseconds since the epoch
 * @param isFinal whether the store decides. False when a number can have been recorded that the store does not have,
 *   because filters leave readings out, or because the ledger was not kept for a time
 * @param wasUnused whether the ledger has all numbers of the process that wrote it. Then a device that was read is in doubt only if
 *   the store has numbers of another process
 */
export async function checkLedger(
  ledger: SequenceLedger,
  store: Store,
  { from, isFinal, wasUnused }: CheckOptions,
  logger: Logger,
): Promise<void> {
  const begun = performance.now();
  const { gapsOpened, healed = 0 } = ledger.totals();
  const { missing } = ledger;
  const names = [...ledger.names()];
  let doubted = 0;
  let failure: unknown = null;
  const complete = async (device: string): Promise<boolean> => {
    if (failure !== null || performance.now() - begun > LIMIT_MS) return false;
    let read = 0;
    let isNew = false;
    for await (const { boot, seq } of store.readings.range({
      device,
      from,
      order: 'asc',
      limit: MOST_READINGS,
    })) {
      if (++read === MOST_READINGS) return false;
      if (boot !== null && seq !== null && ledger.confirm(device, boot, seq)) isNew = true;
    }
    return isFinal || (wasUnused && !isNew);
  };
  await forEach(names, DEVICES_AT_ONCE, async (device) => {
    const isKnown = await complete(device).catch((error: unknown) => {
      failure ??= error;
      return false;
    });
    if (isKnown) return;
    ledger.doubt(device);
    doubted++;
  });
  // Numbers that arrived in another order than that of their times were no gaps.
  ledger.restoreTotals({
    ...ledger.totals(),
    gapsOpened: gapsOpened + Math.max(0, ledger.missing - missing),
    healed: healed + Math.max(0, missing - ledger.missing),
  });
  const seconds = Math.round(performance.now() - begun) / 1000;
  const outcome = { devices: names.length, doubted, seconds, ...(failure === null ? {} : { err: failure }) };
  const why = wasUnused ? 'after a time without this file' : 'after a power cut';
  logger[wasUnused ? 'info' : 'warn'](
    outcome,
    `the ledger of sequence numbers was completed from the store ${why}`,
  );
}
