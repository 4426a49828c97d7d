import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configTable } from '@tidegauge/service';
import { API_SCHEMA } from '../services/api/src/config.ts';
import { settings as brokerMetricsSettings } from '../services/broker-metrics/src/settings.ts';
import { settings as citusMembershipSettings } from '../services/citus-membership/src/settings.ts';
import { settings as doctorSettings } from '../services/doctor/src/settings.ts';
import { settings } from '../services/ingest/src/settings.ts';
import { ROOT } from './setup.js';

export const FILE = join(ROOT, 'docs', 'configuration.md');

/** The page `docs/configuration.md`, from the schemas themselves. */
export function configurationPage(): string {
  return `# Configuration

Each setting is an environment variable, or a flag of the same name in lower case (\`--http-port 9000\`); the flag
wins. Secrets can be in files, named by the variable with \`_FILE\` behind it. \`--print-config\` shows what is in
force. This page is made by \`npm run docs\`; the simulator's settings are in
[its README](../sensors-sim/README.md#settings).

## Ingest

${configTable(settings)}

A routes file is a list, YAML or JSON; the first route whose topic matches has the message:

\`\`\`yaml
- name: boilers
  topic: sensors/{device+}/{metric}   # {device} is one level, {device+} one or more, + and # as in MQTT
  format: auto                        # auto, plain, text, json, senml-json
  qos: 1
  retained: skip                      # or store
  ack: durable                        # or stored, received
\`\`\`

## API

${configTable(API_SCHEMA)}

## Exporter of the broker's $SYS topics

${configTable(brokerMetricsSettings)}

## Membership of Citus

${configTable(citusMembershipSettings)}

## Doctor

What it looks at is in [its README](../services/doctor/README.md).

${configTable(doctorSettings)}
`;
}

if (import.meta.main) writeFileSync(FILE, configurationPage());
