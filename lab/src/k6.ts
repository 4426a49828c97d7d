import { fileURLToPath } from 'node:url';
import { buildOwnGoProgram, requiredVersion } from './go-program.ts';

const FOLDER = fileURLToPath(new URL('../../loadtests/k6-modules/', import.meta.url));

/**
 * The path of k6 with the modules of loadtests/k6-modules. k6 is built, with a message, if it is missing or if a
 * module has changed. The first build needs Go, and about three minutes on two slow cores.
 */
export function buildK6(): Promise<string> {
  return buildOwnGoProgram({
    name: 'k6',
    folder: FOLDER,
    version: requiredVersion(FOLDER, 'go.k6.io/k6'),
    main: './cmd/k6',
    note: ' with loadtests/k6-modules, about three minutes',
  });
}
