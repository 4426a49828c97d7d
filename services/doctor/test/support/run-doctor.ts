import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Report } from '../../src/report.ts';

export const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
// Each query of the doctor takes 5 s at most; the rest is for a busy machine.
const END_MS = 120_000;

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the doctor as a process. */
export function runDoctor(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const options = { timeout: END_MS, env: { PATH: process.env.PATH, ...env } };
    execFile(process.execPath, [MAIN, ...args], options, (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== 'number') reject(error);
      else resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

/** Runs the doctor without Docker and with a short disk measurement, and returns its JSON report. */
export async function examineHere(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Report> {
  const quick = ['--json', '--docker-host', 'none', '--disk-time', '200ms'];
  const { stdout, stderr } = await runDoctor([...quick, ...args], env);
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as Report;
}
