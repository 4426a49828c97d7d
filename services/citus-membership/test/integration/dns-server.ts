import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** A DNS server for one name, on loopback. It implements as much of RFC 1035 as queries for A records need. */
export interface DnsServer {
  /** `address:port`, as `dns.setServers` takes it. */
  readonly at: string;
  /** Sets the addresses of all later responses. null: the response is SERVFAIL. */
  answer(addresses: readonly string[] | null): void;
  /** Number of queries received. */
  readonly queries: number;
  stop(): Promise<void>;
}

const SERVFAIL = 2;

export async function startDnsServer(): Promise<DnsServer> {
  const socket = createSocket('udp4');
  let addresses: readonly string[] | null = [];
  let queries = 0;
  socket.on('message', (query, { address, port }) => {
    queries += 1;
    socket.send(reply(query, addresses), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    at: `127.0.0.1:${socket.address().port}`,
    answer(next) {
      addresses = next;
    },
    get queries() {
      return queries;
    },
    async stop() {
      socket.close();
      await once(socket, 'close');
    },
  };
}

/** Copies the header and the question, then adds one A record per address, with a pointer to the question's name. */
function reply(query: Buffer, addresses: readonly string[] | null): Buffer {
  const end = query.indexOf(0, 12) + 5;
  const head = Buffer.from(query.subarray(0, end));
  head.writeUInt16BE(0x8180 | (addresses === null ? SERVFAIL : 0), 2);
  head.writeUInt16BE(addresses?.length ?? 0, 6);
  head.writeUInt32BE(0, 8);
  const records = (addresses ?? []).map((address) =>
    Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)]),
  );
  return Buffer.concat([head, ...records]);
}
