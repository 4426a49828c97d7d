import { runProgram } from '@tidegauge/process';
import { PYTHON, ROOT } from '../setup.js';

/** What an audit of packages found. */
export interface Audit {
  /** What was audited. */
  readonly what: string;
  /** One line for each vulnerable package. */
  readonly found: readonly string[];
  /** Why the audit did not run; null when it did. */
  readonly skipped: string | null;
}

/** `unaudited`: nothing was found, but a part was not audited, so the result is not that there is nothing. */
export const AUDIT_EXIT = { clean: 0, found: 1, unaudited: 3 } as const;

/** The exit code of a program that made these audits. */
export function auditExit(audits: readonly Audit[]): number {
  if (audits.some(({ found }) => found.length > 0)) return AUDIT_EXIT.found;
  return audits.some(({ skipped }) => skipped !== null) ? AUDIT_EXIT.unaudited : AUDIT_EXIT.clean;
}

const TIMEOUT_MS = 300_000;

/** Audits the npm packages in production with `npm audit`, which sends their names and versions to the registry. */
export async function auditNpm(): Promise<Audit> {
  const args = ['audit', '--omit', 'dev', '--json'];
  const { stdout, stderr } = await outputOf('npm', args);
  return { what: 'npm packages in production', ...readNpmAudit(stdout, stderr) };
}

/** Reads the answer of `npm audit --json`. A registry without this service gives an error, and no `vulnerabilities`. */
export function readNpmAudit(stdout: string, stderr: string): Omit<Audit, 'what'> {
  const answer = parseJson<{ vulnerabilities?: Record<string, { severity: string; range: string }> }>(stdout);
  if (answer?.vulnerabilities === undefined) {
    return { found: [], skipped: `the registry did not audit: ${reasonOf(stderr)}` };
  }
  const found = Object.entries(answer.vulnerabilities).map(
    ([name, { severity, range }]) => `${name} ${range}: ${severity}`,
  );
  return { found, skipped: null };
}

/** Audits a requirements file with pip-audit, which reads the advisories of PyPI. */
export async function auditPython(file: string): Promise<Audit> {
  const module = ['-m', 'pip_audit'];
  if ((await outputOf(PYTHON, [...module, '--version'])).code !== 0) {
    const skipped = 'pip-audit is not installed: .venv/bin/pip install pip-audit';
    return { what: file, found: [], skipped };
  }
  const args = [...module, '--requirement', file, '--no-deps', '--disable-pip', '--format', 'json'];
  const { stdout, stderr } = await outputOf(PYTHON, args);
  return { what: file, ...readPipAudit(stdout, stderr) };
}

/** Reads the answer of `pip-audit --format json`. Without the service there is none. */
export function readPipAudit(stdout: string, stderr: string): Omit<Audit, 'what'> {
  const answer = parseJson<{
    dependencies?: { name: string; version?: string; vulns?: { id: string }[] }[];
  }>(stdout);
  if (!answer?.dependencies?.length) return { found: [], skipped: `pip-audit failed: ${reasonOf(stderr)}` };
  const { dependencies } = answer;
  const found = dependencies
    .filter(({ vulns = [] }) => vulns.length > 0)
    .map(({ name, version, vulns = [] }) => `${name} ${version}: ${vulns.map(({ id }) => id).join(', ')}`);
  // pip-audit lists what it could not audit with a reason and no `vulns`.
  const missing = dependencies.filter(({ vulns }) => vulns === undefined).map(({ name }) => name);
  return { found, skipped: missing.length === 0 ? null : `without an answer: ${missing.join(', ')}` };
}

/** What a program wrote. Its error output has the reason when it did not run or did not end in time. */
async function outputOf(program: string, args: readonly string[]) {
  try {
    return await runProgram(program, args, { cwd: ROOT, accept: 'any', timeoutMs: TIMEOUT_MS });
  } catch (error) {
    return { code: null, stdout: '', stderr: (error as Error).message };
  }
}

function parseJson<T>(text: string): T | null {
  try {
    return JSON.parse(text) as T;
  } catch {
    return null;
  }
}

/** The line of an error output that has the reason. */
function reasonOf(stderr: string): string {
  const lines = stderr
    .split('\n')
    .filter((line) => line.trim() !== '' && !/user config|complete log/.test(line));
  return (
    lines.find((line) => /error|\b[45]\d\d\b/i.test(line)) ??
    lines.at(-1) ??
    'it gave no reason'
  ).slice(0, 200);
}
