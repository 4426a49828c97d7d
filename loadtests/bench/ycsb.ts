import { runYcsb, type YcsbPhase } from '../src/drivers/run-ycsb.ts';

const USAGE = `npm run ycsb -- load|run ARGUMENTS

YCSB's own client (site.ycsb.Client 0.17.0) through Tidegauge's HTTP API. Arguments are YCSB's:
  -P FILE          a property file, such as packages/workload/workloads/workloada
  -p NAME=VALUE    a property; tidegauge.url is the URL of the API (http://127.0.0.1:8080)
  -threads N, -target N, -s
The API's token, where it has one, comes from API_TOKEN. Exits with 1 when an operation failed, or
none was done.
`;

const [phase, ...args] = process.argv.slice(2);
if (phase === '--help' || phase === '-h') {
  process.stdout.write(USAGE);
} else if (phase !== 'load' && phase !== 'run') {
  process.stderr.write(`the first argument is load or run\n\n${USAGE}`);
  process.exitCode = 2;
} else {
  process.exitCode = await main(phase);
}

async function main(asked: YcsbPhase): Promise<number> {
  const token = process.env.API_TOKEN;
  const { exitCode, operations } = await runYcsb({
    phase: asked,
    args,
    ...(token === undefined ? {} : { token }),
    output: (text) => process.stdout.write(text),
  });
  // YCSB itself ends with 0 whatever came of them.
  const returns = Object.values(operations).flatMap((operation) => Object.keys(operation.returns));
  const fine = returns.length > 0 && returns.every((name) => name === 'OK');
  return exitCode === 0 && !fine ? 1 : exitCode;
}
