import { fileURLToPath } from 'node:url';
import { buildOwnGoProgram, requiredVersion } from './go-program.ts';

const FOLDER = fileURLToPath(new URL('../../bench/linearizability/', import.meta.url));

/**
 * The path of the program in bench/linearizability, which judges histories with Porcupine. It is built if it is missing
 * or if it has changed. This needs Go, and a few seconds.
 */
export function buildLinearizability(): Promise<string> {
  return buildOwnGoProgram({
    name: 'linearizability',
    folder: FOLDER,
    version: requiredVersion(FOLDER, 'github.com/anishathalye/porcupine'),
    main: '.',
    note: ', some seconds',
  });
}
