import { BrokerSource, brokerOf } from '../broker-source.ts';
import { DirectSource } from '../direct/direct-source.ts';
import type { MessageSource } from '../message-source.ts';
import type { Files } from './files.ts';
import type { Start } from './start.ts';

export type Sources = ReturnType<typeof openSources>;

/** The sources of messages. None is started. @throws {ConfigError} when the settings of one cannot be used */
export function openSources({ config, logger }: Start, { router }: Files) {
  const own = logger.child({ component: 'mqtt' });
  const brokerUrl = brokerOf(config);
  const broker = brokerUrl === null ? null : new BrokerSource(config, brokerUrl, router.routes, own);
  const takes = (topic: string) => router.resolve(topic).route !== null;
  const direct = config.listen === null ? null : new DirectSource(config, takes, own);
  const all: readonly MessageSource[] = [direct, broker].filter((source) => source !== null);
  return { broker, direct, all, isConnected: () => all.every(({ connected }) => connected) };
}
