import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findProgram } from '@tidegauge/lab';
import { parseFlags } from '@tidegauge/service';
import { buildImages, type Engine } from './build.ts';
import { IMAGES, type ImageName } from './images.ts';

const USAGE = `usage: npm run images [-- NAME ...]
Builds images without a registry, on a Debian root file system made here, and loads them into the engine that docker
speaks to. Prints the variables for a deploy: npm run --silent images >images.env; set -a; . ./images.env
Names: ${Object.keys(IMAGES).join(', ')}; by default all that stacks use.
`;

const run = promisify(execFile);

const engine: Engine = {
  async docker(args, { timeoutMs = 0 } = {}) {
    return (await run(await findProgram('docker', 'docker.io'), [...args], { timeout: timeoutMs })).stdout;
  },
};

async function main(): Promise<number> {
  const { values, positionals } = parseFlags({
    allowPositionals: true,
    options: { help: { type: 'boolean' } },
  });
  if (values.help === true) {
    process.stdout.write(USAGE);
    return 0;
  }
  const unknown = positionals.find((name) => !Object.hasOwn(IMAGES, name));
  if (unknown !== undefined) {
    process.stderr.write(`there is no image ${unknown}\n${USAGE}`);
    return 2;
  }
  // Before minutes of building for nobody.
  await engine.docker(['version', '--format', '{{.Server.Version}}']);
  const names = positionals.length === 0 ? stackImages() : (positionals as ImageName[]);
  for (const [name, value] of Object.entries(await buildImages(engine, names))) {
    process.stdout.write(`${name}=${value}\n`);
  }
  return 0;
}

/** Those that are not merely what others are built on. */
function stackImages(): ImageName[] {
  return (Object.keys(IMAGES) as ImageName[]).filter((name) => {
    const { variable, targets } = IMAGES[name];
    return variable !== undefined || targets !== undefined;
  });
}

try {
  process.exitCode = await main();
} catch (error) {
  const { code, message, stderr } = error as Error & { code?: unknown; stderr?: string };
  process.stderr.write(`${stderr?.trim() || message}\n`);
  process.exitCode = String(code).startsWith('ERR_PARSE_ARGS') ? 2 : 1;
}
