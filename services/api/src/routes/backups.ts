import type { BackupClient } from '../backup-client.ts';
import type { Handlers } from '../dispatch.ts';

/** The backups of the store, which the backup service makes. */
export function backupHandlers(backups: BackupClient): Handlers {
  return {
    listBackups: async (_call, response) => {
      response.json(await backups.list());
    },
    requestBackup: async (_call, response) => {
      await backups.request();
      response.status(202).json({ requested: true });
    },
  };
}
