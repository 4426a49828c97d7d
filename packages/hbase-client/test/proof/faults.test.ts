import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startHbaseCluster } from '@tidegauge/lab/hbase-cluster';
import type { HbaseProcess } from '@tidegauge/lab/hbase-process';
import { listRows } from '@tidegauge/lab/hbase-rows';
import { startOrSkip } from '@tidegauge/lab/unavailable';
import { HBaseClient, type RegionLocation } from '../../src/index.ts';
import { describeData } from '../support/data-suite.ts';
import { Load, type LoadReport } from '../support/load.ts';

const SPLITS = ['2', '5', '8', 'b', 'e'];
/** Longer than any recovery of the servers, also on a busy machine. */
const PATIENT_MS = 120_000;
const PAUSE_MS = 20_000;
/** The longest time after its deadline at which a call can end on a busy machine. */
const MARGIN_MS = 3000;

const started = await startOrSkip('hbase', () => startHbaseCluster({ regionServers: 3, masters: 2 }));
if ('skip' in started) {
  describe('faults under load', { skip: started.skip });
} else {
  const { server: cluster } = started;
  after(() => cluster.stop());

  describeData('3 region servers', () => cluster, { isCluster: true });

  describe('under load of 16 writers and a scanner', () => {
    let client: HBaseClient;
    before(() => {
      client = new HBaseClient({ zookeeper: `127.0.0.1:${cluster.port}`, timeoutMs: PATIENT_MS });
    });
    after(() => client.close());

    /** Runs `faults` on a table under load. HBase's own client must then find exactly the acknowledged rows. */
    async function underLoad(
      name: string,
      timeoutMs: number,
      faults: (load: Load) => Promise<void>,
    ): Promise<LoadReport> {
      await client.admin.createTable(name, { families: { f: {} }, splitKeys: SPLITS });
      const load = new Load(client.table(name), { timeoutMs });
      await load
        .progress()
        .then(() => faults(load))
        .catch(async (error: unknown) => {
          await load.stop();
          throw error;
        });
      const report = await load.stop();
      const { acknowledged, failed } = report;
      const there = new Set((await listRows(cluster.port, name)).map(({ key }) => key.toString()));
      assert.deepEqual(
        [...acknowledged].filter((key) => !there.has(key)),
        [],
        'acknowledged, and not there',
      );
      assert.deepEqual(
        [...there].filter((key) => !acknowledged.has(key) && !failed.has(key)),
        [],
      );
      for (const error of failed.values()) {
        if (!error.maybeApplied) continue;
        assert.equal(error.code, 'OUTCOME_UNKNOWN', error.stack);
      }
      return report;
    }

    async function serverOfMeta(): Promise<HbaseProcess> {
      const [meta] = await client.admin.regions('hbase:meta');
      return cluster.regionServers.find(({ port }) => port === meta?.server?.port)!;
    }

    function assertAllWell({ failed, failedScans, scans }: LoadReport): void {
      assert.deepEqual([...failed.values()], []);
      assert.deepEqual(failedScans, []);
      assert.ok(scans > 0);
    }

    test('no call fails while regions split, merge, move and are balanced', async () => {
      const report = await underLoad('changing', PATIENT_MS, async (load) => {
        const { admin } = client;
        const regions = (): Promise<RegionLocation[]> => admin.regions('changing');
        const cuts = new Map(Object.entries({ '': '18', 2: '31', 5: '63' }));
        const cut = (await regions()).map(async (region) => {
          const at = cuts.get(region.start.toString());
          if (at !== undefined) await admin.splitRegion(region, at);
        });
        await Promise.all(cut);
        assert.equal((await regions()).length, SPLITS.length + 1 + cuts.size);
        await load.progress();
        // The halves of a split share files until a compaction, and cannot be merged before it.
        const neighbours = (await regions()).filter(({ start }) => ['8', 'b'].includes(start.toString()));
        await admin.mergeRegions(neighbours);
        await load.progress();
        const servers = await admin.servers();
        assert.equal(servers.length, 3);
        await admin.setBalancer(false);
        await Promise.all((await regions()).map((region) => admin.moveRegion(region, servers[0])));
        assert.deepEqual(
          new Set((await regions()).map(({ server }) => server?.port)),
          new Set([servers[0]!.port]),
        );
        await load.progress();
        await admin.setBalancer(true);
        assert.equal(await admin.balance(), true);
        await until('the balancer to use another server', async () => {
          return (await regions()).some(({ server }) => server?.port !== servers[0]!.port);
        });
        await load.progress();
        await load.fullScan();
      });
      assertAllWell(report);
    });

    test('no row is lost when the region server of hbase:meta is killed', async () => {
      const victim = await serverOfMeta();
      const report = await underLoad('region_server_killed', PATIENT_MS, async (load) => {
        await victim.kill();
        await load.progress();
        await load.fullScan();
        for (const { server } of await client.admin.regions('region_server_killed')) {
          assert.notEqual(server?.port, victim.port);
        }
      });
      assertAllWell(report);
      await victim.restart();
    });

    test('administration continues with the other master when the active one is killed', async () => {
      const report = await underLoad('master_killed', PATIENT_MS, async (load) => {
        await cluster.masters[0]!.kill();
        // Reads and writes do not use the master.
        await load.progress();
        await client.admin.createTable('after_failover', { families: { f: {} }, splitKeys: ['m'] });
        assert.equal((await client.admin.regions('after_failover')).length, 2);
        await load.fullScan();
      });
      assertAllWell(report);
      assert.ok(report.longestMs < MARGIN_MS * 2, `a put took ${report.longestMs} ms`);
    });

    test('a client with cached locations is not affected by a restart of ZooKeeper', async () => {
      const report = await underLoad('zookeeper_restarted', PATIENT_MS, async (load) => {
        await cluster.zookeeper.restart();
        await load.progress();
        await load.fullScan();
        // A client without cached locations finds the cluster through ZooKeeper.
        const other = new HBaseClient({ zookeeper: `127.0.0.1:${cluster.port}` });
        await other.open();
        await other.table('zookeeper_restarted').put('x', [{ family: 'f', qualifier: 'q', value: 'x' }]);
        await other.table('zookeeper_restarted').delete('x');
        other.close();
      });
      assertAllWell(report);
    });

    test('no call exceeds its deadline while a region server hangs for 20 s', async () => {
      const timeoutMs = 3000;
      const victim = await serverOfMeta();
      const report = await underLoad('hanging', timeoutMs, async (load) => {
        victim.pause();
        const resumed = delay(PAUSE_MS).then(() => victim.resume());
        await until('others to serve its regions', async () => {
          const regions = await client.admin.regions('hanging');
          return regions.every(({ server, state }) => state === 'OPEN' && server?.port !== victim.port);
        });
        await load.progress();
        await resumed;
        await load.progress();
        await load.fullScan();
      });
      assert.ok(report.longestMs < timeoutMs + MARGIN_MS, `a put took ${report.longestMs} ms`);
      for (const error of report.failed.values()) {
        assert.ok(
          ['OUTCOME_UNKNOWN', 'TIMEOUT', 'UNAVAILABLE', 'UNREACHABLE'].includes(error.code),
          error.message,
        );
      }
    });
  });
}

async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + PATIENT_MS; !(await condition()); await delay(100)) {
    assert.ok(Date.now() < deadline, `timeout while waiting for ${what}`);
  }
}
