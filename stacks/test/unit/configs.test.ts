import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ROOT } from '../stack-files.ts';

const copy = mkdtempSync(join(tmpdir(), 'configs-'));
after(() => rmSync(copy, { recursive: true }));

function configs(root: string, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(join(root, 'stacks/bin/configs'), args, { encoding: 'utf8' });
  return { status, stdout, stderr };
}

test('the names of all Docker configs match their files; stacks/bin/configs writes them', () => {
  assert.deepEqual(configs(ROOT, '--check'), { status: 0, stdout: '', stderr: '' });
});

test('a change of a mounted file changes the name of its config, and no other name', () => {
  for (const path of ['docker-stack.yml', 'stacks', 'dashboards/grafana', 'dashboards/prometheus']) {
    cpSync(join(ROOT, path), join(copy, path), { recursive: true });
  }
  const before = readFileSync(join(copy, 'docker-stack.yml'), 'utf8');
  appendFileSync(join(copy, 'stacks/mosquitto/acl'), '# changed\n');
  const check = configs(copy, '--check');
  assert.equal(check.status, 1);
  assert.match(
    check.stdout,
    /^docker-stack\.yml: tidegauge_mosquitto_acl_\w{8} \(was tidegauge_mosquitto_acl_\w{8}\)\n$/,
  );
  assert.match(check.stderr, /^configs: 1 names do not match their files: run stacks\/bin\/configs\n$/);
  assert.equal(readFileSync(join(copy, 'docker-stack.yml'), 'utf8'), before);

  assert.equal(configs(copy).status, 0);
  const changed = readFileSync(join(copy, 'docker-stack.yml'), 'utf8');
  const name = /tidegauge_mosquitto_acl_\w{8}/;
  assert.notEqual(name.exec(changed)![0], name.exec(before)![0]);
  assert.equal(changed.replace(name, ''), before.replace(name, ''));
  assert.deepEqual(configs(copy, '--check'), { status: 0, stdout: '', stderr: '' });
});
