import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError, type Logger } from '@tidegauge/service';
import type { Store } from '@tidegauge/storage';
import { replaceFile } from './replace-file.ts';
import { TOPIC_LEVELS, type TopicLevels } from './routes.ts';

// Up to version 0.2 a named value lost the level {metric} of its topic. An installation that began with such a version
// continues so, because its series, dashboards and alerts have these names.

/** In DATA_DIR: the rule that was used last. */
const FILE = 'topic-levels';
/** A file of every version, which an ingest process creates at its first start. */
const USED = /\.quarantine\.db$/;

/** The rule for the levels of topics. */
export interface FoundLevels {
  readonly used: TopicLevels;
  /** That of the file in DATA_DIR; null without a file. */
  readonly kept: TopicLevels | null;
  /** Whether nothing but the default selects it: DATA_DIR is new. */
  readonly isDefault: boolean;
}

/**
 * The rule of the setting, or else the one that the directory was used with. Without a file, a directory that ingest has
 * used is from a version that dropped levels.
 *
 * @param setting TOPIC_LEVELS; null when it is not set
 * @throws {ConfigError} when the file has something else
 */
export function findTopicLevels(dataDir: string, setting: TopicLevels | null): FoundLevels {
  const kept = readKept(join(dataDir, FILE), setting);
  const isUsed = kept === null && setting === null && namesIn(dataDir).some((name) => USED.test(name));
  const used = setting ?? kept ?? (isUsed ? 'drop' : 'keep');
  return { used, kept, isDefault: setting === null && kept === null && !isUsed };
}

/**
 * Writes the rule to the directory, so that the next start uses it again. It must precede the quarantine.
 *
 * @throws {ConfigError} when the file cannot be written
 */
export function keepTopicLevels(dataDir: string, { used, kept }: FoundLevels): void {
  if (used === kept) return;
  const path = join(dataDir, FILE);
  try {
    replaceFile(path, `${used}\n`);
  } catch (error) {
    // A full disk must not prevent the start of an older installation. The next start finds its rule without the file.
    if (used === 'drop' && kept === null) return;
    throw new ConfigError([`${path} cannot be written: ${(error as Error).message}: check DATA_DIR`]);
  }
}

/**
 * Logs what an operator should check: that levels are dropped, or that the directory is new although the store has
 * devices, which may be named by the other rule.
 */
export async function reportTopicLevels(
  { used, isDefault }: FoundLevels,
  dataDir: string,
  store: Store,
  logger: Logger,
): Promise<void> {
  if (used === 'drop') {
    logger.warn(
      { dataDir },
      'the level {metric} of a topic is dropped when the payload names its values, as before version 0.3: sensors that differ only in this level are one series; TOPIC_LEVELS=keep makes it the last segment of the device',
    );
    return;
  }
  if (!isDefault) return;
  const [device] = await store.devices.list({ limit: 1 }).catch(() => []);
  if (device === undefined) return;
  logger.warn(
    { dataDir },
    'DATA_DIR is new and the store is not: values that a payload names have the last level of the topic in their device; if this installation began before version 0.3, set TOPIC_LEVELS=drop',
  );
}

function readKept(path: string, setting: TopicLevels | null): TopicLevels | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw new ConfigError([`${path} cannot be read: ${(error as Error).message}`]);
  }
  const kept = TOPIC_LEVELS.find((known) => known === text) ?? null;
  if (kept !== null || setting !== null) return kept;
  throw new ConfigError([`${path} is neither ${TOPIC_LEVELS.join(' nor ')}: set TOPIC_LEVELS once`]);
}

/** The files of a directory; none when it does not exist. */
function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    // `lockDirectory` reports a directory that cannot be used.
    return [];
  }
}
