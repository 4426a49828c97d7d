// Puts what each service needs, and nothing else, into /out/<service>: its packages from npm in node_modules, our own
// code in app.
import { execFileSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';

// For people and compilers: a third of it all.
for (const path of globSync('node_modules/**/*.{md,markdown,map,ts,mts,cts}')) rmSync(path);

for (const service of readdirSync('services')) {
  const ours = roomsOf(`services/${service}`);
  const app = `/out/${service}/app`;
  mkdirSync(app, { recursive: true });
  for (const path of ['package.json', ...ours]) cpSync(path, `${app}/${path}`, { recursive: true });
  linkPackages(ours, `/out/${service}`);
}

/** A room and those of ours that it imports, one by one. */
function roomsOf(room, found = new Set()) {
  found.add(room);
  for (const file of globSync(`${room}/src/**/*.ts`)) {
    for (const [, name] of readFileSync(file, 'utf8').matchAll(/'@tidegauge\/([\w-]+)'/g)) {
      if (!found.has(`packages/${name}`)) roomsOf(`packages/${name}`, found);
    }
  }
  return [...found];
}

/** What npm would install for those rooms alone, as hard links. */
function linkPackages(rooms, target) {
  const asked = rooms.flatMap((room) => ['-w', room]);
  const list = execFileSync('npm', ['ls', '--all', '--parseable', '--omit=dev', ...asked], {
    encoding: 'utf8',
  });
  const paths = list.split('\n').flatMap((path) => path.split(`${process.cwd()}/`)[1] ?? []);
  // What is nested goes with what it is nested in.
  const top = new Set(paths.filter((path) => path.lastIndexOf('node_modules/') === 0));
  execFileSync('cp', ['--archive', '--link', '--parents', ...top, target]);
}
