import { join } from 'node:path';
import {
  beforeArguments,
  type Command,
  type CommandGroup,
  configTable,
  configuredBy,
  isGroup,
  type Program,
  type Schema,
  type Service,
} from '@tidegauge/service/program';
import { listPrograms } from './programs.ts';
import { ROOT } from './setup.js';

export const FILE = join(ROOT, 'docs', 'configuration.md');

/** Headings that differ from the command of the program. */
const TITLES: Readonly<Record<string, string>> = {
  ingest: 'Ingest',
  api: 'API',
  'broker-metrics': 'Broker metrics',
  'citus-membership': 'Citus membership',
  doctor: 'Doctor',
};

/** Notes for which a table has no column, by program. */
const NOTES: Readonly<Record<string, string>> = {
  ingest: `A routes file is a list, YAML or JSON. The first route whose topic matches a message decodes it:

\`\`\`yaml
- name: boilers
  topic: sensors/{device+}/{metric}   # {device} is one level, {device+} one or more, + and # as in MQTT
  format: auto                        # auto, plain, text, json, senml-json, senml-cbor, influx, sparkplug-b
  qos: 1
  retained: skip                      # or store
  ack: durable                        # or stored, received
  filter: {deadband: 0.5, silence: 15m}  # leave out readings that are like the last one
- topic: telegraf/{device}
  format: influx                      # InfluxDB line protocol; the rest is optional:
  influx: {device: '{cpu}', metric: '{measurement}.{field}', precision: ns}
- preset: zigbee2mqtt                 # topics and mapping of a known sender
- topic: plant/{device}/data
  mapping: { drop: [debug], units: { temperature: Cel } }
\`\`\`

[How a payload becomes readings](payloads.md) describes presets and mappings. A YAML file of routes, alerts, retention or studies has at most 1 MiB and 50,000 words and marks.`,
  doctor: 'Its checks are in [its README](../services/doctor/README.md).',
};

/** The page `docs/configuration.md`, from the programs themselves. */
export async function configurationPage(): Promise<string> {
  const sections = (await listPrograms()).map(({ script, program }) => section(script, program));
  return `# Configuration

In a clone, \`npm run NAME -- …\` starts \`tidegauge NAME …\`. Every program of this project has \`--help\` and, where it has settings, \`--print-config\`, which prints the settings in
force, with secrets masked, as the program accepts them: as lines of an environment file, or as options. An unknown option or a wrong value ends it with exit code 2 and one line for each mistake.

A service is configured by environment variables, or by options of the same name in lower case
(\`HTTP_PORT=9000\`, \`--http-port 9000\`). An option has precedence. A secret can be in a file, which the variable with
\`_FILE\` behind its name names. Tools and benchmarks have options only; just their secrets can come from variables.

| exit code | meaning |
| --- | --- |
| 0 | success |
| 1 | failure: a server is unavailable, a check failed, or the program has a bug |
| 2 | bad usage or bad configuration; nothing was done |
| 3 | load tests and experiments only: the run ended, but its figures do not count |

The settings of the simulator are in [its README](../sensors-sim/README.md#settings). \`npm run docs\` writes this page.

${sections.join('\n\n')}
`;
}

function section(script: string, program: Program): string {
  const heading = `## ${TITLES[script] ?? program.name}`;
  const body = isGroup(program) ? groupTables(program) : settingsOf(program);
  return [heading, program.summary, body, NOTES[script]].filter((part) => part).join('\n\n');
}

function settingsOf(program: Service<Schema> | Command<Schema>): string {
  const { settings } = program;
  return Object.keys(settings).length === 0 ? '' : configTable(settings, configuredBy(program));
}

/** The options that all commands have in one table, then those of each command. */
function groupTables({ name, commands }: CommandGroup): string {
  const all = Object.entries(commands);
  const [[, first]] = all as [[string, Command<Schema>]];
  const common = Object.fromEntries(
    Object.entries(first.settings).filter(([key, setting]) =>
      all.every(([, { settings }]) => settings[key] === setting),
    ),
  );
  const own = all.map(([command, given]) => {
    const settings = Object.fromEntries(Object.entries(given.settings).filter(([key]) => !(key in common)));
    return [`### ${beforeArguments(name)} ${command}`, given.summary, settingsOf({ ...given, settings })];
  });
  const shared =
    Object.keys(common).length === 0 ? [] : ['Options of all commands:', configTable(common, 'options')];
  return [...shared, ...own.flat()].filter((part) => part !== '').join('\n\n');
}
