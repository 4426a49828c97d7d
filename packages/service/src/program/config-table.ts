import type { ConfiguredBy } from './print-config.ts';
import { argumentName, flagName, type Schema, type Setting, variableName } from './settings.ts';

/** The settings as a Markdown table, for the documentation. */
export function configTable(schema: Schema, by: ConfiguredBy = 'environment'): string {
  const rows = Object.entries(schema).map(([key, setting]) => {
    const { kind, help, default: preset, required } = setting;
    const shownDefault = preset === undefined ? (required ? '*required*' : '') : `\`${preset}\``;
    return `| ${nameOf(key, setting, by)} | ${kind.takes === 'a text' ? '' : kind.takes} | ${shownDefault} | ${help} |`;
  });
  const name = by === 'environment' ? 'variable' : 'option';
  return [`| ${name} | value | default | meaning |`, '| --- | --- | --- | --- |', ...rows].join('\n');
}

function nameOf(key: string, { positional, secret, alias }: Setting<unknown>, by: ConfiguredBy): string {
  if (positional) return `\`${argumentName(key)}\``;
  if (by === 'environment') {
    return `\`${variableName(key)}\`${secret === undefined ? '' : ' (or `_FILE`)'}`;
  }
  return `${alias === undefined ? '' : `\`-${alias}\`, `}\`${flagName(key)}\``;
}
