import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The file of a backup whose restore was verified. */
const VERIFIED = 'verified.json';

/** Notes in a backup that the store of a restore was equal to it. @param time milliseconds */
export async function noteVerified(folder: string, time: number): Promise<void> {
  const note = { verified: new Date(time).toISOString() };
  await writeFile(join(folder, VERIFIED), `${JSON.stringify(note)}\n`, { mode: 0o600 });
}

/** When a restore of a backup was verified last, ISO 8601; null if none was. */
export async function verifiedOf(folder: string): Promise<string | null> {
  try {
    const { verified } = JSON.parse(await readFile(join(folder, VERIFIED), 'utf8')) as { verified?: unknown };
    return typeof verified === 'string' && !Number.isNaN(Date.parse(verified)) ? verified : null;
  } catch {
    return null;
  }
}
