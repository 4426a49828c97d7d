import { clientOf } from '../clients.ts';

/** What a client may do. `admin` includes the others; `write` does not include `read`, so a sensor's key reads nothing. */
export const SCOPES = ['read', 'write', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

/** Who sent a request, and what the sender may do. */
export interface Principal {
  /** `open`: no login was needed. `token`: the token of the service's settings. */
  readonly kind: 'open' | 'token' | 'key' | 'oidc';
  /** Names the sender in logs: the id of a key, the subject of a token. It is never a secret. */
  readonly id: string;
  readonly scopes: readonly Scope[];
  /** The sender may use only this device and the devices below it; null for all devices. */
  readonly devices: string | null;
  /** When it ends, for a token of a provider, milliseconds since the epoch. */
  readonly ends?: number;
  /** Whether it still may: a key can expire or be revoked while a stream is open. */
  isCurrent(): boolean;
}

/** What a request needs. */
export interface Rule {
  /** `public`: nothing. `metrics`: as `read`, and the metrics token is enough. */
  readonly scope: Scope | 'public' | 'metrics';
  /** Whether the handler limits its answer and its effect to the devices of the principal. */
  readonly limitsDevices: boolean;
  /** The name of the operation in the audit. Default: method and path. */
  readonly action?: string;
  /** Whether it changes readings or records, of which there can be thousands per second. */
  readonly isData?: boolean;
}

const always = (): boolean => true;

/** The sender where no login is configured. */
export const EVERYONE: Principal = {
  kind: 'open',
  id: 'anonymous',
  scopes: SCOPES,
  devices: null,
  isCurrent: always,
};

/** The sender without a login where reads are open. */
export const READER: Principal = { ...EVERYONE, scopes: ['read'] };

/** The sender with the service's own token. */
export function tokenPrincipal(id: string, scopes: readonly Scope[] = SCOPES): Principal {
  return { kind: 'token', id, scopes, devices: null, isCurrent: always };
}

export function hasScope({ scopes }: Principal, scope: Scope): boolean {
  return scopes.includes(scope) || scopes.includes('admin');
}

/** The name of a client, for its shares: its login, or without one its address. */
export function clientName({ kind, id }: Principal, address: string | undefined): string {
  return kind === 'open' ? clientOf(address) : `${kind} ${id}`;
}

/** Whether a device is the one of a limit or below it. A limit of null includes every device. */
export function isWithin(limit: string | null, device: string): boolean {
  return limit === null || device === limit || device.startsWith(`${limit}/`);
}
