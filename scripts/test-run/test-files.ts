// Runs test files in one process, one file after the other: `node test-files.ts NAMES FILE...`. NAMES is a regular
// expression; tests whose name does not match do not run. Writes a record of each test to the file TEST_RECORDS.
import { createHook } from 'node:async_hooks';
import { createWriteStream } from 'node:fs';
import { run } from 'node:test';
import { inspect } from 'node:util';
import fc from 'fast-check';
import report, { type TestError } from './node-reporter.ts';

/** Until the record of a test is in its file. */
const WRITTEN_MS = 1000;

// node:test follows every promise with a hook, to tell which test threw an error that nobody caught. Each `await` takes ten
// times as long with it. Without promises the hook only finds the suite of a test. Such an error ends the process, and its
// stack names the test.
const hook = createHook({ trackPromises: false });
const [noPromises] = Object.getOwnPropertySymbols(hook).filter(
  ({ description }) => description === 'kNoPromiseHook',
);
const AsyncHook = Object.getPrototypeOf(hook);
const { enable } = AsyncHook;
AsyncHook.enable = function enableWithoutPromises(this: typeof hook) {
  Object.assign(this, { [noPromises!]: true });
  return enable.call(this);
};
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    process.stderr.write(`nobody caught ${inspect(error)}\n`);
    process.exit(1);
  });
}

// Else an array of at most 1,000 items has ten of them at most.
fc.configureGlobal({ defaultSizeToMaxWhenMaxSpecified: true });

// A test file that starts itself as a program reads its arguments.
const [names, ...files] = process.argv.splice(2);
run({ files, isolation: 'none', ...(names ? { testNamePatterns: names } : {}) })
  .on('test:fail', ({ details: { error } }) => {
    process.exitCode = 1;
    // What the test waits for can keep the process running.
    if ((error as TestError).failureType === 'testTimeoutFailure')
      setTimeout(() => process.exit(), WRITTEN_MS);
  })
  .compose(report)
  .pipe(createWriteStream(process.env.TEST_RECORDS!));
