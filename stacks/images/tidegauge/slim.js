// Removes from node_modules what is for people and compilers: a third of it.
import { globSync, rmSync } from 'node:fs';

for (const path of globSync('node_modules/**/*.{md,markdown,map,ts,mts,cts}')) rmSync(path);
