// Fills a compile cache of node's for each service, the stores' drivers included, in /cache/<service>. The image's
// file system is read-only when they run; a service that finds its code compiled starts faster and 25 MB smaller.
import { execFileSync } from 'node:child_process';
import { globSync, readdirSync } from 'node:fs';

const IMPORT = 'for (const path of process.argv.slice(1)) await import(path);';

for (const service of readdirSync('/out')) {
  const stores = globSync(`/out/${service}/app/packages/storage/src/*/index.ts`);
  const here = stores.map((path) => path.replace(/^.*\/app\//, '/app/'));
  node(service, `services/${service}/src/main.ts`, '--help');
  node(service, '--input-type=module', '--eval', IMPORT, ...here);
}

/** What is compiled with one set of flags is no use with another: those of this process are those of the image. */
function node(service, ...args) {
  const env = { ...process.env, NODE_COMPILE_CACHE: `/cache/${service}` };
  execFileSync(process.execPath, [...process.execArgv, ...args], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}
