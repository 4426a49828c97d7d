import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const NO_STORES = new Set(['backup', 'compose', 'monitoring']);

/** Stores that can be deployed. Each has a stack file. */
export const STORES: readonly string[] = globSync('stacks/*.yml', { cwd: ROOT })
  .map((path) => basename(path, '.yml'))
  .filter((name) => !NO_STORES.has(name))
  .toSorted();

export const PROFILES = ['1gb', '2gb', '4gb', '8gb'] as const;

export type Variables = Readonly<Record<string, string>>;

/** Variables of a file that the shell reads. It must contain only plain assignments. */
export function readVariables(path: string): Variables {
  const variables: Record<string, string> = {};
  for (const line of readFileSync(join(ROOT, path), 'utf8').split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const [, name, quoted, plain] = /^([A-Z][A-Z0-9_]*)=(?:'([^']*)'|([\w./:@%+,=-]*))$/.exec(line) ?? [];
    if (name === undefined) throw new Error(`${path}: ${line} is no plain assignment`);
    variables[name] = quoted ?? plain!;
  }
  return variables;
}

/** All variables of stack files for boards of one size. */
export function variablesOf(profile: (typeof PROFILES)[number]): Variables {
  return { ...readVariables('stacks/versions.env'), ...readVariables(`stacks/profiles/${profile}.env`) };
}

/** A file with its variables replaced, as docker does it. `$$` is not replaced. */
export function fillIn(path: string, variables: Variables): string {
  const text = readFileSync(join(ROOT, path), 'utf8');
  return text.replace(/(?<!\$)\$\{(\w+)(?:(:-|\?)([^}]*))?\}/g, (_, name: string, how, rest: string) => {
    const value = variables[name] ?? (how === ':-' ? rest : undefined);
    if (value === undefined) throw new Error(`${path}: ${name} is not set: ${rest}`);
    return value;
  });
}

/** Bytes of a size in the notation of stack files: 128M, 1G, 1048576. */
export function bytesOf(size: string | number): number {
  const [, number, unit] = /^(\d+)([kmg]?)b?$/i.exec(String(size)) ?? [];
  if (number === undefined) throw new Error(`${size} is no size`);
  return Number(number) * 1024 ** ['', 'k', 'm', 'g'].indexOf(unit!.toLowerCase());
}

/**
 * The commands of a section of a document, each with the lines that continue it.
 *
 * @param heading the line that begins the section: `## 12. Remove`
 */
export function commandsOf(path: string, heading: string): string[] {
  const [, section] = readFileSync(join(ROOT, path), 'utf8').split(`\n${heading}\n`);
  if (section === undefined) throw new Error(`${path} has no section ${heading}`);
  const [own] = section.split(/^#/m);
  const commands = own!.replaceAll(/\\\n\s+/g, '').match(/^ {4,}\S.*$/gm) ?? [];
  return commands.map((command) => command.trim());
}
