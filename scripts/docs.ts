import { writeFileSync } from 'node:fs';
import { defineCommand, EXIT, run } from '@tidegauge/service/program';
import * as configuration from './configuration.ts';
import { writeSenderPages } from './senders.ts';
import * as stores from './stores.ts';

export const program = defineCommand({
  name: 'npm run docs',
  summary:
    'Writes the pages that are generated from code: docs/configuration.md, docs/stores.md and docs/senders.',
  settings: {},
  async run() {
    writeFileSync(configuration.FILE, await configuration.configurationPage());
    await stores.writePages();
    writeSenderPages();
    return EXIT.OK;
  },
});

// The page of all programs imports this module, so its top level must not wait for the page.
if (import.meta.main) {
  void run(program).then((code) => {
    process.exitCode = code;
  });
}
