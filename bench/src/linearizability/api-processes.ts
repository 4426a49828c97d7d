import { HttpClient } from '@tidegauge/loadtests/drivers/http-client';
import { appTarget, type RecordTarget } from '@tidegauge/loadtests/drivers/record-target';
import type { Closers } from '@tidegauge/loadtests/targets/closers';
import { freePort } from '@tidegauge/process';
import { startApiProcess } from '@tidegauge/test-support/api-process';
import type { Victim } from './faults.ts';

/** An API process on a store, and its part of the clients. */
export interface ApiProcess extends Victim {
  readonly target: RecordTarget;
}

/** Starts several APIs on one store, each in its own process. */
export async function startApis(
  count: number,
  storeUrl: string,
  table: string,
  clients: number,
  closers: Closers,
): Promise<ApiProcess[]> {
  const apis: ApiProcess[] = [];
  while (apis.length < count) {
    const port = await freePort();
    const start = () => startApiProcess({ STORE: storeUrl, HTTP_PORT: String(port) });
    let api = await start();
    closers.add(() => api.stop());
    const client = new HttpClient(clients, null);
    closers.add(async () => client.close());
    apis.push({
      target: appTarget(api.url, client, table),
      kill: () => api.kill(),
      async restart() {
        api = await start();
      },
    });
  }
  return apis;
}
