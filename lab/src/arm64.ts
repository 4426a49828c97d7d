import { findProgram } from './debian.ts';

/** Debian's libraries of arm64 for machines of other architectures. */
const LIBRARIES = '/usr/aarch64-linux-gnu';

/**
 * What comes before a program for Linux on arm64 in its command line: nothing on such a machine, otherwise QEMU. A child
 * of the program is not emulated.
 *
 * @param pageBytes the size of a page that QEMU reports to the program
 * @throws {Error} when QEMU or the libraries are not installed
 */
export async function arm64Emulator({ pageBytes = 4096 } = {}): Promise<readonly string[]> {
  if (process.arch === 'arm64') return [];
  const qemu = await findProgram('qemu-aarch64-static', 'qemu-user-static');
  await findProgram('libstdc++.so.6', 'libstdc++6-arm64-cross', [`${LIBRARIES}/lib`]);
  return [qemu, '-p', String(pageBytes), '-L', LIBRARIES];
}
