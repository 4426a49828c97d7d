import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findProgram } from '@tidegauge/lab';
import { defineCommand, EXIT, oneOf, repeated, run } from '@tidegauge/service/program';
import { buildImages, type Engine } from './build.ts';
import { IMAGES, type ImageName } from './images.ts';

const NAMES = Object.keys(IMAGES) as ImageName[];

export const program = defineCommand({
  name: 'npm run images',
  summary:
    'Builds images without a registry, from a Debian root file system that it makes on this machine, and loads them ' +
    'into the Docker engine of the docker command.',
  details: 'It prints the variables for a deployment.',
  examples: [
    'npm run --silent images > images.env; set -a; . ./images.env',
    'npm run images -- node mosquitto',
  ],
  settings: {
    names: {
      kind: repeated(oneOf(NAMES)),
      positional: true,
      help: 'The images to build. Default: all that the stacks use.',
    },
  },
  async run({ names }) {
    // The build takes minutes. An engine that is unavailable must be reported before.
    await engine.docker(['version', '--format', '{{.Server.Version}}']);
    for (const [name, value] of Object.entries(await buildImages(engine, names ?? stackImages()))) {
      process.stdout.write(`${name}=${value}\n`);
    }
    return EXIT.OK;
  },
});

const execute = promisify(execFile);

const engine: Engine = {
  async docker(args, { timeoutMs = 0 } = {}) {
    const docker = await findProgram('docker', 'docker.io');
    try {
      return (await execute(docker, [...args], { timeout: timeoutMs })).stdout;
    } catch (error) {
      const { stderr = '', message } = error as Error & { readonly stderr?: string };
      throw new Error(stderr.trim() || message);
    }
  },
};

/** The images that stacks run; the others are only their bases. */
function stackImages(): ImageName[] {
  return NAMES.filter((name) => {
    const { variable, targets } = IMAGES[name];
    return variable !== undefined || targets !== undefined;
  });
}

if (import.meta.main) process.exitCode = await run(program);
