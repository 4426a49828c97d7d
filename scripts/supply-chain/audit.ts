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

const TIMEOUT_MS = 300_000;

/** Audits the npm packages in production with `npm audit`, which sends their names and versions to the registry. */
export async function auditNpm(): Promise<Audit> {
  const args = ['audit', '--omit', 'dev', '--json'];
  const { stdout, stderr } = await runProgram('npm', args, {
    cwd: ROOT,
    accept: 'any',
    timeoutMs: TIMEOUT_MS,
  });
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
  const options = { cwd: ROOT, accept: 'any', timeoutMs: TIMEOUT_MS } as const;
  const module = ['-m', 'pip_audit'];
  const version = await runProgram(PYTHON, [...module, '--version'], options).catch(() => null);
  if (version?.code !== 0) {
    const skipped = 'pip-audit is not installed: .venv/bin/pip install pip-audit';
    return { what: file, found: [], skipped };
  }
  const args = [...module, '--requirement', file, '--no-deps', '--disable-pip', '--format', 'json'];
  const { stdout, stderr } = await runProgram(PYTHON, args, options);
  return { what: file, ...readPipAudit(stdout, stderr) };
}

/** Reads the answer of `pip-audit --format json`. Without the service there is none. */
export function readPipAudit(stdout: string, stderr: string): Omit<Audit, 'what'> {
  const answer = parseJson<{
    dependencies?: { name: string; version?: string; vulns?: { id: string }[] }[];
  }>(stdout);
  if (answer?.dependencies === undefined)
    return { found: [], skipped: `pip-audit failed: ${reasonOf(stderr)}` };
  const found = answer.dependencies
    .filter(({ vulns = [] }) => vulns.length > 0)
    .map(({ name, version, vulns = [] }) => `${name} ${version}: ${vulns.map(({ id }) => id).join(', ')}`);
  return { found, skipped: null };
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
