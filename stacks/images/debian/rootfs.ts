import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { findProgram } from '@tidegauge/lab/debian';

const run = promisify(execFile);

/** The release whose packages the stand-ins are made of. */
export const SUITE = 'bookworm';

const MAKE = { timeout: 600_000, maxBuffer: 64 * 2 ** 20 };
/** Where images have the certificate authorities that this machine trusts; a package would replace the usual file. */
export const AUTHORITIES = '/etc/ssl/host-authorities.crt';

const HOST_AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt';
// Documents are no use in an image; a file system that is thrown away needs no care for power cuts.
const DPKG = [
  ...['man', 'doc', 'info', 'locale', 'lintian'].map((name) => `path-exclude=/usr/share/${name}/*`),
  'force-unsafe-io',
];
// For apt in the images: what it keeps for later would stay in a layer.
const APT = [
  `Acquire::https::CaInfo "${AUTHORITIES}";`,
  'Dir::Cache::pkgcache ""; Dir::Cache::srcpkgcache "";',
  'DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb"; };',
];

/**
 * Makes a tar archive of the smallest Debian that has apt: packages from where this machine has its own, and the
 * authorities that it trusts.
 */
export async function makeRootFileSystem(archive: string): Promise<void> {
  const mmdebstrap = await findProgram('mmdebstrap', 'mmdebstrap');
  const apt = APT.map((line) => `'${line}'`).join(' ');
  const options = [
    ...DPKG.map((option) => `--dpkgopt=${option}`),
    '--aptopt=Acquire::Languages "none"',
    // Links /bin to /usr/bin from the start, instead of by a package that takes all of Perl along.
    ...['--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr', '--include=usr-is-merged'],
    `--customize-hook=install -D -m 644 ${HOST_AUTHORITIES} "$1${AUTHORITIES}"`,
    `--customize-hook=printf '%s\\n' ${apt} >"$1/etc/apt/apt.conf.d/images"`,
    '--customize-hook=rm -f "$1"/var/cache/apt/*.bin',
  ];
  // Twice as fast in memory, of which it takes 300 MB.
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
      `apt-get knows no packages of Debian ${SUITE} here: run apt-get update on a machine with it`,
    );
  }
  return lines;
}
