import { type ServiceProcess, startServiceProcess } from './service-process.ts';

/** Starts `services/api` with the given environment on a port of the system's choice and waits until it listens. */
export function startApiProcess(env: Readonly<Record<string, string>>): Promise<ServiceProcess> {
  return startServiceProcess('api', { HTTP_PORT: '0', ...env }, /"url":"(http:[^"]+)".*"api listens"/);
}
