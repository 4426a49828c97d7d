import { StoreError } from '../errors.ts';
import { CONNECT, choice, integer, type OptionValues, readOptions } from '../options.ts';
import type { StoreUrl } from '../url.ts';

/** Options of `influxdb://host/database?...`. */
export const INFLUXDB_OPTIONS = {
  tls: choice(['true', 'false'], 'false', 'Encrypt, and check the certificate of the server.'),
  connect: CONNECT,
  timeout: integer(1000, 600_000, 'ms', 30_000, 'Longest time of a request. Then it fails with TIMEOUT.'),
};

export interface InfluxdbConfig extends OptionValues<typeof INFLUXDB_OPTIONS> {
  /** Of the server, without a path. */
  readonly origin: string;
  readonly user: string | null;
  readonly password: string;
  readonly database: string;
}

/** @throws {StoreError} MISCONFIGURED */
export function readConfig(url: StoreUrl): InfluxdbConfig {
  const [host, ...others] = url.hosts;
  if (host === undefined || others.length > 0 || !/^[A-Za-z_]\w{0,63}$/.test(url.path)) {
    throw new StoreError('MISCONFIGURED', `${url.masked} does not name one host and a database`, {
      hint: 'write influxdb://user:password@host:8086/database, with a database of letters, digits and _',
    });
  }
  const values = readOptions(url, INFLUXDB_OPTIONS);
  const name = host.host.includes(':') ? `[${host.host}]` : host.host;
  const origin = `${values.tls === 'true' ? 'https' : 'http'}://${name}:${host.port ?? 8086}`;
  return { origin, user: url.user, password: url.password ?? '', database: url.path, ...values };
}
