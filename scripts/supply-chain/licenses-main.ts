// Lists the licences of all packages in production: `npm run licenses`. See SECURITY.md.
import { defineCommand, EXIT, run } from '@tidegauge/service/program';
import { setUpAnalysis } from '../setup.js';
import { productionComponents } from './components.ts';
import { ALLOWED, isAllowed } from './licenses.ts';

const program = defineCommand({
  name: 'npm run licenses',
  summary: 'Lists the licences of all packages in production, and fails when one is not allowed.',
  settings: {},
  async run() {
    // Python packages state their licence in their installed metadata only.
    await setUpAnalysis();
    const components = productionComponents();
    const byLicense = Map.groupBy(components, ({ license }) => license ?? 'not stated');
    for (const [license, group] of [...byLicense].sort(([, a], [, b]) => b.length - a.length)) {
      const why = ALLOWED[license] ? `: ${ALLOWED[license]}` : '';
      process.stdout.write(`\n${license} (${group.length})${why}\n`);
      for (const { ecosystem, name, version } of group)
        process.stdout.write(`  ${ecosystem} ${name} ${version}\n`);
    }
    const refused = components.filter(({ license }) => license === null || !isAllowed(license));
    process.stdout.write(
      `\n${components.length} packages, ${refused.length} with a licence that is not allowed\n`,
    );
    for (const { ecosystem, name, version, license } of refused) {
      const what = license === null ? 'states no licence' : `has the licence ${license}`;
      process.stderr.write(
        `${ecosystem} ${name} ${version} ${what}: replace it, or add the licence to scripts/supply-chain/licenses.ts\n`,
      );
    }
    return refused.length > 0 ? EXIT.FAILED : EXIT.OK;
  },
});

if (import.meta.main) process.exitCode = await run(program);
