export { AccessDesk, SharedAccess } from './access-desk.ts';
export { Channel } from './channel.ts';
export { ConnectionDesk, sharedConnections } from './connection-desk.ts';
export { MetricsDesk, shareMetrics } from './metrics-desk.ts';
export { type Desk, Supervisor, type WorkerLink } from './supervisor.ts';
export { channelToParent, releaseParent } from './worker.ts';
