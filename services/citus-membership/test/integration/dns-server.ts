import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** A real DNS server for one name, on loopback: enough of RFC 1035 to answer questions for A records. */
export interface DnsServer {
  /** `address:port`, as `dns.setServers` takes it. */
  readonly at: string;
  /** What it answers from now on; null says SERVFAIL. */
  answer(addresses: readonly string[] | null): void;
  /** Questions it was asked. */
  readonly asked: number;
  stop(): Promise<void>;
}

const SERVFAIL = 2;

export async function startDnsServer(): Promise<DnsServer> {
  const socket = createSocket('udp4');
  let addresses: readonly string[] | null = [];
  let asked = 0;
  socket.on('message', (query, { address, port }) => {
    asked += 1;
    socket.send(reply(query, addresses), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    at: `127.0.0.1:${socket.address().port}`,
    answer(next) {
      addresses = next;
    },
    get asked() {
      return asked;
    },
    async stop() {
      socket.close();
      await once(socket, 'close');
    },
  };
}

/** Header and question as they came, then a record for each address that points back at the question's name. */
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
