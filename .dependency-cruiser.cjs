const { globSync, readFileSync } = require('node:fs');

const ROOT = readManifest('.');
const WORKSPACES = globSync(ROOT.workspaces.map((pattern) => `${pattern}/package.json`)).map((path) =>
  readManifest(path.replace(/\/package\.json$/, '')),
);

function readManifest(folder) {
  const { name, workspaces, dependencies, devDependencies } = JSON.parse(
    readFileSync(`${folder}/package.json`, 'utf8'),
  );
  return { folder, name, workspaces, dependencies, devDependencies };
}

/** A regular expression for the folders of workspaces; one that matches nothing when there is none. */
const inside = (manifests) => `^(${manifests.map(({ folder }) => folder).join('|') || '(?!)'})/`;

/** A workspace imports only the workspaces that its package.json declares. npm run lint checks the reverse with knip. */
const declared = ({ folder, name, dependencies = {}, devDependencies = {} }) => {
  // The root package is the folder scripts. Other rules decide which services and apps it may import.
  const path = folder === '.' ? '^scripts/' : `^${folder}/`;
  const others = WORKSPACES.filter(
    (other) => other.name !== name && !(folder === '.' && /^(apps|services)\//.test(other.folder)),
  );
  const isDeclared = (other) => Object.hasOwn(dependencies, other.name);
  const isForTests = (other) => !isDeclared(other) && Object.hasOwn(devDependencies, other.name);
  return [
    {
      name: `${name}-declares-its-imports`,
      comment: `add the package that is imported to dependencies (devDependencies if only tests import it) in ${folder}/package.json, then run npm install`,
      severity: 'error',
      from: { path },
      to: { path: inside(others.filter((other) => !isDeclared(other) && !isForTests(other))) },
    },
    {
      name: `${name}-dev-dependencies-are-for-tests`,
      comment: `code outside test, conformance and generate imports a devDependency: move it to dependencies in ${folder}/package.json, then run npm install`,
      severity: 'error',
      from: { path, pathNot: '/(test|conformance|generate)/' },
      // No image has the folder scripts: all that it imports is for development.
      to: { path: inside(folder === '.' ? [] : others.filter(isForTests)) },
    },
  ];
};

/**
 * @param libraries names of npm packages that do no I/O
 * @param modules names of modules of Node that do none
 */
const pure = (folder, libraries = [], modules = []) => ({
  name: `${folder}-is-pure`,
  comment: `packages/${folder} imports no other package of this project and does no I/O`,
  severity: 'error',
  from: { path: `^packages/${folder}/src` },
  to: {
    pathNot: [
      `^packages/${folder}/src`,
      ...libraries.map((name) => `^node_modules/${name}/`),
      ...modules.map((name) => `^(node:)?${name}$`),
    ],
    dependencyTypesNot: ['type-only'],
  },
});

/**
 * Which module may import which (ARCHITECTURE.md, "Rules that hold everywhere"). `npm run lint` checks it.
 * @type {import('dependency-cruiser').IConfiguration}
 */
module.exports = {
  forbidden: [
    ...[ROOT, ...WORKSPACES].flatMap(declared),
    pure('columns', [], ['buffer', 'zlib']),
    pure('parallel'),
    pure('readings', ['cborg', 'protobufjs'], ['buffer', 'zlib']),
    pure('workload'),
    {
      name: 'text-is-pure',
      comment: 'packages/text imports no other package of this project and does no I/O',
      severity: 'error',
      from: { path: '^packages/text/src' },
      to: { pathNot: '^packages/text/src', dependencyTypesNot: ['npm'] },
    },
    {
      name: 'no-service-imported',
      comment: 'nothing imports a service, except the fuzzer, which imports its targets in their tests',
      severity: 'error',
      from: { pathNot: '^services/' },
      to: { path: '^services/', pathNot: '^services/[^/]+/test/fuzz-targets\\.ts$' },
    },
    {
      name: 'no-app-imported',
      comment: 'an app starts services as processes; only scripts read the table of programs',
      severity: 'error',
      from: { pathNot: '^(apps|scripts)/' },
      to: { path: '^apps/' },
    },
    {
      name: 'services-apart',
      comment: 'services use each other over HTTP only',
      severity: 'error',
      from: { path: '^services/([^/]+)/' },
      to: { path: '^services/', pathNot: '^services/$1/' },
    },
    {
      name: 'packages-below-services',
      comment: 'programs and services use packages, not the reverse',
      severity: 'error',
      from: { path: '^packages/[^/]+/src', pathNot: '^packages/test-support/' },
      to: { path: '^(apps|services|lab|loadtests|bench|experiments|scripts)/' },
    },
    {
      name: 'test-support-in-tests-only',
      comment: 'programs in production do not import the shared code of tests and load tests',
      severity: 'error',
      from: {
        path: '^(apps|clients|packages|services|dashboards|stacks)/',
        pathNot: '(/test/|^packages/test-support/)',
      },
      to: { path: '^packages/test-support/' },
    },
    {
      name: 'test-support-below-lab',
      comment: 'lab and loadtests use packages/test-support, not the reverse',
      severity: 'error',
      from: { path: '^packages/test-support/' },
      to: { path: '^(services|lab|loadtests|bench|experiments|dashboards|stacks)/' },
    },
    {
      name: 'clients-stand-alone',
      comment: 'a client is published: it imports no other package of this project',
      severity: 'error',
      from: { path: '^clients/[^/]+/src' },
      to: { path: '^(apps|packages|services|lab|loadtests|bench|experiments|scripts)/' },
    },
    {
      name: 'storage-imports-readings-only',
      severity: 'error',
      from: { path: '^packages/storage/src' },
      to: { path: '^packages/', pathNot: '^packages/(storage|readings|columns|hbase-client|parallel|text)/' },
    },
    {
      name: 'session-and-service-stand-alone',
      severity: 'error',
      from: { path: '^packages/(mqtt-session|service|hbase-client)/src' },
      to: { path: '^packages/', pathNot: '^packages/($1|acceptors|text)/' },
    },
    {
      name: 'backends-apart',
      comment: 'a backend imports the contract and shared helpers, never another backend',
      severity: 'error',
      from: { path: '^packages/storage/src/([^/]+)/', pathNot: '^packages/storage/src/(rollups|derived)/' },
      to: { path: '^packages/storage/src/([^/]+)/', pathNot: '^packages/storage/src/($1|rollups)/' },
    },
    {
      name: 'only-the-registry-loads-backends',
      severity: 'error',
      from: { path: '^packages/storage/src/([^/]+\\.ts$|(rollups|derived)/)', pathNot: 'registry\\.ts$' },
      to: { path: '^packages/storage/src/[^/]+/', pathNot: '^packages/storage/src/(rollups|derived)/' },
    },
    {
      name: 'no-lab-in-services',
      comment: 'the lab is for tests, benchmarks and npm start',
      severity: 'error',
      from: { path: '^services/[^/]+/src' },
      to: { path: '^(lab|loadtests|bench|experiments|scripts)/' },
    },
    {
      name: 'loadtests-below-experiments-below-bench',
      comment: 'experiments run operations of load tests; benchmarks use both',
      severity: 'error',
      from: { path: '^(loadtests|experiments)/' },
      to: { path: '^(bench|experiments)/', pathNot: '^$1/' },
    },
    { name: 'no-circles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-unresolved',
      comment: 'k6 has its own modules; the page that draws dashboards has its own packages',
      severity: 'error',
      from: { pathNot: '^dashboards/test/draw/' },
      to: { couldNotResolve: true, pathNot: '^k6/x/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};
