import { globSync } from 'node:fs';

/** Tests that run in one process. */
export interface Job {
  readonly suite: string;
  /** What the runner prints. */
  readonly name: string;
  /** Paths relative to the root; of Python, the folder of a package. */
  readonly files: readonly string[];
}

export interface Suite {
  readonly summary: string;
  /** Globs relative to the root. */
  readonly files: readonly string[];
  readonly exclude?: readonly string[];
  /** The most files of one process. Files that share a process save its start; the default is one. */
  readonly filesPerProcess?: number;
  /** Files that always share a process, because they also share what they start in it. */
  readonly sharing?: Sharing;
  /** Of a suite in Python: the folders of its packages. */
  readonly folders?: readonly string[];
}

interface Sharing {
  /** What the runner prints. */
  readonly name: string;
  /** A glob relative to the root. */
  readonly files: string;
  /** The most files of one process. */
  readonly filesPerProcess: number;
}

const inEach = (path: string): string[] => [
  `{packages,services,apps,clients}/*/test/${path}`,
  `{lab,loadtests,bench,experiments,dashboards,stacks,scripts}/test/${path}`,
];
/** The conformance suite on clusters, and on stores that no stack has. */
const LONG_CONFORMANCE = 'packages/storage/test/conformance/{cassandra-3,citus,hbase-3,influxdb}.test.ts';
const EMBEDDED_STORES = 'packages/storage/test/conformance/{sqlite,json,null,stores}.test.ts';

/** Suites by name, in the order in which they start. The Python tests wait most of the time, so others run beside them. */
export const SUITES: Readonly<Record<string, Suite>> = {
  python: {
    summary: 'the simulated sensors and the Python client (pytest)',
    files: [],
    folders: ['sensors-sim', 'clients/python'],
  },
  unit: {
    summary: 'fast tests without servers',
    files: inEach('unit/**/*.test.ts'),
    filesPerProcess: 60,
  },
  analysis: {
    summary: 'the statistics of experiments (pytest)',
    files: [],
    folders: ['experiments/analysis'],
  },
  embedded: {
    summary: 'SQLite and JSON stores, and the whole pipeline',
    files: [EMBEDDED_STORES, ...inEach('embedded/**/*.test.ts')],
  },
  proofs: {
    summary: 'long tests: stacks, clusters of three nodes, other systems; needs root',
    files: [LONG_CONFORMANCE, ...inEach('proof/**/*.test.ts')],
  },
  servers: {
    summary: 'everything that needs a real broker, database, browser or load generator',
    files: [...inEach('conformance/**/*.test.ts'), ...inEach('integration/**/*.test.ts')],
    exclude: [EMBEDDED_STORES, LONG_CONFORMANCE],
    // The start of a browser takes longer than many of its tests.
    sharing: { name: 'live page', files: 'services/api/test/integration/page*.test.ts', filesPerProcess: 4 },
  },
  conformance: {
    summary: 'every store against the one conformance suite; STORES=postgres,cassandra chooses',
    files: inEach('conformance/**/*.test.ts'),
  },
};

/** What runs when no suite is named. */
export const DEFAULT_SUITES = ['python', 'unit', 'embedded'];

/**
 * The jobs of the suites that are named, each file once.
 *
 * @param patterns globs relative to the root, or parts of paths; when there are any, only files that match one
 * @throws {Error} when no file is left
 */
export function jobsOf(suites: readonly string[], patterns: readonly string[], root: string): Job[] {
  const globbed = new Set(globSync([...patterns], { cwd: root }));
  const isChosen = (file: string): boolean =>
    patterns.length === 0 || globbed.has(file) || patterns.some((pattern) => file.includes(pattern));
  const taken = new Set<string>();
  const jobs: Job[] = [];
  for (const [suite, given] of Object.entries(SUITES).filter(([name]) => suites.includes(name))) {
    const { files, exclude = [], filesPerProcess = 1, sharing, folders } = given;
    if (folders !== undefined) {
      if (patterns.length === 0)
        jobs.push(...folders.map((folder) => ({ suite, name: `${suite} ${folder}`, files: [folder] })));
      continue;
    }
    const found = globSync([...files], { cwd: root, exclude: [...exclude] }).toSorted();
    if (found.length === 0) throw new Error(`the suite ${suite} has no files`);
    const chosen = found.filter((file) => isChosen(file) && !taken.has(file));
    for (const file of chosen) taken.add(file);
    const shared = new Set(globSync(sharing?.files ?? [], { cwd: root }));
    if (sharing !== undefined) {
      const together = chosen.filter((file) => shared.has(file));
      jobs.push(...divide(suite, sharing.name, together, sharing.filesPerProcess));
    }
    const apart = chosen.filter((file) => !shared.has(file));
    jobs.push(...divide(suite, suite, apart, filesPerProcess));
  }
  if (jobs.length === 0) throw new Error(`no test file matches ${patterns.join(', ')}`);
  return jobs;
}

/** Neighbours take similar time: dealing the files out gives processes of similar length. */
function divide(suite: string, name: string, files: readonly string[], filesPerProcess: number): Job[] {
  const processes = Math.ceil(files.length / filesPerProcess);
  return Array.from({ length: processes }, (_, place) => {
    const part = files.filter((_file, index) => index % processes === place);
    const title = part.length === 1 ? part[0]! : `${name} ${place + 1} of ${processes}`;
    return { suite, name: title, files: part };
  });
}
