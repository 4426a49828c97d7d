import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../setup.js';
import { startPipeline } from './pipeline-process.ts';

const page = readFileSync(join(ROOT, 'docs', 'http-api.md'), 'utf8');

/** The session's commands, each with its expected output. `…` in it matches any text. */
function session(): { command: string; expected: string }[] {
  const block = /<!-- session -->\n```console\n([\s\S]*?)```\n<!-- \/session -->/.exec(page)?.[1];
  assert.ok(block, 'docs/http-api.md has a session');
  return block
    .trim()
    .split(/\n\n/)
    .map((part) => {
      const [first, ...rest] = part.split('\n');
      return { command: first!.replace(/^\$ /, ''), expected: rest.join('\n') };
    });
}

test('each command of the session in docs/http-api.md prints the output shown there', async (context) => {
  const steps = session();
  assert.ok(steps.length >= 7);
  const pipeline = await startPipeline(context, '--no-sim');
  for (const { command, expected } of steps) {
    const ours = command.replaceAll('http://127.0.0.1:8080', pipeline.api);
    const got = execFileSync('sh', ['-c', ours], { encoding: 'utf8', timeout: 20_000 }).trim();
    const pattern = expected
      .split('…')
      .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('.*');
    assert.match(got, new RegExp(`^${pattern}$`), command);
  }
});
