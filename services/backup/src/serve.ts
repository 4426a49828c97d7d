import {
  createLogger,
  createServiceApp,
  type HttpServer,
  isLoopback,
  listen,
  Metrics,
} from '@tidegauge/service';
import type { BackupResult } from './back-up.ts';
import { type BackupOperationOptions, backupOperations } from './backup-operations.ts';

/** A schedule that misses this many backups is not ready. */
const MISSED = 2;

export interface ServeOptions extends BackupOperationOptions {
  readonly host: string;
  readonly port: number;
  /** Allows requests for a backup. Null: they are accepted on loopback only. */
  readonly token: string | null;
  /** The name of the board in metrics. Null: the host name. */
  readonly board: string | null;
  /** The last backup of this process. */
  result(): BackupResult | null;
}

/** Serves health, readiness and metrics of scheduled backups, lists them, and makes one on request. */
export async function serve(options: ServeOptions): Promise<HttpServer> {
  const { host, port, token, board, everyMs, state, result } = options;
  const logger = createLogger('backup', 'warn');
  const metrics = new Metrics(board);
  metrics.gauge(
    'tidegauge_backup_last_timestamp_seconds',
    'Time when the newest complete backup began, 0 without one',
    () => [{ value: (state.last ?? 0) / 1000 }],
  );
  metrics.gauge(
    'tidegauge_backup_verified_timestamp_seconds',
    'Time of the last verified restore of a backup, 0 without one',
    () => [{ value: (state.verified ?? 0) / 1000 }],
  );
  metrics.gauge('tidegauge_backup_interval_seconds', 'Time from one backup to the next', () => [
    { value: everyMs / 1000 },
  ]);
  metrics.gauge('tidegauge_backup_failing', 'Whether the last attempt failed: 0 or 1', () => [
    { value: state.isFailing ? 1 : 0 },
  ]);
  metrics.counter('tidegauge_backup_failures_total', 'Backups that failed', () => [
    { value: state.failures },
  ]);
  metrics.gauge('tidegauge_backup_readings', 'Readings of the last backup of this process', () => {
    const last = result();
    return last === null ? [] : [{ value: last.manifest.readings.count }];
  });
  metrics.gauge('tidegauge_backup_bytes', 'Size of the last backup of this process', () => {
    const last = result();
    return last === null ? [] : [{ value: last.manifest.files.reduce((sum, { bytes }) => sum + bytes, 0) }];
  });
  const checks = {
    'the last backup': () => {
      if (state.last === null) return 'there is no complete backup yet';
      return Date.now() - state.last > MISSED * everyMs
        ? `the last backup began at ${new Date(state.last).toISOString()}`
        : null;
    },
  };
  const isOpen = token !== null || isLoopback(host);
  const operations = backupOperations(options).filter(({ scope }) => isOpen || scope === 'read');
  const app = createServiceApp({ metrics, checks, logger, listen: host, token, operations });
  return listen(app, host, port, 'METRICS_PORT (--metrics-port)');
}
