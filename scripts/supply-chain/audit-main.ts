// Looks for known vulnerabilities of the packages in production: `npm run audit`. See SECURITY.md.
import { AUDIT_EXIT, auditExit, auditNpm, auditPython } from './audit.ts';
import { PYTHON_REQUIREMENTS } from './components.ts';

const USAGE = `Usage: npm run audit
Exit codes: 0: all packages were audited, and nothing was found. 1: a package is vulnerable. 2: bad usage. 3: nothing was
found, but some packages were not audited.
`;

if (process.argv.length > 2) {
  process.stderr.write(USAGE);
  process.exit(AUDIT_EXIT.usage);
}
const audits = [];
for (const run of [auditNpm, ...PYTHON_REQUIREMENTS.map((file) => () => auditPython(file))]) {
  const audit = await run();
  const { what, found, skipped } = audit;
  if (skipped !== null) process.stdout.write(`NOT AUDITED  ${what}: ${skipped}\n`);
  else process.stdout.write(`${found.length === 0 ? 'clean      ' : 'FOUND      '}  ${what}\n`);
  for (const line of found) process.stdout.write(`             ${line}\n`);
  audits.push(audit);
}
const missing = audits.filter(({ skipped }) => skipped !== null).map(({ what }) => what);
if (missing.length > 0) process.stderr.write(`These packages were not audited: ${missing.join(', ')}\n`);
process.exitCode = auditExit(audits);
