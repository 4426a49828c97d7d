import { once } from 'node:events';
import * as net from 'node:net';
import type { Duplex } from 'node:stream';
import * as tls from 'node:tls';
import { MqttSessionError } from './errors.ts';
import type { Settings } from './options.ts';

const TCP_KEEP_ALIVE_MS = 30_000;
const MIN_WS_MESSAGE_BYTES = 1024 * 1024;

/**
 * Opens the byte stream to the broker. Rejects with UNREACHABLE or TLS, or with the signal's reason; then nothing is
 * left open.
 */
export async function openTransport(settings: Settings, signal: AbortSignal): Promise<Duplex> {
  signal.throwIfAborted();
  try {
    const { transport } = settings.endpoint;
    return await (transport === 'tcp' || transport === 'tls'
      ? openSocket(settings, signal)
      : openWebSocket(settings, signal));
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw transportError(settings.endpoint.label, error);
  }
}

async function openSocket(settings: Settings, signal: AbortSignal): Promise<net.Socket> {
  const { transport, host, port } = settings.endpoint;
  const address = { host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS };
  const servername = net.isIP(host) === 0 ? { servername: host } : {};
  const socket =
    transport === 'tcp' ? net.connect(address) : tls.connect({ ...servername, ...settings.tls, ...address });
  try {
    await once(socket, transport === 'tcp' ? 'connect' : 'secureConnect', { signal });
    return socket;
  } catch (error) {
    socket.on('error', ignore);
    socket.destroy();
    throw error;
  }
}

// `ws` is loaded only when WebSocket is used.
async function openWebSocket(settings: Settings, signal: AbortSignal): Promise<Duplex> {
  const { WebSocket, createWebSocketStream } = await import('ws');
  const { transport, host, port, path } = settings.endpoint;
  const authority = `${net.isIPv6(host) ? `[${host}]` : host}:${port}`;
  const socket = new WebSocket(`${transport}://${authority}${path}`, 'mqtt', {
    ...settings.tls,
    perMessageDeflate: false,
    // A WebSocket message may contain many packets or a part of one [MQTT-6.0.0-2].
    maxPayload: Math.max(MIN_WS_MESSAGE_BYTES, 2 * settings.maximumPacketSize),
  });
  try {
    await once(socket, 'open', { signal });
    return createWebSocketStream(socket);
  } catch (error) {
    socket.on('error', ignore);
    socket.terminate();
    throw error;
  }
}

function ignore(): void {}

// X.509 errors that a retry does not fix. A certificate that is not valid yet is not among them: a board without a
// clock gets the time later.
const CERTIFICATE =
  /^(CERT_(?!NOT_YET)|.*SELF_SIGNED|UNABLE_TO_|HOSTNAME_|INVALID_CA|PATH_LENGTH|ERR_TLS_|ERR_SSL_|ERR_OSSL_)/;

/** The session's error for an error of a socket, TLS or the WebSocket handshake. */
export function transportError(label: string, error: unknown): MqttSessionError {
  const { code = '', message } = error as NodeJS.ErrnoException;
  const what = message || code;
  if (CERTIFICATE.test(code) || (code === 'EPROTO' && /ssl|tls/i.test(message))) {
    return new MqttSessionError('TLS', `${label}: no TLS connection: ${what}`, {
      cause: error,
      hint: "check tls.ca, cert and key, the host name in the broker's certificate, and that the port speaks TLS",
    });
  }
  const status = /^Unexpected server response: (\d+)/.exec(message)?.[1];
  if (status?.startsWith('4')) {
    return new MqttSessionError('REFUSED', `${label} is no MQTT WebSocket: HTTP status ${status}`, {
      cause: error,
      hint: 'check the path of url',
    });
  }
  const hint =
    code === 'ECONNRESET' && /^(mqtts|wss):/.test(label) ? { hint: 'does this port speak TLS?' } : {};
  return new MqttSessionError('UNREACHABLE', `${label} cannot be reached: ${what}`, {
    cause: error,
    ...hint,
  });
}
