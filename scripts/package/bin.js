#!/usr/bin/env node
// The command of the npm package. An older Node can read this file, so that it reports its version and not an error of
// the syntax.
import { readFileSync } from 'node:fs';

const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const needed = manifest.engines.node.replace('>=', '');
const version = process.versions.node;
// npm refuses to install it there, but not with --force.
if (manifest.cpu.includes(`!${process.arch}`)) {
  process.stderr.write(
    `tidegauge needs a 64-bit system, and this Node.js is one of 32 bits (${process.arch}): install the 64-bit system\n`,
  );
  process.exit(1);
}
if (version.localeCompare(needed, undefined, { numeric: true }) < 0) {
  process.stderr.write(`tidegauge needs Node.js ${needed} or later, and this is ${version}: upgrade it, or run
npx --package node@${needed} --package tidegauge tidegauge start
`);
  process.exit(1);
}
// The path is that in the package.
const { tidegauge } = await import(new URL('../apps/tidegauge/src/main.js', import.meta.url).href);
process.exitCode = await tidegauge(process.argv.slice(2));
