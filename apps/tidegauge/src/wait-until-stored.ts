import { setTimeout as sleep } from 'node:timers/promises';
import type { LedgerDocument } from '@tidegauge/readings';

const MAX_WAIT_MS = 5000;
const POLL_MS = 100;
const REQUEST_MS = 1000;

/**
 * Waits until ingest has stored what the broker still had for it: nothing is in flight and nothing new arrives.
 * Gives up when ingest does not answer, and after five seconds.
 *
 * @param ingest URL of ingest's HTTP port
 * @param token its token
 */
export async function waitUntilStored(ingest: string, token: string): Promise<void> {
  let before = -1;
  for (const deadline = Date.now() + MAX_WAIT_MS; Date.now() < deadline; await sleep(POLL_MS)) {
    const ledger = await readLedger(ingest, token);
    if (ledger === null) return;
    const { messages, readings } = ledger;
    if (readings.inFlight === 0 && messages.received === before) return;
    before = messages.received;
  }
}

async function readLedger(ingest: string, token: string): Promise<LedgerDocument | null> {
  try {
    const response = await fetch(`${ingest}/ledger`, {
      headers: { Authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(REQUEST_MS),
    });
    return (await response.json()) as LedgerDocument;
  } catch {
    return null;
  }
}
