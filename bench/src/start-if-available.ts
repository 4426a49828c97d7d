import type { StoreServer } from '@tidegauge/lab/stores';
import { startStorePlaces } from '@tidegauge/loadtests/targets/store-places';

/**
 * Provides empty stores of one kind, for a benchmark of all stores that there are here.
 *
 * @param isDemanded whether the user named it
 * @returns null if it is not available and not demanded
 * @throws {Error} why it is not available
 */
export function startIfAvailable(name: string, isDemanded: boolean): Promise<StoreServer | null> {
  return startStorePlaces(name).catch((error: Error) => {
    if (isDemanded) throw error;
    process.stderr.write(`without ${name}: ${error.message}\n`);
    return null;
  });
}
