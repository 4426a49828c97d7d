import { bytes, inGroup, list, text, url } from '@tidegauge/service';

/** Where readings are relayed to. */
export const RELAY_SETTINGS = inGroup('Relay', {
  relay: {
    kind: list(url('http', 'https')),
    secret: 'url',
    help: 'Relay all that is stored to the API or ingest at these URLs, such as https://centre:8080.',
  },
  relayToken: {
    kind: list(text('a key')),
    secret: true,
    help: 'The API keys for RELAY, one for each URL, with the scope write and limited to the devices of this board.',
  },
  relayMaxBytes: {
    kind: bytes(1024 * 1024, 2 ** 40),
    default: '256MiB',
    help: 'Most that waits on disk for one URL of RELAY. Days beyond it are compared later, and sent from the store.',
  },
  relayRate: {
    kind: bytes(0, 2 ** 30),
    default: '0',
    help: 'Bytes per second, on average, to one URL of RELAY. 0: no limit.',
  },
});
