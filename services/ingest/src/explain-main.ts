import { readFileSync } from 'node:fs';
import { now } from '@tidegauge/readings';
import { defineCommand, defineConfig, EXIT, run, text } from '@tidegauge/service/program';
import { explain } from './explain.ts';
import { printExplanation } from './explain-text.ts';
import { Router } from './routes.ts';
import { defaultRoutes, loadRoutes } from './routes-file.ts';

const settings = defineConfig({
  topic: { kind: text('a topic'), required: true, help: 'The MQTT topic of the message.' },
  payload: { kind: text(), help: 'Its payload. Without it the payload is read from standard input.' },
  routes: {
    kind: text('a file name'),
    help: 'The routes file. Default: one route, sensors/{device+}/{metric}.',
  },
});

export const program = defineCommand({
  name: 'npm run explain',
  summary:
    'Prints what becomes of a message: its route, readings, units and ignored fields, or the reason and a fix.',
  examples: [
    "npm run explain -- --topic sensors/boiler/temperature --payload '21.5 °C'",
    'npm run explain -- --routes routes.yml --topic tele/attic/SENSOR < message.json',
  ],
  settings,
  async run({ topic, payload, routes }) {
    const router = new Router(
      routes === null ? defaultRoutes('durable') : loadRoutes(routes, 'durable').routes,
    );
    const bytes = payload === null ? readFileSync(0) : Buffer.from(payload);
    const found = explain(router, topic, bytes, now());
    process.stdout.write(printExplanation(found));
    return found.error === undefined ? EXIT.OK : EXIT.FAILED;
  },
});

if (import.meta.main) process.exitCode = await run(program);
