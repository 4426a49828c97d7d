// Looks for known vulnerabilities of the packages in production: `npm run audit`. See SECURITY.md.
import { auditNpm, auditPython } from './audit.ts';
import { PYTHON_REQUIREMENTS } from './components.ts';

const USAGE = `Usage: npm run audit [-- --strict]
Exit codes: 0: nothing was found. 1: a package is vulnerable; with --strict also when an audit was skipped. 2: bad usage.
`;

const args = process.argv.slice(2);
if (args.some((each) => each !== '--strict')) {
  process.stderr.write(USAGE);
  process.exit(2);
}
const isStrict = args.includes('--strict');
for (const audit of [auditNpm, ...PYTHON_REQUIREMENTS.map((file) => () => auditPython(file))]) {
  const { what, found, skipped } = await audit();
  if (skipped !== null) process.stdout.write(`skipped  ${what}: ${skipped}\n`);
  else process.stdout.write(`${found.length === 0 ? 'clean   ' : 'FOUND   '} ${what}\n`);
  for (const line of found) process.stdout.write(`         ${line}\n`);
  if (found.length > 0 || (isStrict && skipped !== null)) process.exitCode = 1;
}
