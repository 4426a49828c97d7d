import type { Pipeline } from './pipeline.ts';
import type { Route } from './routes.ts';

/** Where MQTT messages come from: a broker's session, or sensors that connect to ingest. It feeds one pipeline. */
export interface MessageSource {
  /** For readiness and logs. */
  readonly name: string;
  /** Whether messages can arrive now. */
  readonly connected: boolean;
  /** Why no messages can arrive now; null when they can. */
  readonly trouble: string | null;
  /** Starts to deliver messages. Resolves when it is connected, or listens. */
  start(pipeline: Pipeline, signal: AbortSignal): Promise<void>;
  /** Stops reading messages; those that were delivered are still acknowledged. */
  pause(): void;
  resume(): void;
  /** Changes what is received to the topics of other routes. Resolves when it is in force. */
  subscribe(routes: readonly Route[]): Promise<void>;
  /** Begins a stop: no new connections. */
  stopAccepting(): void;
  /** Sends the acknowledgements of stored messages and ends. */
  close(): Promise<void>;
}
