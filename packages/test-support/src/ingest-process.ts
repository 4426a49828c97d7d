import { setTimeout as sleep } from 'node:timers/promises';
import type { LedgerDocument } from '@tidegauge/readings';
import { fetchFor } from '@tidegauge/service';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';

/** A real ingest process, and what it says of itself over HTTP. */
export interface IngestProcess extends ServiceProcess {
  ledger(): Promise<LedgerDocument>;
  /** Resolves when `done` says so of the ledger; rejects after `timeoutMs` with the last one. */
  until(done: (ledger: LedgerDocument) => boolean, timeoutMs: number): Promise<LedgerDocument>;
}

/** Starts `services/ingest` with the given environment on a port of the system's choice and waits until it is ready. */
export async function startIngestProcess(env: Readonly<Record<string, string>>): Promise<IngestProcess> {
  const ready = /"http":"(http:[^"]+)".*"ingest is ready"/;
  const service = await startServiceProcess('ingest', { METRICS_PORT: '0', ...env }, ready);
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
      const deadline = Date.now() + timeoutMs;
      for (;;) {
        const now = await ledger();
        if (done(now)) return now;
        if (Date.now() > deadline) throw new Error(`not so within ${timeoutMs} ms: ${JSON.stringify(now)}`);
        await sleep(50);
      }
    },
  };
}
