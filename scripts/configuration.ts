import { join } from 'node:path';
import {
  beforeArguments,
  type Command,
  type CommandGroup,
  type ConfiguredBy,
  configTable,
  configuredBy,
  isGroup,
  type Program,
  type Schema,
  type Service,
  type Setting,
  settingName,
} from '@tidegauge/service/program';
import { PROGRAM_GROUPS, PROGRAMS } from '../apps/tidegauge/src/programs.ts';
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

/** Settings in the first table of a program. Those that people use first are first in its definition. */
const FIRST = 12;

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

[How a payload becomes readings](payloads.md) describes presets and mappings. A YAML file of routes, alerts, retention or studies has at most 1 MiB and 50,000 words and marks.

Files of routes, alerts, retention, passwords, topics of sensors and API keys, and certificates, are used within seconds after a change.`,
  doctor: 'Its checks are in [its README](../services/doctor/README.md).',
};

type Runnable = Command<Schema> | Service<Schema>;

/** Settings that several programs have, with their key, and whether variables set them. */
type Shared = ReadonlyMap<Setting<unknown>, { readonly key: string; readonly by: ConfiguredBy }>;

/** The page `docs/configuration.md`, from the programs themselves. */
export async function configurationPage(): Promise<string> {
  const programs = (await listPrograms()).filter(({ script }) => isDeployed(script));
  const shared = sharedSettings(programs.map(({ program }) => program));
  const sections = programs.map(({ script, program }) => section(script, program, shared));
  const groups = [...byGroup(shared.keys())].map(([group, members]) => {
    const schema = Object.fromEntries(members.map((setting) => [shared.get(setting)!.key, setting]));
    return `### ${group}\n\n${configTable(schema, shared.get(members[0]!)!.by)}`;
  });
  return `# Configuration

In a clone, \`npm run NAME -- …\` starts \`tidegauge NAME …\`. Every program has \`--help\`, with the values that a setting takes, and \`--print-config\`, which prints the settings in force as the
program accepts them, with secrets masked. An unknown option or a wrong value ends it with exit code 2 and one line for each mistake.

A service is configured by environment variables, or by options of the same name in lower case (\`HTTP_PORT=9000\`, \`--http-port 9000\`). An option has precedence. A secret can be in a file, which the
variable with \`_FILE\` behind its name names. Tools have options only; just their secrets can come from variables. Load tests, experiments, benchmarks and the lab have their options in \`--help\` only.

| exit code | meaning |
| --- | --- |
| 0 | success |
| 1 | failure: a server is unavailable, a check failed, or the program has a bug |
| 2 | bad usage or bad configuration; nothing was done |
| 3 | load tests and experiments only: the run ended, but its figures do not count |

The settings of the simulator are in [its README](../sensors-sim/README.md#settings). \`npm run docs\` writes this page.

${sections.join('\n\n')}

## Settings of several programs

${groups.join('\n\n')}
`;
}

/** Whether a program is a part of an installation, and not one that tests it. */
function isDeployed(script: string): boolean {
  return Object.hasOwn(PROGRAMS, script) && !Object.hasOwn(PROGRAM_GROUPS.Test!, script);
}

function commandsOf(program: Program): readonly Runnable[] {
  return isGroup(program) ? Object.values(program.commands) : [program];
}

/** The settings under a heading of the help that are those of several programs. */
function sharedSettings(programs: readonly Program[]): Shared {
  const found = new Map<Setting<unknown>, { key: string; by: ConfiguredBy; users: Set<Program> }>();
  for (const program of programs) {
    for (const command of commandsOf(program)) {
      for (const [key, setting] of Object.entries(command.settings)) {
        if (setting.group === undefined) continue;
        const known = found.get(setting) ?? { key, by: configuredBy(command), users: new Set<Program>() };
        known.users.add(program);
        found.set(setting, known);
      }
    }
  }
  return new Map([...found].filter(([, { users }]) => users.size > 1));
}

function byGroup(settings: Iterable<Setting<unknown>>): Map<string, Setting<unknown>[]> {
  return Map.groupBy(settings, ({ group }) => group!);
}

function section(script: string, program: Program, shared: Shared): string {
  const heading = `## ${TITLES[script] ?? program.name}`;
  const body = isGroup(program) ? groupTables(program, shared) : tablesOf(program, program.settings, shared);
  return [heading, program.summary, body, NOTES[script]].filter((part) => part).join('\n\n');
}

/** The settings of a command without those that several programs have, which are named below. */
function tablesOf(command: Runnable, settings: Schema, shared: Shared): string {
  const by = configuredBy(command);
  const own = Object.entries(settings).filter(([, setting]) => !shared.has(setting));
  const isLong = own.length > 1.25 * FIRST;
  const [first, rest] = isLong ? [own.slice(0, FIRST), own.slice(FIRST)] : [own, []];
  const table = (entries: typeof own) =>
    entries.length === 0 ? [] : [configTable(Object.fromEntries(entries), by)];
  const more = table(rest).flatMap((rows) => ['Less often needed:', rows]);
  return [...table(first), ...more, ...sharedLine(Object.values(settings), shared)].join('\n\n');
}

/** The settings that several commands have, then those of each command. */
function groupTables({ name, commands }: CommandGroup, shared: Shared): string {
  const all = Object.entries(commands);
  const counts = new Map<Setting<unknown>, number>();
  for (const [, { settings }] of all)
    for (const setting of Object.values(settings)) counts.set(setting, (counts.get(setting) ?? 0) + 1);
  const several: Record<string, Setting<unknown>> = {};
  for (const [, { settings }] of all)
    for (const [key, setting] of Object.entries(settings))
      if (counts.get(setting)! > 1 && !shared.has(setting)) several[key] ??= setting;
  const own = all.flatMap(([command, given]) => {
    const settings = Object.entries(given.settings).filter(
      ([key, setting]) => several[key] !== setting && !shared.has(setting),
    );
    const tables = tablesOf(given, Object.fromEntries(settings), shared);
    return [`### ${beforeArguments(name)} ${command}`, given.summary, tables];
  });
  const by = configuredBy(all[0]![1]);
  const common =
    Object.keys(several).length === 0 ? [] : ['Settings of several commands:', configTable(several, by)];
  return [...common, ...sharedLine([...counts.keys()], shared), ...own]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** Where the shared settings are: whole groups by their heading, others by name too. */
function sharedLine(settings: readonly Setting<unknown>[], shared: Shared): readonly string[] {
  const all = byGroup(shared.keys());
  const used = [...byGroup(settings.filter((setting) => shared.has(setting)))];
  if (used.length === 0) return [];
  const parts = used.map(([group, members]) => {
    const link = `[${group}](#${group.toLowerCase().replaceAll(' ', '-')})`;
    if (members.length === all.get(group)!.length) return link;
    const names = members.map((setting) => {
      const { key, by } = shared.get(setting)!;
      return settingName(key, setting, by);
    });
    return `${names.join(', ')} (${link})`;
  });
  return [`Also ${parts.join(', ')}.`];
}
