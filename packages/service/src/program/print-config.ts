import type { Settings } from './load-config.ts';
import { argumentName, flagName, type Schema, variableName } from './settings.ts';
import { shown } from './shown.ts';

/** How a program is configured, and so how its settings are named: by variables and options, or by options only. */
export type ConfiguredBy = 'environment' | 'options';

/**
 * The settings in force, as the program reads them: lines of an environment file (`HTTP_PORT=8080`), or options
 * (`--rounds=3`) and then arguments. Secrets are masked. Other lines are comments.
 */
export function printConfig<S extends Schema>(
  schema: S,
  { sources }: Settings<S>,
  by: ConfiguredBy = 'environment',
): string {
  const lines: string[] = [];
  const positional: string[] = [];
  for (const [key, setting] of Object.entries(schema)) {
    const name = setting.positional ? argumentName(key) : nameOf(key, by);
    const source = sources.get(key);
    if (source === undefined) {
      lines.push(`# ${name} is not set`);
      continue;
    }
    const { kind, secret } = setting;
    const texts = source.texts.map((text) => (secret === true ? '***' : shown(text, kind.separator)));
    if (setting.positional) positional.push(...texts);
    else if (by === 'environment') lines.push(`${name}=${texts.join(kind.separator)}`);
    else lines.push(...texts.map((text) => `${name}=${text}`));
  }
  return [...lines, ...argumentLines(positional, by)].join('\n');
}

function nameOf(key: string, by: ConfiguredBy): string {
  return by === 'environment' ? variableName(key) : flagName(key);
}

function argumentLines(texts: readonly string[], by: ConfiguredBy): readonly string[] {
  if (by === 'environment') return texts.map((text) => `# argument: ${text}`);
  return texts.some((text) => text.startsWith('-')) ? ['--', ...texts] : texts;
}
