// Reduces packages and services to their package.json files, without devDependencies. npm's option --omit=dev is not
// enough: it keeps a package that is a dependency of any workspace. Run it in the directory to reduce, with Node 20 or
// later.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const manifests = ['package.json'];
for (const parent of ['packages', 'services']) {
  for (const folder of readdirSync(parent).map((name) => `${parent}/${name}`)) {
    for (const name of readdirSync(folder)) {
      if (name === 'package.json') manifests.push(`${folder}/${name}`);
      else rmSync(`${folder}/${name}`, { recursive: true });
    }
  }
}
for (const path of manifests) {
  const { devDependencies, ...manifest } = JSON.parse(readFileSync(path, 'utf8'));
  writeFileSync(path, JSON.stringify(manifest, null, 2));
}
