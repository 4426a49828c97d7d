import { startProcess } from '@tidegauge/process';
import { EXIT } from '@tidegauge/service/program';
import { PYTHON, setUpSimulator } from '../../../scripts/setup.js';

/** Runs the simulator, which is in Python and reads its arguments itself. Resolves to its exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  await setUpSimulator();
  const simulator = startProcess({
    command: PYTHON,
    args: ['-m', 'tidegauge_sim', ...argv],
    stdout: 'inherit',
    stderr: 'inherit',
    ownGroup: true,
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void simulator.stop());
  const { code, error } = await simulator.exited;
  if (error !== null) throw error;
  return code ?? EXIT.FAILED;
}
