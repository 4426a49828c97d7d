import { type ServiceOptions, type ServiceProcess, startServiceProcess } from './service-process.ts';

/** A load test is one client that opens a connection per thread. */
const LIMITS = { MAX_CONNECTIONS: '20000', MAX_CLIENT_CONNECTIONS: '20000' };

/** Starts `services/api` with the given environment on a free port and waits until it listens. */
export function startApiProcess(
  env: Readonly<Record<string, string>>,
  options?: ServiceOptions,
): Promise<ServiceProcess> {
  const ready = /"url":"(http:[^"]+)".*"api listens"/;
  return startServiceProcess('api', { HTTP_PORT: '0', ...LIMITS, ...env }, ready, options);
}
