import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from './stack-files.ts';

interface Services {
  readonly services: Readonly<Record<string, { readonly healthcheck?: { readonly disable?: boolean } }>>;
}

/** Docker makes the first check after this time. A busy machine may fail as many seconds of checks as a board. */
const HEALTH = { interval: '3s', retries: 20 };
const DEPLOY = {
  restart_policy: { delay: '1s' },
  // Zero would not replace the time of the stack.
  update_config: { delay: '1ms', monitor: '3s' },
};

/**
 * A compose file to deploy after the files of a stack, so that its tasks become healthy, start again and count as updated
 * within seconds. On a board that needs 10 s, 5 s and 30 s. `config.test.ts` checks what the stack files have.
 *
 * @param names the arguments of stacks/bin/deploy: the store, and `monitoring` with it
 */
export function quickStack(...names: readonly string[]): string {
  const services: Record<string, object> = {};
  for (const file of ['docker-stack.yml', ...names.map((name) => `stacks/${name}.yml`)]) {
    const stack: Services = parse(readFileSync(join(ROOT, file), 'utf8'), { merge: true });
    for (const [name, { healthcheck }] of Object.entries(stack.services)) {
      const hasCheck = healthcheck !== undefined && healthcheck.disable !== true;
      services[name] = { ...services[name], deploy: DEPLOY, ...(hasCheck ? { healthcheck: HEALTH } : {}) };
    }
  }
  return JSON.stringify({ version: '3.8', services });
}
