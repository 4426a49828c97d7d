import {
  BatchWriter,
  copyMissing,
  demandExisting,
  placeOf,
  READABLE,
  type Sides,
  withSides,
} from '@tidegauge/copy';
import { formatTime } from '@tidegauge/readings';
import {
  boolean,
  ConfigError,
  defineCommand,
  defineConfig,
  EXIT,
  run,
  url,
} from '@tidegauge/service/program';
import { checkStore, type Damage, type LostReadings } from '@tidegauge/storage';
import { counted } from '@tidegauge/text';
import { settings as ingest } from '../settings.ts';
import { pauses, textOf } from './main.ts';

const settings = defineConfig({
  store: ingest.store,
  from: {
    kind: url(...READABLE),
    secret: 'url',
    help: 'A store that has the readings, such as a restored backup or the centre of a relay.',
  },
  json: { kind: boolean(), default: 'false', help: 'Prints the result as JSON.' },
});

/** What became of the readings of a damaged part. */
interface Repaired {
  readonly range: LostReadings;
  /** Readings that the other store had, and that are written now. */
  readonly taken: number;
  /** Readings that are lost, at most: one that had been corrected since counts too. null: not known. */
  readonly lost: number | null;
}

export const program = defineCommand({
  name: 'tidegauge repair',
  summary: 'Takes damaged parts out of a SQLite or JSON store, and their readings from another store.',
  details:
    'Without it, a read of a damaged block of SQLite fails. Ingest and the API can use the store meanwhile. With --from, readings\n' +
    'that the damaged parts can have had, and that the store lacks, are written again: also those that were deleted since, and as\n' +
    'they were there. It ends with 1 when readings are lost, or when a part cannot be repaired: then restore a backup.',
  examples: [
    'tidegauge repair --store sqlite:./data/tidegauge.db',
    'tidegauge repair --store sqlite:./data/tidegauge.db --from sqlite:./restored.db',
  ],
  configuredBy: 'environment',
  settings,
  async run({ store, from, json }, signal) {
    if (from !== null && placeOf(from) === placeOf(store))
      throw new ConfigError(['--from is the store itself: name another one']);
    const found = await checkStore(store, pauses(signal), { takesOut: true });
    if (found === null)
      throw new ConfigError(['--store is a server, which has its own programs for repairs']);
    demandExisting(store);
    const damages: Damage[] = [];
    for await (const damage of found) {
      damages.push(damage);
      if (!json) process.stdout.write(`${textOf(damage)}\n`);
    }
    const ranges = rangesOf(damages);
    const repaired =
      from === null || ranges.length === 0
        ? ranges.map((range) => ({ range, taken: 0, lost: range.count }))
        : await withSides(from, store, { createTarget: false }, (sides) => takeBack(sides, ranges, signal));
    process.stdout.write(json ? `${JSON.stringify({ damages, repaired })}\n` : reportOf(damages, repaired));
    const isWhole =
      damages.every(({ lost }) => lost !== undefined) && repaired.every(({ lost }) => lost === 0);
    return isWhole ? EXIT.OK : EXIT.FAILED;
  },
});

/** The ranges of damaged parts, each once: many damaged lines can be of one day. */
function rangesOf(damages: readonly Damage[]): LostReadings[] {
  const ranges = damages.flatMap(({ lost }) => lost ?? []);
  const same = Map.groupBy(ranges, ({ count: _, ...range }) => JSON.stringify(range));
  return [...same.values()].map((each) => {
    const counts = each.map(({ count }) => count);
    const count = counts.includes(null) ? null : counts.reduce((sum, one) => sum! + one!, 0)!;
    return { ...each[0]!, count };
  });
}

async function takeBack(
  sides: Sides,
  ranges: readonly LostReadings[],
  signal: AbortSignal,
): Promise<Repaired[]> {
  const writer = new BatchWriter(sides.target);
  const repaired: Repaired[] = [];
  for (const range of ranges) {
    const taken = await copyMissing(sides, range, writer, signal);
    repaired.push({ range, taken, lost: range.count === null ? null : Math.max(0, range.count - taken) });
  }
  return repaired;
}

function reportOf(damages: readonly Damage[], repaired: readonly Repaired[]): string {
  if (damages.length === 0) return 'no damage found\n';
  const lines = repaired.map(({ range, taken, lost }) => {
    const { device, metric, from, to } = range;
    const series = device === null ? 'all devices' : `${device} ${metric}`;
    const span = `${formatTime(from)} to ${formatTime(to)}`;
    return `${series}, ${span}: ${counted(taken, 'reading')} taken back, ${lost ?? 'an unknown number'} lost`;
  });
  return `${lines.join('\n')}\n${counted(damages.length, 'damaged part')}\n`;
}

if (import.meta.main) process.exitCode = await run(program);
