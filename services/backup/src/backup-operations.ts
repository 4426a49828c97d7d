import { join } from 'node:path';
import type { BackupDocument, BackupsDocument } from '@tidegauge/readings';
import { Problem, type ServiceOperation } from '@tidegauge/service';
import { listBackups } from './backup-folder.ts';
import { readManifest } from './manifest.ts';
import type { BackupRequest, ScheduleState } from './schedule.ts';
import { verifiedOf } from './verified.ts';

/** Backups in an answer: the newest. */
const MOST_LISTED = 100;

export interface BackupOperationOptions {
  /** The directory of the backups. */
  readonly to: string;
  readonly everyMs: number;
  readonly state: ScheduleState;
  readonly request: BackupRequest;
}

/** Requests that list backups, and make one now. Their names are those of the API. */
export function backupOperations(options: BackupOperationOptions): readonly ServiceOperation[] {
  const { state, request } = options;
  return [
    {
      id: 'listBackups',
      method: 'get',
      path: '/backups',
      scope: 'read',
      handlers: [async (_request, response) => void response.json(await documentOf(options))],
    },
    {
      id: 'requestBackup',
      method: 'post',
      path: '/backups',
      scope: 'admin',
      handlers: [
        (_request, response) => {
          if (state.isRunning || request.isMade)
            throw new Problem(409, 'Backup in progress', 'A backup is being made now.');
          request.make();
          response.status(202).json({ requested: true });
        },
      ],
    },
  ];
}

async function documentOf({ to, everyMs, state, request }: BackupOperationOptions): Promise<BackupsDocument> {
  const all = await listBackups(to);
  const backups: BackupDocument[] = [];
  for (const { name, time } of all.slice(-MOST_LISTED).reverse()) {
    const folder = join(to, name);
    // A backup that this version cannot read is listed without its numbers.
    const manifest = await readManifest(folder).catch(() => null);
    backups.push({
      name,
      started: new Date(time).toISOString(),
      readings: manifest?.readings.count ?? null,
      bytes: manifest?.files.reduce((sum, { bytes }) => sum + bytes, 0) ?? null,
      verified: await verifiedOf(folder),
    });
  }
  return {
    backups,
    total: all.length,
    isRunning: state.isRunning || request.isMade,
    isFailing: state.isFailing,
    everySeconds: everyMs / 1000,
  };
}
