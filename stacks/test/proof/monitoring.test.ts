import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { temporaryDirectory } from '@tidegauge/lab';
import { buildImages } from '../../images/debian/build.ts';
import { boardsOrSkip } from '../boards-or-skip.ts';
import { quickStack } from '../quick-stack.ts';
import { ROOT } from '../stack-files.ts';

const run = promisify(execFile);
const WAIT_MS = 120_000;
// A look runs a program in the container of Prometheus, which takes 0.2 s of processor time.
const POLL_MS = 1500;
const JOBS = ['api', 'broker', 'ingest', 'node', 'prometheus'];
/** Debian has no package of Grafana, so no image replaces it. */
const WITHOUT_GRAFANA = "{ version: '3.8', services: { grafana: { deploy: { replicas: 0 } } } }";

const { boards, swarm, stop, skip } = await boardsOrSkip(1);
const board = boards[0];
const folder = temporaryDirectory('monitoring');
after(async () => {
  await stop();
  folder.remove();
});

/** Runs a script of stacks/bin on the board, like an operator. */
async function script(name: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const settings = {
    ...process.env,
    ...board!.env,
    TIDEGAUGE_DATA: join(folder.path, 'data'),
    TIDEGAUGE_AUTHORITY: join(folder.path, 'authority'),
    ...env,
  };
  const { stdout } = await run(join(ROOT, 'stacks/bin', name), args, { env: settings });
  return stdout;
}

/** The answer of Prometheus for a path of its API. The request comes from its container: it publishes no port. */
async function ask<T>(path: string): Promise<T | null> {
  const filter = ['--filter', 'name=tidegauge_prometheus', '--filter', 'health=healthy'];
  const container = await board!.docker(['ps', '--quiet', ...filter]);
  if (container === '') return null;
  const url = `http://127.0.0.1:9090/api/v1/${path}`;
  const answer = await board!.docker(['exec', container, 'wget', '-q', '-O', '-', url]);
  return (JSON.parse(answer) as { data: T }).data;
}

async function until(what: string, look: () => Promise<unknown>, expected: unknown): Promise<void> {
  let seen: unknown = null;
  for (const deadline = Date.now() + WAIT_MS; Date.now() < deadline; await sleep(POLL_MS)) {
    seen = await look();
    try {
      assert.deepEqual(seen, expected);
      return;
    } catch {
      // Try again.
    }
  }
  const format = '{{.Name}} {{.DesiredState}} {{.CurrentState}} {{.Error}}';
  const tasks = await board!.docker(['stack', 'ps', '--no-trunc', '--format', format, 'tidegauge']);
  assert.deepEqual(seen, expected, `not so within ${WAIT_MS} ms: ${what}\n${tasks}`);
}

interface Target {
  readonly health: string;
  readonly labels: { readonly job: string };
}

interface Vector {
  readonly result: readonly { readonly metric: Readonly<Record<string, string>> }[];
}

test('Prometheus scrapes every service of a stack with monitoring, and the board has its own name', {
  skip,
}, async () => {
  await swarm();
  const images = await buildImages(board!, ['mosquitto', 'tidegauge', 'monitoring']);
  const watcher = images.PROMETHEUS_IMAGE!;
  const label = await script('board', ['broker', 'sqlite', 'monitoring']);
  await board!.docker(/^(?:On a manager|Done): docker (.*)$/m.exec(label)![1]!.split(' '));
  await script('secrets', ['sqlite', '--host', board!.address]);
  await script('secrets', ['monitoring'], { GRAFANA_PASSWORD: 'known to nobody' });
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder.path, name), text);
    return join(folder.path, name);
  };
  const quick = file('quick.yml', quickStack('sqlite', 'monitoring'));
  const changed = file('changed.yml', WITHOUT_GRAFANA);
  const options = ['--resolve-image', 'never', '-c', quick, '-c', changed];
  await script('deploy', ['sqlite', 'monitoring', '--', ...options], {
    ...images,
    ALERTMANAGER_IMAGE: watcher,
    NODE_EXPORTER_IMAGE: watcher,
    GRAFANA_IMAGE: watcher,
  });

  await until(
    'every target is up',
    async () => {
      const targets = await ask<{ activeTargets: readonly Target[] }>('targets?state=active');
      return targets?.activeTargets
        .filter(({ health }) => health === 'up')
        .map(({ labels }) => labels.job)
        .toSorted();
    },
    JOBS,
  );
  // Its address comes from DNS, which Prometheus reads from time to time.
  await until(
    'Alertmanager is found',
    async () =>
      (await ask<{ activeAlertmanagers: readonly unknown[] }>('alertmanagers'))?.activeAlertmanagers.length,
    1,
  );
  const rules = await ask<{ groups: readonly { name: string }[] }>('rules');
  assert.deepEqual(
    rules!.groups.map(({ name }) => name),
    ['tidegauge.alerts', 'tidegauge.rules'],
  );

  const query = async (expression: string) =>
    (await ask<Vector>(`query?query=${encodeURIComponent(expression)}`))?.result ?? [];
  const [uname] = await query('node_uname_info');
  assert.equal(uname?.metric.nodename, board!.name);
  // Only the interfaces of the board, with its own counters, and not those of the container.
  const devices = (await board!.run(['ls', '/sys/class/net'])).split(/\s+/);
  await until(
    'the metrics of the board’s network',
    async () => {
      const found = (await query('node_network_receive_bytes_total')).map(({ metric }) => metric.device!);
      return found.length > 0 && found.every((device) => devices.includes(device));
    },
    true,
  );
});
