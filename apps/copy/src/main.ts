import { setTimeout as delay } from 'node:timers/promises';
import {
  type CopyState,
  copyStore,
  isEmptyStore,
  Progress,
  placeOf,
  READABLE,
  readState,
  type Sides,
  verifyStore,
  withSides,
  writeState,
} from '@tidegauge/copy';
import {
  boolean,
  ConfigError,
  defineCommand,
  defineConfig,
  duration,
  EXIT,
  oneOf,
  run,
  url,
} from '@tidegauge/service/program';
import { maskUrl } from '@tidegauge/text';
import { copyDocument, copyText, isVerified, verifyDocument, verifyText } from './report.ts';

const settings = defineConfig({
  action: {
    kind: oneOf(['verify']),
    positional: true,
    help: 'verify: only compare both stores, without a change.',
  },
  from: { kind: url(...READABLE), required: true, secret: 'url', help: 'The store to read.' },
  to: { kind: url(...READABLE), required: true, secret: 'url', help: 'The store to write.' },
  merge: {
    kind: boolean(),
    default: 'false',
    help: 'The target may have other data, which stays.',
  },
  follow: {
    kind: duration(1, 86_400),
    help: 'Repeats the copy until it is stopped, with this pause.',
  },
  json: { kind: boolean(), default: 'false', help: 'Prints the result as JSON.' },
});

export const program = defineCommand({
  name: 'tidegauge copy',
  summary:
    'Copies all readings, units and registered devices from one store to another while both are in use.',
  details:
    'It can be stopped and run again at any time, also after a kill: it continues, and writes only what the target lacks.\n' +
    'Each written day of a device is read again and compared by number and digest. It copies what the source has when it\n' +
    'reads each device. Run it again, or use --follow, for readings that arrived since then.',
  examples: [
    'tidegauge copy --from sqlite:./data/tidegauge.db --to postgres://tidegauge@db/tidegauge',
    'tidegauge copy verify --from sqlite:./data/tidegauge.db --to postgres://tidegauge@db/tidegauge',
  ],
  configuredBy: 'environment',
  settings,
  async run({ action, from, to, merge, follow, json }, signal) {
    if (action === 'verify') {
      if (follow !== null) throw new ConfigError(['--follow repeats a copy: leave it out with verify']);
      return withSides(from, to, { createTarget: false }, (sides) => verify(sides, { merge, json }, signal));
    }
    return withSides(from, to, { createTarget: true }, async (sides) => {
      let isDone: boolean;
      do {
        isDone = await copyOnce(sides, { from, to, merge, json }, signal);
        if (follow !== null) await delay(follow * 1000, undefined, { signal }).catch(() => {});
      } while (follow !== null && !signal.aborted);
      return isDone ? EXIT.OK : EXIT.FAILED;
    });
  },
});

interface Options {
  readonly from: string;
  readonly to: string;
  readonly merge: boolean;
  readonly json: boolean;
}

async function copyOnce(
  sides: Sides,
  { from, to, merge, json }: Options,
  signal: AbortSignal,
): Promise<boolean> {
  const place = placeOf(from);
  const state = await stateOf(sides, { from, to, merge }, place);
  const progress = new Progress(process.stderr, 'copy');
  if (state.after !== null) progress.line(`continues after device ${state.after}`);
  try {
    const result = await copyStore(sides, { place, state, signal, progress });
    progress.stop();
    const timing = { seconds: progress.seconds };
    process.stdout.write(
      json ? `${JSON.stringify(copyDocument(result, timing))}\n` : copyText(result, timing),
    );
    return result.problems.length === 0;
  } catch (error) {
    if (signal.aborted) progress.line('stopped: run the same command again to continue');
    throw error;
  } finally {
    progress.stop();
  }
}

/** The state of the copy. It is written before the first reading, so that a copy that is killed can continue. */
async function stateOf(
  { target }: Sides,
  { from, to, merge }: Omit<Options, 'json'>,
  place: string,
): Promise<CopyState> {
  const known = await readState(target, place);
  if (known !== null) return { ...known, merge: known.merge || merge };
  if (!merge && !(await isEmptyStore(target))) {
    throw new ConfigError([
      `${maskUrl(to)} is not empty, and no copy from ${place} was started there: ` +
        'use an empty store, or --merge to keep its data and add that of the source',
    ]);
  }
  const state: CopyState = { version: 1, from: maskUrl(from), merge, after: null, finished: null };
  await writeState(target, place, state);
  return state;
}

async function verify(
  sides: Sides,
  { merge, json }: { readonly merge: boolean; readonly json: boolean },
  signal: AbortSignal,
): Promise<number> {
  const progress = new Progress(process.stderr, 'verify');
  try {
    const result = await verifyStore(sides, { signal, progress });
    progress.stop();
    process.stdout.write(
      json ? `${JSON.stringify(verifyDocument(result, merge))}\n` : verifyText(result, merge),
    );
    return isVerified(result, merge) ? EXIT.OK : EXIT.FAILED;
  } finally {
    progress.stop();
  }
}

if (import.meta.main) process.exitCode = await run(program);
