import type { ParseArgsConfig } from 'node:util';
import { ConfigError, EXIT, flagName, parseFlags, type Schema, variableName } from '@tidegauge/service';
import { StoreError } from '@tidegauge/storage';
import { WorkloadError } from '@tidegauge/workload';
import { NotLoadedError } from './loading/load.ts';

/** Prints an error on standard error and returns the exit code. */
export function explain(error: unknown): number {
  if (error instanceof ConfigError) process.stderr.write(`${error.problems.join('\n')}\n`);
  else process.stderr.write(`${(error as Error).message}\n`);
  const mistakes = [ConfigError, WorkloadError, NotLoadedError];
  if (mistakes.some((kind) => error instanceof kind)) return EXIT.MISCONFIGURED;
  return error instanceof StoreError && error.code === 'MISCONFIGURED' ? EXIT.MISCONFIGURED : EXIT.FAILED;
}

/** Flags of a bench without settings of its own; an unknown one ends this process with what was probably meant. */
export function benchFlags<const T extends NonNullable<ParseArgsConfig['options']>>(options: T) {
  try {
    return parseFlags({ options }).values;
  } catch (error) {
    process.exit(explain(error));
  }
}

/** Secrets may come from the environment; nothing else does, or a variable meant for a service would be taken up. */
export function secretsOf(schema: Schema): Record<string, string | undefined> {
  const names = Object.keys(schema)
    .filter((key) => schema[key]!.secret === true)
    .flatMap((key) => [variableName(key), `${variableName(key)}_FILE`]);
  return Object.fromEntries(names.map((name) => [name, process.env[name]]));
}

/** What `--help` says of settings. */
export function describeFlags(settings: Schema): string {
  const flags = Object.entries(settings).map(([key, { kind, help, default: preset, secret }]) => {
    const variable =
      secret === true ? `, or ${variableName(key)} or ${variableName(key)}_FILE in the environment` : '';
    const otherwise = preset === undefined ? 'not set' : `default ${preset}`;
    return `  ${flagName(key)}${variable}\n      ${help}\n      Takes ${kind.takes}; ${otherwise}.\n`;
  });
  return flags.join('');
}
