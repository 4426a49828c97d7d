// For administrators: who may use this installation, and how long readings are kept. Each dialog is loaded when it is
// opened for the first time.

import { attempt } from './dialog.js';
import { $ } from './dom.js';

export function initManage() {
  onClick('manage-keys', async () => (await import('./access-dialogs.js')).openKeys());
  onClick('manage-passwords', async () => (await import('./access-dialogs.js')).openPasswords());
  onClick('manage-retention', async () => (await import('./retention-dialog.js')).openRetention());
}

function onClick(id, work) {
  $(id).addEventListener('click', () => void attempt($('manage-said'), work));
}
