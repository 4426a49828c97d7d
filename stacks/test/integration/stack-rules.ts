import { bytesOf, type Variables } from '../stack-files.ts';

/** The parts of a merged stack file that the rules look at. */
export interface Stack {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks?: Readonly<Record<string, { readonly driver?: string }>>;
  readonly secrets?: Readonly<Record<string, { readonly external?: boolean; readonly file?: string }>>;
}

interface Service {
  readonly image?: string;
  readonly user?: string;
  readonly init?: boolean;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly cap_add?: readonly string[];
  readonly environment?: Readonly<Record<string, string | null>>;
  readonly healthcheck?: { readonly test?: readonly string[]; readonly disable?: boolean };
  readonly logging?: { readonly options?: Readonly<Record<string, string>> };
  readonly ports?: readonly { readonly mode?: string }[];
  readonly networks?: Readonly<Record<string, unknown>> | readonly string[];
  readonly deploy?: Deploy;
}

interface Deploy {
  readonly mode?: string;
  readonly replicas?: number;
  readonly endpoint_mode?: string;
  readonly placement?: { readonly constraints?: readonly string[] };
  readonly resources?: {
    readonly limits?: { readonly memory?: string };
    readonly reservations?: { readonly memory?: string };
  };
  readonly restart_policy?: { readonly condition?: string };
  readonly update_config?: { readonly order?: string };
}

const OURS = /^tidegauge-[a-z-]+$/;

/** Each way in which a merged stack breaks what all our services keep to. */
export function problemsOf(stack: Stack, variables: Variables): string[] {
  const problems: string[] = [];
  for (const [name, service] of Object.entries(stack.services)) {
    for (const [rule, kept] of Object.entries(rulesOf(service, variables))) {
      if (!kept) problems.push(`${name}: ${rule}`);
    }
  }
  return problems;
}

function rulesOf(service: Service, variables: Variables): Record<string, boolean> {
  const { image = '', user = '', healthcheck, logging, ports = [], deploy = {}, environment = {} } = service;
  // It has one thing to do, and ends when that is done.
  const job = deploy.restart_policy?.condition === 'on-failure';
  return {
    'its image is named in versions.env': namedIn(variables, image),
    'its image has a version that stays': /:[^/:]+$/.test(image) && !image.endsWith(':latest'),
    'it does not run as root': /^[1-9]\d*(:\d+)?$/.test(user),
    'its root file system is read-only': service.read_only === true,
    'it has an init': service.init === true,
    'it has no capability':
      service.cap_drop?.includes('ALL') === true && (service.cap_add ?? []).length === 0,
    'it has a health check': job || ((healthcheck?.test?.length ?? 0) > 1 && healthcheck?.disable !== true),
    'its log is bounded':
      logging?.options?.['max-size'] !== undefined && logging.options['max-file'] !== undefined,
    'its memory is limited': deploy.resources?.limits?.memory !== undefined,
    'memory is reserved for it': job || deploy.resources?.reservations?.memory !== undefined,
    'it is started again': job || deploy.restart_policy?.condition === 'any',
    'its old task stops first': job || deploy.update_config?.order === 'stop-first',
    'it has no virtual address': deploy.endpoint_mode === 'dnsrr',
    'its ports are the board’s own': ports.every(({ mode }) => mode === 'host'),
    'no secret is in its environment': Object.entries(environment).every(
      ([key, value]) =>
        !/PASSWORD|TOKEN|SECRET/.test(key) || key.endsWith('_FILE') || value === '' || value === null,
    ),
  };
}

function namedIn(variables: Variables, image: string): boolean {
  const [, name, version] = /^(.*):([^:]+)$/.exec(image) ?? [];
  if (name !== undefined && OURS.test(name) && version === variables.TIDEGAUGE_VERSION) return true;
  return Object.entries(variables).some(([key, value]) => key.endsWith('_IMAGE') && value === image);
}

/** What a board of a size shows of its memory: a Raspberry Pi's GPU has a part of the first GB. */
const BOARDS: Readonly<Record<string, number>> = {
  '1gb': 906 * 2 ** 20,
  '2gb': 1846 * 2 ** 20,
  '4gb': 3792 * 2 ** 20,
  '8gb': 7812 * 2 ** 20,
};
/** Memory for the system, the engine and the page cache, in addition to the reservations. */
const SYSTEM = 256 * 2 ** 20;

/**
 * Boards whose services may use more memory than the board has. One board runs every service without a separate board,
 * with a database of one server. Each label for a part of a distributed database, for the monitoring or
 * for backups, is another.
 */
export function tooMuchFor(profile: string, stack: Stack): string[] {
  const groups = new Map<string, [string, Deploy][]>();
  const services = Object.entries(stack.services).map(([name, { deploy = {} }]) => [name, deploy] as const);
  const everywhere = services.filter(([, deploy]) => deploy.mode === 'global' && labelOf(deploy) === null);
  for (const [name, deploy] of services) {
    if (deploy.replicas === 0 || everywhere.some(([other]) => other === name)) continue;
    const label = labelOf(deploy);
    const board = label === null || label.endsWith('true') ? 'one' : label;
    const separate = ['monitoring', 'backup'].find((part) => label?.startsWith(`tidegauge.${part}`));
    const group = separate ?? board;
    groups.set(group, [
      ...(groups.get(group) ?? [...everywhere.map(([n, d]) => [n, d] as [string, Deploy])]),
      [name, deploy],
    ]);
  }
  const problems: string[] = [];
  for (const [board, parts] of groups) {
    const sum = (kind: 'limits' | 'reservations'): number =>
      parts.reduce((total, [, { resources }]) => total + bytesOf(resources?.[kind]?.memory ?? 0), 0);
    const names = parts.map(([name]) => name).join(', ');
    if (sum('limits') > BOARDS[profile]!) {
      problems.push(`${board}: ${names} may take ${sum('limits') / 2 ** 20} MiB`);
    }
    if (sum('reservations') > BOARDS[profile]! - SYSTEM) {
      problems.push(`${board}: ${names} reserve ${sum('reservations') / 2 ** 20} MiB`);
    }
  }
  return problems;
}

function labelOf({ placement }: Deploy): string | null {
  const [, label] = /^node\.labels\.(.*)$/.exec(placement?.constraints?.[0] ?? '') ?? [];
  return label?.replaceAll(' ', '') ?? null;
}
