export { MqttSessionError, SESSION_ERROR_CODES, type SessionErrorCode } from './errors.ts';
export type { Logger, MqttSessionOptions } from './options.ts';
export type {
  Acknowledgeable,
  InboundMessage,
  PublishProperties,
  QoS,
  UndecodableMessage,
  UndecodableReason,
} from './publish.ts';
export { MqttSession, type SessionStats } from './session.ts';
export type { Subscription } from './subscriptions.ts';
