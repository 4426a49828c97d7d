// Writes the software bill of materials: `npm run sbom -- FILE`. See SECURITY.md.
import { writeFileSync } from 'node:fs';
import { setUpAnalysis } from '../setup.js';
import { createSbom } from './sbom.ts';

const [file, ...rest] = process.argv.slice(2);
if (file === undefined || file.startsWith('-') || rest.length > 0) {
  process.stderr.write(
    'Usage: npm run sbom -- FILE\nWrites the packages in production as CycloneDX 1.5, in JSON.\n',
  );
  process.exit(2);
}
// Python packages state their licence in their installed metadata only.
await setUpAnalysis();
const sbom = await createSbom();
writeFileSync(file, `${JSON.stringify(sbom, null, 2)}\n`);
process.stdout.write(`${file}: ${sbom.components.length} components\n`);
