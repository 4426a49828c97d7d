import { createReadStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { installPythonPackages } from '@tidegauge/lab/python-packages';
import { runProgram, temporaryDirectory } from '@tidegauge/process';
import { parseTime } from '@tidegauge/readings';

// Licences and attributions are in docs/measurements.md. The packages are only unpacked: nothing of them runs.
const REQUIREMENTS = fileURLToPath(new URL('requirements.txt', import.meta.url));
const SITE = 'import sysconfig; print(sysconfig.get_path("purelib"))';

export interface Row {
  readonly device: string;
  /** Microseconds since the epoch. */
  readonly time: number;
  readonly values: readonly (readonly [metric: string, value: number])[];
}

/** La Haute Borne: four wind turbines in 2014 and 2015, averages of ten minutes, with an offset from UTC in each time. */
export async function* readTurbines(): AsyncGenerator<Row> {
  const { python, site } = await install();
  const folder = temporaryDirectory('turbines');
  try {
    const archive = join(site, 'examples/data/la_haute_borne.zip');
    await runProgram(python, ['-m', 'zipfile', '-e', archive, folder.path]);
    const input = createReadStream(join(folder.path, 'la-haute-borne-data-2014-2015.csv'));
    let metrics: readonly string[] | null = null;
    for await (const line of createInterface({ input })) {
      const [turbine, date, ...cells] = line.split(',');
      if (metrics === null) {
        metrics = cells;
        continue;
      }
      const values = metrics.flatMap((metric, index) =>
        cells[index] === '' ? [] : ([[metric, Number(cells[index])]] as const),
      );
      yield { device: `la-haute-borne/${turbine}`, time: timeOf(date!), values };
    }
  } finally {
    folder.remove();
  }
}

/** A continuous glucose monitor, every five minutes. Its times are local, and taken as UTC. */
export async function* readGlucose(): AsyncGenerator<Row> {
  for (const [, date, value] of await table('CGM.csv.gz'))
    yield { device: 'glucose-monitor', time: timeOf(`${date}Z`), values: [['glucose', Number(value)]] };
}

/** The temperature of the sea at a buoy, every half hour. */
export async function* readBuoy(): AsyncGenerator<Row> {
  for (const [date, value] of await table('sea_surface_temperature.csv.gz'))
    yield { device: 'buoy', time: timeOf(date!), values: [['temperature', Number(value)]] };
}

async function install(): Promise<{ readonly python: string; readonly site: string }> {
  const python = await installPythonPackages('sizes', REQUIREMENTS);
  return { python, site: (await runProgram(python, ['-c', SITE])).stdout.trim() };
}

/** The rows after the header. */
async function table(name: string): Promise<string[][]> {
  const { site } = await install();
  const text = gunzipSync(readFileSync(join(site, 'bokeh_sampledata/_data', name))).toString();
  return text
    .trim()
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(','));
}

function timeOf(text: string): number {
  const time = parseTime(text);
  if (time === null) throw new Error(`${text} is no time`);
  return time;
}
