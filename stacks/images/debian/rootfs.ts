import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { findProgram } from '@tidegauge/lab/debian';

const run = promisify(execFile);

/** The Debian release whose packages the images contain. */
export const SUITE = 'bookworm';

const MAKE = { timeout: 600_000, maxBuffer: 64 * 2 ** 20 };
/** The file with the certificate authorities of this machine. A package would overwrite the usual file. */
export const AUTHORITIES = '/etc/ssl/host-authorities.crt';

const HOST_AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt';
// An image needs no documents. The build needs no sync to disk, because a failed build is repeated.
const DPKG = [
  ...['man', 'doc', 'info', 'locale', 'lintian'].map((name) => `path-exclude=/usr/share/${name}/*`),
  'force-unsafe-io',
];
// For apt in the images: files in its caches would stay in a layer.
const APT = [
  `Acquire::https::CaInfo "${AUTHORITIES}";`,
  'Dir::Cache::pkgcache ""; Dir::Cache::srcpkgcache "";',
  'DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb"; };',
];

/**
 * Makes a tar archive of the smallest Debian with apt. It uses the package sources of this machine, and contains the
 * certificate authorities of this machine.
 */
export async function makeRootFileSystem(archive: string): Promise<void> {
  const mmdebstrap = await findProgram('mmdebstrap', 'mmdebstrap');
  const apt = APT.map((line) => `'${line}'`).join(' ');
  const options = [
    ...DPKG.map((option) => `--dpkgopt=${option}`),
    '--aptopt=Acquire::Languages "none"',
    // Links /bin to /usr/bin from the start. A package could do this later, but it depends on all of Perl.
    ...['--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr', '--include=usr-is-merged'],
    `--customize-hook=install -D -m 644 ${HOST_AUTHORITIES} "$1${AUTHORITIES}"`,
    `--customize-hook=printf '%s\\n' ${apt} >"$1/etc/apt/apt.conf.d/images"`,
    '--customize-hook=rm -f "$1"/var/cache/apt/*.bin',
  ];
  // It is twice as fast in memory, and uses 300 MB.
  const env = { ...process.env, TMPDIR: existsSync('/dev/shm') ? '/dev/shm' : tmpdir() };
  const args = ['--quiet', '--variant=minbase', '--mode=root', ...options, SUITE, archive];
  await run(mmdebstrap, [...args, ...(await debianSources())], { ...MAKE, env });
}

/** The lines of sources.list(5) that this machine has for Debian itself. */
async function debianSources(): Promise<string[]> {
  const format = 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)';
  const query = ['indextargets', '--format', format, 'Created-By: Packages', 'Origin: Debian'];
  const { stdout } = await run('apt-get', query);
  const lines = stdout.split('\n').filter((line) => line.split(' ')[2]?.startsWith(SUITE));
  if (lines.length === 0) {
    throw new Error(
      `apt-get has no packages of Debian ${SUITE}: run apt-get update on a machine with this release`,
    );
  }
  return lines;
}
