// For administrators: logins, how long readings are kept, and backups. Each dialog is loaded when it is
// opened for the first time.

import { attempt } from './dialog.js';
import { $ } from './dom.js';

export function initManage() {
  onClick('manage-keys', async () => (await import('./access-dialogs.js')).openKeys());
  onClick('manage-passwords', async () => (await import('./access-dialogs.js')).openPasswords());
  onClick('manage-retention', async () => (await import('./retention-dialog.js')).openRetention());
  onClick('manage-backups', async () => (await import('./backups-dialog.js')).openBackups());
}

function onClick(id, work) {
  $(id).addEventListener('click', () => void attempt($('manage-said'), work));
}
