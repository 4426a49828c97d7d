import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Citus, hasCitus, startCitus } from '@tidegauge/lab/citus';
import { isAsked, prove } from './prove.ts';

if (isAsked('citus')) {
  if (await hasCitus()) proveCitus();
  else {
    const asked = process.env.STORES !== undefined;
    const skip = asked ? false : 'PostgreSQL here has no citus extension (pg_available_extensions)';
    test('store citus', { skip }, () => assert.fail('STORES asks for citus: install its extension'));
  }
}

function proveCitus(): void {
  let cluster: Promise<Citus> | undefined;
  after(async () => (await cluster)?.stop());

  prove({
    name: 'citus',
    async create() {
      cluster ??= startCitus({ workers: 2 });
      const citus = await cluster;
      // Databases go with their servers.
      const url = `${citus.url(await citus.createDatabase())}?rf=2&shards=4`;
      return { url, cleanup: async () => {} };
    },
    async restart() {
      await (await cluster)!.restartCoordinator();
    },
  });
}
