export type { ClientHandle } from './client.ts';
export type { ConnectRequest } from './connect.ts';
export {
  type ClientConnection,
  DEFAULT_LIMITS,
  END_REASONS,
  type EndReason,
  type LoginProblem,
  type Peer,
  type Receipt,
  type ServerHandlers,
  type ServerLimits,
  type User,
} from './options.ts';
export { type Listener, SensorServer } from './sensor-server.ts';
