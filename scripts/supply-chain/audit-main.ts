// Looks for known vulnerabilities of the packages in production: `npm run audit`. See SECURITY.md.
import { defineCommand, run } from '@tidegauge/service/program';
import { type Audit, auditExit, auditNpm, auditPython } from './audit.ts';
import { PYTHON_REQUIREMENTS } from './components.ts';

const program = defineCommand({
  name: 'npm run audit',
  summary: 'Looks for known vulnerabilities of the packages in production.',
  details: 'It ends with 3 when nothing was found, but some packages were not audited.',
  settings: {},
  async run() {
    process.stderr.write('Reading advisories: up to 5 minutes for each list of packages...\n');
    const audits: Audit[] = [];
    for (const audit of [auditNpm, ...PYTHON_REQUIREMENTS.map((file) => () => auditPython(file))]) {
      const { what, found, skipped } = await audit();
      if (skipped !== null) process.stdout.write(`NOT AUDITED  ${what}: ${skipped}\n`);
      else process.stdout.write(`${found.length === 0 ? 'clean      ' : 'FOUND      '}  ${what}\n`);
      for (const line of found) process.stdout.write(`             ${line}\n`);
      audits.push({ what, found, skipped });
    }
    const missing = audits.filter(({ skipped }) => skipped !== null).map(({ what }) => what);
    if (missing.length > 0) process.stderr.write(`These packages were not audited: ${missing.join(', ')}\n`);
    return auditExit(audits);
  },
});

if (import.meta.main) process.exitCode = await run(program);
