import { once } from 'node:events';
import { createServer, request } from 'node:http';

/** The Supervisor, which sends the requests of users that Home Assistant has logged in, and tests /healthz. */
const SUPERVISOR = '172.30.32.2';
const LOOPBACK = '127.0.0.1';
const MOST_CONNECTIONS = 256;

/**
 * Serves the API, which listens on loopback, to the Supervisor. Other add-ons are in the same network, so they are
 * refused. Home Assistant shows the page in a frame.
 *
 * @param {number} port where it listens
 * @param {number} target the port of the API
 */
export async function startProxy(port, target) {
  const server = createServer((received, answer) => {
    const { method, headers, url, socket } = received;
    if (socket.remoteAddress !== SUPERVISOR && socket.remoteAddress !== LOOPBACK) {
      answer.writeHead(403).end();
      return;
    }
    const sent = request({ host: LOOPBACK, port: target, method, path: url, headers }, (response) => {
      answer.writeHead(response.statusCode, inFrame(response.headers));
      response.on('error', () => answer.destroy());
      response.pipe(answer);
    });
    // It does not listen yet, or ends.
    sent.on('error', () => (answer.headersSent ? answer.destroy() : answer.writeHead(502).end()));
    answer.on('close', () => sent.destroy());
    received.pipe(sent);
  });
  server.maxConnections = MOST_CONNECTIONS;
  server.listen(port, '0.0.0.0');
  await once(server, 'listening');
  return server;
}

function inFrame(headers) {
  const policy = headers['content-security-policy'];
  if (policy === undefined) return headers;
  const framed = policy.replace("frame-ancestors 'none'", "frame-ancestors 'self'");
  return { ...headers, 'content-security-policy': framed };
}
