import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { runProgram, temporaryDirectory } from '@tidegauge/process';
import { buildPackage } from '../package/build-package.ts';
import { ROOT } from '../setup.js';
import { sourceTime } from '../source-time.ts';
import { type Architecture, unpackNode } from './node-program.ts';

const FOLDER = join(ROOT, 'scripts', 'debian');
const LIBRARY = 'usr/lib/tidegauge';
const DOCUMENTS = 'usr/share/doc/tidegauge';
const PROGRAMS: readonly string[] = ['usr/bin/tidegauge', `${LIBRARY}/bin/node`];
/** The symbols of Node 24 exist from these versions. A test compares them with the program. */
const DEPENDS = 'libc6 (>= 2.28), libgcc-s1 (>= 3.4), libstdc++6 (>= 5), passwd';
const BUILD_MS = 600_000;

interface DebianPackage {
  readonly file: string;
  readonly bytes: number;
}

interface DebianOptions {
  readonly architecture: Architecture;
  /** An existing folder for the package. */
  readonly out: string;
  /** A larger package in a few seconds, for tests. */
  readonly quick?: boolean;
}

/**
 * Writes `tidegauge_VERSION_ARCHITECTURE.deb`: the files of the npm package with Node, systemd services and settings.
 * Nothing is compiled, so one machine makes the packages of all architectures.
 *
 * @returns the path of the package, and its size
 * @throws {ConfigError} when SOURCE_DATE_EPOCH is no time
 */
export async function buildDebian(options: DebianOptions): Promise<DebianPackage> {
  const { architecture, out, quick = false } = options;
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    readonly version: string;
  };
  const debian = debianVersion(version);
  const time = await sourceTime();
  const work = temporaryDirectory('debian');
  try {
    const tree = join(work.path, 'tree');
    const library = join(tree, LIBRARY);
    await buildPackage(library);
    // It describes the npm package.
    rmSync(join(library, 'README.md'));
    cpSync(join(FOLDER, 'root'), tree, { recursive: true });
    await unpackNode(architecture, work.path);
    renameSync(join(work.path, 'bin', 'node'), join(library, 'bin', 'node'));
    renameSync(join(work.path, 'LICENSE'), join(tree, DOCUMENTS, 'LICENSE.node'));
    writeFileSync(join(tree, DOCUMENTS, 'changelog.gz'), gzipSync(changelog(debian, time), { level: 9 }));

    const files = filesBelow(tree);
    const control = join(tree, 'DEBIAN');
    cpSync(join(FOLDER, 'control'), control, { recursive: true });
    const kibibytes = files.reduce((sum, file) => sum + Math.ceil(statSync(join(tree, file)).size / 1024), 0);
    const fields = controlFields({ version: debian, architecture, kibibytes });
    writeFileSync(join(control, 'control'), fields);
    const settings = files.filter((file) => file.startsWith('etc/'));
    writeFileSync(join(control, 'conffiles'), settings.map((file) => `/${file}\n`).join(''));
    const others = files.filter((file) => !settings.includes(file));
    const sums = others.map((file) => `${md5(join(tree, file))}  ${file}\n`);
    writeFileSync(join(control, 'md5sums'), sums.join(''));

    setModesAndTimes(tree, time);
    const file = join(out, `tidegauge_${debian}_${architecture}.deb`);
    const compression = quick ? ['-Zgzip', '-z1'] : ['-Zxz'];
    const build = ['--root-owner-group', ...compression, '--build', tree, file];
    const env = { SOURCE_DATE_EPOCH: String(time) };
    await runProgram('dpkg-deb', build, { env, timeoutMs: BUILD_MS });
    return { file, bytes: statSync(file).size };
  } finally {
    work.remove();
  }
}

/** A version of npm as one of Debian: `0.3.0-rc.1` is before `0.3.0` as `0.3.0~rc.1` only. */
export function debianVersion(version: string): string {
  return version.replace('-', '~');
}

interface ControlFields {
  readonly version: string;
  readonly architecture: Architecture;
  /** The size of the installed files. */
  readonly kibibytes: number;
}

const MAINTAINER = 'The contributors of Tidegauge <tidegauge@example.org>';

/** The file `control` (Debian policy, section 5.3). */
function controlFields({ version, architecture, kibibytes }: ControlFields): string {
  return `Package: tidegauge
Version: ${version}
Architecture: ${architecture}
Maintainer: ${MAINTAINER}
Installed-Size: ${kibibytes}
Depends: ${DEPENDS}
Suggests: mosquitto-clients, openssl
Section: net
Priority: optional
Description: stores readings of IoT sensors over MQTT, each exactly once
 Sensors publish to Tidegauge itself, or to a broker from which it reads. It
 acknowledges a message after the database has committed it, and serves a live
 page and an HTTP API. The package has SQLite and its own Node.js.
`;
}

function changelog(version: string, time: number): string {
  const date = new Date(time * 1000).toUTCString().replace('GMT', '+0000');
  return `tidegauge (${version}) stable; urgency=medium

  * CHANGELOG.md of the sources has the changes of each version.

 -- ${MAINTAINER}  ${date}
`;
}

/** The files below a folder, relative to it, in an order that does not depend on the file system. */
function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))
    .toSorted();
}

function md5(file: string): string {
  return createHash('md5').update(readFileSync(file)).digest('hex');
}

/** The umask and the clock of this machine must not be in the package. */
function setModesAndTimes(tree: string, time: number): void {
  const scripts = readdirSync(join(FOLDER, 'control')).map((name) => `DEBIAN/${name}`);
  const executable = new Set([...PROGRAMS, ...scripts]);
  for (const path of ['', ...readdirSync(tree, { recursive: true, encoding: 'utf8' })]) {
    const full = join(tree, path);
    chmodSync(full, executable.has(path) || statSync(full).isDirectory() ? 0o755 : 0o644);
    utimesSync(full, time, time);
  }
}
