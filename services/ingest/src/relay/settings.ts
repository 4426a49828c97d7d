import { bytes, defineConfig, list, text, url } from '@tidegauge/service';

/** Where readings are relayed to. */
export const RELAY_SETTINGS = defineConfig({
  relay: {
    kind: list(url('http', 'https')),
    secret: 'url',
    help: 'Relay all that is stored to the API or the ingest process at these URLs, such as https://centre:8080. Default: none.',
  },
  relayToken: {
    kind: list(text('a key')),
    secret: true,
    help: 'The API keys for RELAY, one for each URL, in the same order. They need the scope write, and should be limited to the devices of this board.',
  },
  relayMaxBytes: {
    kind: bytes(1024 * 1024, 2 ** 40),
    default: '256MiB',
    help: 'Largest size of what waits on disk for one URL of RELAY. Beyond it, the oldest readings are dropped there, and their days are compared with the centre and sent again from the store.',
  },
  relayRate: {
    kind: bytes(0, 2 ** 30),
    default: '0',
    help: 'Bytes per second that are sent to one URL of RELAY on average. 0: no limit.',
  },
});
