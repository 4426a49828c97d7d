import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@tidegauge/process';
import { buildPreload } from './preload.ts';

/** Faults of the system calls of processes, without root and without a change of the machine. */
export interface ProcessFaults {
  /** For the processes that shall have the faults. Linux only. */
  readonly environment: Readonly<Record<string, string>>;
  /** Sets the faults of all these processes at once. Default of each: none. */
  set(faults: { readonly clockSeconds?: number; readonly syncFails?: boolean }): void;
  /** Processes that start from now on find another boot of the kernel, as after a power cut. */
  newBoot(): void;
  remove(): void;
}

/**
 * Makes the real-time clock of processes wrong, lets their fsync and fdatasync fail with EIO, or changes the boot of the
 * kernel that they read. A library that is loaded before libc does it (`LD_PRELOAD`); a C compiler builds it once. After
 * a real error the kernel can drop the data, too; here the data stays in the page cache.
 */
export async function makeProcessFaults(): Promise<ProcessFaults> {
  const library = await buildPreload('process-faults');
  const directory = temporaryDirectory('process-faults');
  const control = join(directory.path, 'control');
  const set: ProcessFaults['set'] = ({ clockSeconds = 0, syncFails = false }) => {
    const words = BigInt64Array.of(BigInt(clockSeconds), syncFails ? 1n : 0n);
    // Not truncated: processes have it mapped.
    writeFileSync(control, new Uint8Array(words.buffer), { flag: 'r+' });
  };
  const boot = join(directory.path, 'boot');
  const newBoot = (): void => writeFileSync(boot, `${randomUUID()}\n`);
  writeFileSync(control, new Uint8Array(16));
  newBoot();
  return {
    environment: {
      LD_PRELOAD: library,
      TIDEGAUGE_PROCESS_FAULTS: control,
      TIDEGAUGE_PROCESS_FAULTS_BOOT: boot,
    },
    set,
    newBoot,
    remove: () => directory.remove(),
  };
}
