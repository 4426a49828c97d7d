import type { Backend } from '../backend.ts';
import type { BackendContext } from '../context.ts';
import type { StoreUrl } from '../url.ts';
import { InfluxdbBackend } from './backend.ts';
import { INFLUXDB_OPTIONS, readConfig } from './config.ts';

export const options = { influxdb: INFLUXDB_OPTIONS };

export function create(url: StoreUrl, _context: BackendContext): Backend {
  return new InfluxdbBackend(readConfig(url));
}
