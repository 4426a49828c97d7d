import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { InboundMessage } from '../../src/publish.ts';
import {
  type ClientConnection,
  type ConnectRequest,
  type LoginProblem,
  type Peer,
  SensorServer,
  type ServerLimits,
  type User,
} from '../../src/server/index.ts';

/** A user who may publish below sensors/. */
export const ANYONE: User = { name: null, mayPublish: (topic) => topic.startsWith('sensors/') };

/** A server that keeps messages until the test acknowledges them, or acknowledges at once. */
export async function serve(
  context: TestContext,
  {
    limits = {},
    isAutomatic = false,
    user = async () => ANYONE,
    clientOf = (address) => address,
    onMessage = () => {},
    onWill = () => {},
  }: {
    limits?: Partial<ServerLimits>;
    isAutomatic?: boolean;
    user?: (request: ConnectRequest, peer: Peer, signal: AbortSignal) => Promise<User | LoginProblem>;
    clientOf?: (address: string) => string;
    /** Called for each message. */
    onMessage?: () => void;
    /** Called with the client of each will. */
    onWill?: (client: string) => void;
  } = {},
) {
  const messages: { message: InboundMessage; connection: ClientConnection }[] = [];
  const refused: string[] = [];
  const wills: string[] = [];
  const take = (message: InboundMessage, connection: ClientConnection) => {
    messages.push({ message, connection });
    onMessage();
    if (isAutomatic) connection.acknowledge(message);
  };
  const server = new SensorServer(
    {
      authenticate: user,
      onMessage: take,
      onUndecodable: take,
      onWill: ({ topic, payload }, { name }, settled) => {
        wills.push(`${topic} ${payload}`);
        onWill(name);
        settled();
      },
      onRefused: ({ reason }) => void refused.push(reason),
    },
    limits,
    clientOf,
  );
  const { port } = await server.listen({ host: '127.0.0.1', port: 0, tls: null });
  context.after(() => server.close());
  const acknowledge = (...indexes: readonly number[]) => {
    for (const index of indexes) messages[index]!.connection.acknowledge(messages[index]!.message);
  };
  const received = async (count: number) => {
    for (let i = 0; messages.length < count && i < 500; i++) await sleep(10);
    assert.equal(messages.length, count);
  };
  return { server, port, messages, refused, wills, acknowledge, received };
}
