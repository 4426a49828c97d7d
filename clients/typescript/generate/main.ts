import { mkdirSync, writeFileSync } from 'node:fs';
import { defineCommand, EXIT, run } from '@tidegauge/service/program';
import { generatedFiles } from './generate.ts';

export const program = defineCommand({
  name: 'npm run client',
  summary: 'Writes the types of the TypeScript client from the OpenAPI document of the API.',
  settings: {},
  async run() {
    const folder = new URL('../src/generated/', import.meta.url);
    mkdirSync(folder, { recursive: true });
    for (const [name, text] of Object.entries(await generatedFiles()))
      writeFileSync(new URL(name, folder), text);
    return EXIT.OK;
  },
});

if (import.meta.main) process.exitCode = await run(program);
