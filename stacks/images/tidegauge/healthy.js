// Exits with 0 when the service in this container answers; the image has no curl.
import { get } from 'node:http';

const port = process.env.HTTP_PORT ?? process.env.METRICS_PORT;
const request = get({ port, path: '/healthz', timeout: 4000 }, ({ statusCode }) => {
  process.exit(statusCode === 200 ? 0 : 1);
});
request.on('timeout', () => request.destroy(new Error('no answer within 4 s')));
request.on('error', ({ message }) => {
  process.stderr.write(`/healthz on port ${port}: ${message}\n`);
  process.exitCode = 1;
});
