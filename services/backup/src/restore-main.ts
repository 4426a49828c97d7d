import { duration, number, Progress, READABLE } from '@tidegauge/copy';
import { boolean, defineCommand, defineConfig, EXIT, run, text, url } from '@tidegauge/service';
import { maskUrl } from '@tidegauge/text';
import { findBackup } from './backup-folder.ts';
import { checkFiles, readManifest } from './manifest.ts';
import { restoreBackup } from './restore.ts';
import { noteVerified } from './verified.ts';

const settings = defineConfig({
  from: {
    kind: text('a directory'),
    required: true,
    help: 'A backup, or a directory of backups, of which the newest is restored.',
  },
  store: { kind: url(...READABLE), required: true, secret: 'url', help: 'The store to write. It is empty.' },
  json: { kind: boolean(), default: 'false', help: 'Prints the result as JSON.' },
});

export const program = defineCommand({
  name: 'tidegauge restore',
  summary:
    'Writes a backup to an empty store of any kind, and compares the store with the manifest of the backup.',
  details:
    'It first checks that no file of the backup is damaged. Run it again if it was interrupted: it continues.',
  examples: ['tidegauge restore --from /mnt/usb/backups --store sqlite:./data/tidegauge.db'],
  configuredBy: 'environment',
  settings,
  async run({ from, store, json }, signal) {
    const folder = await findBackup(from);
    const manifest = await readManifest(folder);
    const progress = new Progress(process.stderr, 'restore');
    try {
      await checkFiles(folder, manifest, signal);
      const problem = await restoreBackup(folder, manifest, store, { signal, progress });
      progress.stop();
      if (problem === null)
        await noteVerified(folder, Date.now()).catch(({ message }: Error) => {
          process.stderr.write(`the backup does not show that it was verified: ${message}\n`);
        });
      const { readings, units, devices } = manifest;
      const { seconds } = progress;
      if (json) {
        const result = {
          verified: problem === null,
          problem,
          from: folder,
          readings,
          units,
          devices,
          seconds,
        };
        process.stdout.write(`${JSON.stringify(result)}\n`);
      } else if (problem === null) {
        process.stdout.write(
          `${number(readings.count)} readings, ${number(units.count)} units and ${number(devices.count)} registered devices ` +
            `of ${folder} restored in ${duration(seconds)}\n` +
            'verified: their numbers and digests are those of the backup\n',
        );
      }
      if (problem === null) return EXIT.OK;
      process.stderr.write(`${maskUrl(store)} differs from the backup: ${problem}\n`);
      return EXIT.FAILED;
    } finally {
      progress.stop();
    }
  },
});

if (import.meta.main) process.exitCode = await run(program);
