import { type ParseArgsConfig, parseArgs } from 'node:util';
import { didYouMean } from '@tidegauge/text';
import { ConfigError } from './config-error.ts';

/**
 * Node's `parseArgs` for programs without a schema of settings.
 *
 * @throws {ConfigError} one line that says what is wrong, with the flag that was probably meant
 */
export function parseFlags<const T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const name = /'(-[^']*)'/.exec(message)?.[1];
    if (code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION' || name === undefined) {
      throw new ConfigError([message.split('. ')[0]!]);
    }
    const known = Object.keys(config.options ?? {}).map((flag) => `--${flag}`);
    throw new ConfigError([`unknown option ${name}${didYouMean(name, known)}`]);
  }
}
