// Leaves package.json files only, without devDependencies: npm's --omit=dev keeps one that any workspace has as a
// dependency.
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

for (const path of globSync('{packages,services}/*/*')) {
  if (!path.endsWith('/package.json')) rmSync(path, { recursive: true });
}
for (const path of ['package.json', ...globSync('{packages,services}/*/package.json')]) {
  const { devDependencies, ...manifest } = JSON.parse(readFileSync(path, 'utf8'));
  writeFileSync(path, JSON.stringify(manifest, null, 2));
}
