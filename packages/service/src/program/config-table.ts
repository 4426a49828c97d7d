import { placeholderOf } from './kinds.ts';
import type { ConfiguredBy } from './print-config.ts';
import { argumentName, flagName, type Schema, type Setting, variableName } from './settings.ts';

/** The settings as a Markdown table, for the documentation. */
export function configTable(schema: Schema, by: ConfiguredBy = 'environment'): string {
  const rows = Object.entries(schema).map(([key, setting]) => {
    const { help, default: preset, required } = setting;
    const shownDefault = preset === undefined ? (required ? '*required*' : '') : `\`${preset}\``;
    return `| ${settingName(key, setting, by)}${shownValue(setting)} | ${shownDefault} | ${help} |`;
  });
  const name = by === 'environment' ? 'variable' : 'option';
  return [`| ${name} | default | meaning |`, '| --- | --- | --- |', ...rows].join('\n');
}

/** The name of a setting, as the documentation writes it. */
export function settingName(
  key: string,
  { positional, secret, alias }: Setting<unknown>,
  by: ConfiguredBy,
): string {
  if (positional) return `\`${argumentName(key)}\``;
  if (by === 'environment') {
    return `\`${variableName(key)}\`${secret === undefined ? '' : ' or `_FILE`'}`;
  }
  const variables = secret === undefined ? '' : `, \`${variableName(key)}\` or \`${variableName(key)}_FILE\``;
  return `${alias === undefined ? '' : `\`-${alias}\`, `}\`${flagName(key)}\`${variables}`;
}

/** What a value is, when the name does not show it. */
function shownValue({ kind, positional }: Setting<unknown>): string {
  const placeholder = placeholderOf(kind).replaceAll('|', ', ');
  return kind.isSwitch || positional || ['TEXT', 'VALUE'].includes(placeholder) ? '' : ` ${placeholder}`;
}
