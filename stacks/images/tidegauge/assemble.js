// Copies what each service needs into /out/<service>, and nothing else: npm packages to node_modules, the project's own
// code to app.
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { workspacesOf } from './workspaces.js';

// Documentation, source maps and types are a third of the size, and no program reads them.
for (const path of globSync('node_modules/**/*.{md,markdown,map,ts,mts,cts}')) rmSync(path);

for (const service of readdirSync('services')) {
  const app = `/out/${service}/app`;
  mkdirSync(app, { recursive: true });
  for (const path of ['package.json', ...workspacesOf(`services/${service}`)]) {
    cpSync(path, `${app}/${path}`, { recursive: true });
  }
  linkPackages(service, `/out/${service}`);
}

/** Makes hard links to what npm would install for that service alone. */
function linkPackages(service, target) {
  const list = ['ls', '--all', '--parseable', '--omit=dev', '--workspace', `services/${service}`];
  const lines = execFileSync('npm', list, { encoding: 'utf8' }).split('\n');
  const paths = lines.flatMap((line) => line.split(`${process.cwd()}/`)[1] ?? []);
  // A nested package is copied with the package that contains it.
  const top = new Set(paths.filter((path) => path.lastIndexOf('node_modules/') === 0));
  execFileSync('cp', ['--archive', '--link', '--parents', ...top, target]);
}
