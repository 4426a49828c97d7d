import { existsSync, writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { API_ATTACKS } from './api-attacks.ts';
import { send, type TargetDescription } from './attack.ts';
import { INGEST_ATTACKS } from './ingest-attacks.ts';

// Runs one attack in its own process, so that its work does not delay the sensors whose waits are measured. The target
// comes over the channel of the parent; the process ends after the given time, or with its parent.

const AUTOGROUP = '/proc/self/autogroup';

// Attackers are on other machines. Here they take the time of processors that nothing else needs.
setPriority(constants.priority.PRIORITY_LOW);
// Where the kernel schedules sessions as groups, a priority counts within its group only (sched(7)).
if (existsSync(AUTOGROUP)) writeFileSync(AUTOGROUP, `${constants.priority.PRIORITY_LOW}`);

process.on('message', (message) => {
  const { name, seconds, target } = message as { name: string; seconds: number; target: TargetDescription };
  const attack = { ...INGEST_ATTACKS, ...API_ATTACKS }[name]!;
  const signal = AbortSignal.timeout(seconds * 1000);
  void attack({ ...target, signal, request: send });
  void sleep(seconds * 1000).then(() => process.exit(0));
});
process.on('disconnect', () => process.exit(0));
// What an attack leaves behind it, such as a connection that was reset.
process.on('unhandledRejection', () => {});
