import type { TestContext } from 'node:test';
import {
  type InboundMessage,
  type Logger,
  MqttSession,
  type MqttSessionError,
  type MqttSessionOptions,
} from '../../src/index.ts';

type Overrides = Partial<MqttSessionOptions> & Pick<MqttSessionOptions, 'url'>;

export interface LogLine {
  readonly level: string;
  readonly object: Record<string, unknown>;
  readonly message: string;
}

export interface Recorder {
  readonly session: MqttSession;
  readonly messages: InboundMessage[];
  readonly changes: { readonly connected: boolean; readonly error: MqttSessionError | null }[];
  readonly log: LogLine[];
}

let sessions = 0;

/** Makes a session that records its messages and does not acknowledge them. It is closed when the test ends. */
export function record(t: TestContext, overrides: Overrides): Recorder {
  const messages: InboundMessage[] = [];
  const changes: Recorder['changes'] = [];
  const log: LogLine[] = [];
  const line = (level: string) => (object: object, message: string) =>
    void log.push({ level, object: object as Record<string, unknown>, message });
  const logger: Logger = {
    debug: line('debug'),
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
  };
  sessions += 1;
  const session = new MqttSession({
    clientId: `recorder-${process.pid}-${sessions}`,
    subscriptions: [{ filter: 't/#', qos: 2 }],
    reconnectMinMs: 10,
    reconnectMaxMs: 100,
    onMessage: (message) => messages.push(message),
    onConnectionChange: (connected, error) => changes.push({ connected, error }),
    logger,
    ...overrides,
  });
  t.after(() => session.close({ timeoutMs: 500 }));
  return { session, messages, changes, log };
}
