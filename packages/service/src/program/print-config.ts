import { maskUrl, maskUrls } from '@tidegauge/text';
import { argumentName, type Config, flagName, type Schema, variableName } from './settings.ts';

/** How a program is configured, and so how its settings are named: by variables and options, or by options only. */
export type ConfiguredBy = 'environment' | 'options';

/** The settings in force, one line each, with secrets masked: `HTTP_PORT=8080`, or `--rounds=3`. */
export function printConfig<S extends Schema>(
  schema: S,
  config: Config<S>,
  by: ConfiguredBy = 'environment',
): string {
  return Object.entries(schema)
    .map(([key, setting]) => {
      const option = by === 'environment' ? variableName(key) : flagName(key);
      const name = setting.positional ? argumentName(key) : option;
      const value = config[key];
      if (value === null) return `# ${name} is not set`;
      return `${name}=${setting.secret === true ? '***' : shown(value)}`;
    })
    .join('\n');
}

/** A value that is safe to print: the password of any URL is masked, whichever setting it belongs to. */
export function shown(value: unknown): string {
  if (Array.isArray(value)) return value.map(shown).join(',');
  if (typeof value === 'object') return maskUrls(JSON.stringify(value));
  const text = String(value);
  return /^[a-z][a-z0-9+.-]*:/i.test(text) ? maskUrl(text) : maskUrls(text);
}
