import { boolean, defineConfig, integer, list, text, url } from '@tidegauge/service';

/** Settings of direct mode, in which sensors connect to ingest itself. */
export const DIRECT_SETTINGS = defineConfig({
  listen: {
    kind: list(url('mqtt', 'mqtts')),
    help: 'Addresses for sensors, such as mqtts://0.0.0.0:8883. No broker is used then, unless BROKER is set.',
  },
  listenPasswords: {
    kind: text('a file name'),
    help: 'File of sensors and hashed passwords, which tidegauge passwords or mosquitto_passwd writes.',
  },
  listenCert: { kind: text('a file name'), help: 'PEM file of the certificate for mqtts in LISTEN.' },
  listenKey: { kind: text('a file name'), help: "PEM file of the certificate's private key." },
  listenCa: {
    kind: text('a file name'),
    help: 'PEM file of the authority of client certificates. A sensor with one logs in as its common name.',
  },
  listenAcl: {
    kind: text('a file name'),
    help: 'File of topics that sensors may write, as of mosquitto. Default: each below sensors/<its user>/.',
  },
  listenUser: { kind: text(), help: 'One user who may publish on every topic. Needs LISTEN_PASSWORD.' },
  listenPassword: { kind: text(), secret: true, help: 'Password of LISTEN_USER.' },
  listenAnonymous: {
    kind: boolean(),
    default: 'false',
    help: 'Accept sensors without a login beyond loopback, and beside those with one.',
  },
  listenMaxConnections: {
    kind: integer(1, 100_000),
    help: 'Most connections. Then the login with the most loses one for another login. Default: 500. With TLS and less than 480 MiB of memory, fewer: 256 with 256 MiB.',
  },
  listenMaxPerLogin: {
    kind: integer(1, 100_000),
    help: 'Most connections of one login, or of one address without a login. Default: half of all.',
  },
});
