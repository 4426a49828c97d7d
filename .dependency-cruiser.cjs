/**
 * The direction of dependencies (ARCHITECTURE.md, "Who may import whom"), checked by `npm run lint`.
 * @type {import('dependency-cruiser').IConfiguration}
 */
const pure = (room) => ({
  name: `${room}-is-pure`,
  comment: `packages/${room} imports nothing of ours and does no I/O`,
  severity: 'error',
  from: { path: `^packages/${room}/src` },
  to: { pathNot: `^packages/${room}/src`, dependencyTypesNot: ['type-only'] },
});

module.exports = {
  forbidden: [
    pure('readings'),
    pure('workload'),
    {
      name: 'text-is-pure',
      comment: 'packages/text imports nothing of ours and does no I/O',
      severity: 'error',
      from: { path: '^packages/text/src' },
      to: { pathNot: '^packages/text/src', dependencyTypesNot: ['npm'] },
    },
    {
      name: 'no-service-imported',
      comment: 'nothing imports a service, but for the page that documents their settings',
      severity: 'error',
      from: { pathNot: '^(services/|scripts/configuration)' },
      to: { path: '^services/' },
    },
    {
      name: 'services-apart',
      comment: 'services know each other over HTTP only',
      severity: 'error',
      from: { path: '^services/([^/]+)/' },
      to: { path: '^services/', pathNot: '^services/$1/' },
    },
    {
      name: 'packages-below-services',
      comment: 'dependencies point one way: programs and services use packages',
      severity: 'error',
      from: { path: '^packages/[^/]+/src' },
      to: { path: '^(services|lab|loadtests|scripts)/' },
    },
    {
      name: 'storage-knows-readings-only',
      severity: 'error',
      from: { path: '^packages/storage/src' },
      to: { path: '^packages/', pathNot: '^packages/(storage|readings|hbase-client|text)/' },
    },
    {
      name: 'session-and-service-stand-alone',
      severity: 'error',
      from: { path: '^packages/(mqtt-session|service|hbase-client)/src' },
      to: { path: '^packages/', pathNot: '^packages/($1|text)/' },
    },
    {
      name: 'backends-apart',
      comment: 'a backend knows the contract and shared helpers, never another backend',
      severity: 'error',
      from: { path: '^packages/storage/src/([^/]+)/' },
      to: { path: '^packages/storage/src/([^/]+)/', pathNot: '^packages/storage/src/$1/' },
    },
    {
      name: 'only-the-registry-loads-backends',
      severity: 'error',
      from: { path: '^packages/storage/src/[^/]+\\.ts$', pathNot: 'registry\\.ts$' },
      to: { path: '^packages/storage/src/[^/]+/' },
    },
    {
      name: 'no-lab-in-services',
      comment: 'the lab is for tests, benches and npm start',
      severity: 'error',
      from: { path: '^services/[^/]+/src' },
      to: { path: '^(lab|loadtests|scripts)/' },
    },
    { name: 'no-circles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-unresolved', severity: 'error', from: {}, to: { couldNotResolve: true, pathNot: '^k6/x/' } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};
