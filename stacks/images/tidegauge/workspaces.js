// Prints the folders of the workspaces that services need to run, one on a line: `workspaces.js services/api`.
// Run it in the project's root, with Node 20 or later.
import { readdirSync, readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

/**
 * The given folders, and the folders of all workspaces in `packages` that they declare as dependencies, directly or
 * through another one.
 */
export function workspacesOf(...folders) {
  const packages = new Map(readdirSync('packages').map((name) => manifestOf(`packages/${name}`)));
  const found = new Set(folders);
  // A set iterates over what is added during the iteration.
  for (const folder of found) {
    const [, { dependencies = {} }] = manifestOf(folder);
    for (const name of Object.keys(dependencies)) {
      if (packages.has(name)) found.add(packages.get(name).folder);
    }
  }
  return [...found];
}

function manifestOf(folder) {
  const { name, dependencies } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
  return [name, { folder, dependencies }];
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  process.stdout.write(`${workspacesOf(...process.argv.slice(2)).join('\n')}\n`);
}
