import { waitUntil } from '@tidegauge/process';
import type { LedgerDocument } from '@tidegauge/readings';
import { fetchFor } from '@tidegauge/service';
import { type ServiceOptions, type ServiceProcess, startServiceProcess } from './service-process.ts';

/** A real ingest process and its ledger. */
export interface IngestProcess extends ServiceProcess {
  ledger(): Promise<LedgerDocument>;
  /**
   * Resolves to the ledger when `done` accepts it.
   * @throws {Error} with the last ledger, after `timeoutMs`
   */
  until(done: (ledger: LedgerDocument) => boolean, timeoutMs: number): Promise<LedgerDocument>;
}

/** Starts `services/ingest` with the given environment on a free port and waits until it is ready. */
export async function startIngestProcess(
  env: Readonly<Record<string, string>>,
  options?: ServiceOptions,
): Promise<IngestProcess> {
  const ready = /"http":"(http:[^"]+)".*"ingest is ready"/;
  const service = await startServiceProcess('ingest', { METRICS_PORT: '0', ...env }, ready, options);
  const ledger = async () => {
    const response = await fetchFor('read the ledger of ingest', `${service.url}/ledger`, {
      timeoutMs: 30_000,
    });
    return response.json() as Promise<LedgerDocument>;
  };
  return {
    ...service,
    ledger,
    async until(done, timeoutMs) {
      let now: LedgerDocument | undefined;
      const holds = async () => {
        now = await ledger();
        return done(now);
      };
      await waitUntil(() => `the ledger of ingest: ${JSON.stringify(now)}`, holds, { timeoutMs });
      return now!;
    },
  };
}

/** Resolves when nothing is in flight and nothing has arrived for a second. */
export function settled(ingest: IngestProcess): Promise<LedgerDocument> {
  let received = -1;
  let since = 0;
  return ingest.until(({ messages, readings }) => {
    if (readings.inFlight > 0 || messages.received !== received) since = performance.now();
    received = messages.received;
    return performance.now() - since > 1000;
  }, 90_000);
}
