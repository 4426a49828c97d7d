import { boolean, bytes, defineConfig, duration, integer, list, text, url } from '@tidegauge/service';

/** Settings of direct mode, in which sensors connect to ingest itself. */
export const DIRECT_SETTINGS = defineConfig({
  listen: {
    kind: list(url('mqtt', 'mqtts')),
    help: 'Accept connections of sensors at these addresses, such as mqtts://0.0.0.0:8883. A sensor then receives its acknowledgement when its message is stored. No broker is used, unless BROKER is set.',
  },
  listenCert: {
    kind: text('a file name'),
    help: 'PEM file of the certificate for mqtts in LISTEN. A renewed file is used without a restart.',
  },
  listenKey: { kind: text('a file name'), help: "PEM file of the certificate's private key." },
  listenCa: {
    kind: text('a file name'),
    help: 'PEM file of the authority of client certificates. A sensor with one logs in as its common name (CN), without a password.',
  },
  listenPasswords: {
    kind: text('a file name'),
    help: 'File of sensors and hashed passwords, which tidegauge passwords or mosquitto_passwd writes. A change is used within a second.',
  },
  listenAcl: {
    kind: text('a file name'),
    help: "File of topics that sensors may write, in mosquitto's format. A change is used within a second. Default: a sensor may publish below sensors/<its user name>/.",
  },
  listenUser: {
    kind: text(),
    help: 'One user who may publish on every topic, for a single board. Needs LISTEN_PASSWORD.',
  },
  listenPassword: { kind: text(), secret: true, help: 'The password of LISTEN_USER.' },
  listenAnonymous: {
    kind: boolean(),
    default: 'false',
    help: 'Accept sensors without a login beyond loopback, and beside those with a login. They may publish on every topic, unless LISTEN_ACL limits them.',
  },
  listenMaxConnections: {
    kind: integer(1, 100_000),
    // With TLS each takes 60 KiB, and up to 100 KiB more under load: 500 fit the 192 MiB of a board with 1 GB.
    default: '500',
    help: 'Connections of sensors with a login at most. Then the login with the most loses one for another login.',
  },
  listenMaxPerLogin: {
    kind: integer(1, 100_000),
    default: '250',
    help: 'Connections of one login at most; without a login, of one address (of IPv6, its first 64 bits).',
  },
  listenConnectTimeout: {
    kind: duration(0.1, 600),
    default: '10s',
    help: 'Time for the TLS handshake and CONNECT of a new connection.',
  },
  listenInFlight: {
    kind: integer(1, 65_535),
    default: '1000',
    help: 'Messages of a connection that are not acknowledged at most (MQTT 5: Receive Maximum). Further ones are not read.',
  },
  listenInFlightBytes: {
    kind: bytes(1024, 2 ** 30),
    default: '1MiB',
    help: 'Size of the messages of a connection that are not acknowledged. Further ones are not read. MAX_IN_FLIGHT_BYTES limits all connections together.',
  },
  listenPartialBytes: {
    kind: bytes(65_536, 2 ** 31),
    default: '8MiB',
    help: 'Size of all packets that have arrived in part. Beyond it, a connection of the client with the most of them is closed.',
  },
  listenSessionExpiry: {
    kind: duration(0, 604_800),
    default: '1d',
    help: 'How long the session of a sensor is kept in memory after its connection. It has the numbers of QoS 2 messages only.',
  },
});
