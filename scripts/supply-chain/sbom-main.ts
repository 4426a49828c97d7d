// Writes the software bill of materials: `npm run sbom -- FILE`. See SECURITY.md.
import { writeFileSync } from 'node:fs';
import { defineCommand, EXIT, outputFile, run } from '@tidegauge/service/program';
import { setUpAnalysis } from '../setup.js';
import { createSbom } from './sbom.ts';

const program = defineCommand({
  name: 'npm run sbom',
  summary: 'Writes the packages in production as CycloneDX 1.5, in JSON.',
  settings: {
    file: { kind: outputFile(), required: true, positional: true, help: 'The file to write.' },
  },
  async run({ file }) {
    // Python packages state their licence in their installed metadata only.
    await setUpAnalysis();
    const sbom = await createSbom();
    writeFileSync(file, `${JSON.stringify(sbom, null, 2)}\n`);
    process.stdout.write(`${file}: ${sbom.components.length} components\n`);
    return EXIT.OK;
  },
});

if (import.meta.main) process.exitCode = await run(program);
