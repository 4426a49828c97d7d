/** Arguments that a benchmark refuses with one line, before it starts anything. */
export interface Mistake {
  readonly bench: string;
  readonly what: string;
  readonly args: readonly string[];
  readonly line: RegExp;
}

const of = (bench: string, what: string, args: readonly string[], line: RegExp): Mistake => {
  return { bench, what, args, line };
};

/** `scripts/test/embedded/programs.test.ts` runs them in one process, with all other command lines. */
export const MISTAKES: readonly Mistake[] = [
  of('attacks', 'a misspelled attack', ['--attacks', 'handshake'], /there is no handshake.*handshakes/),
  of('direct', 'no rounds', ['--rounds', '0'], /^--rounds must be .*; got "0": .*\n$/),
  of('faults', 'a misspelled profile', ['ingest-kil'], /ingest-kill/),
  of(
    'faults',
    'a fault of a store that is no process',
    ['store-stop'],
    /store-stop is not possible with sqlite: it runs in the process of ingest/,
  ),
  of(
    'faults',
    'replicas without a broker',
    ['replicas', '--way', 'direct'],
    /replicas has 2 replicas, which need --way broker/,
  ),
  of(
    'faults',
    'a fault of a broker that there is not',
    ['broker-kill', '--way', 'direct'],
    /broker-kill needs --way broker/,
  ),
  of(
    'faults',
    'a fault of the broker with replicas',
    ['broker-kill', '--replicas', '2'],
    /broker-kill needs one replica: mosquitto before 2.0.12/,
  ),
  of(
    'faults',
    '--without for a profile',
    ['ingest-kill', '--without', 'power-cut'],
    /--without is for random/,
  ),
  of('faults', 'a store that there is not', ['ingest-kill', '--store', 'oracle'], /--store/),
  of('faults', 'a rate of nothing', ['ingest-kill', '--rate', '0'], /--rate/),
  of('headline', 'a store that there is not', ['--stores', 'oracle'], /^--stores must be .*oracle/),
  of('linearizability', '--suspend without a node', ['--suspend'], /--suspend needs --kill node/),
  of('ingest', 'a store that there is not', ['--store', 'oracle'], /^there is no store oracle: give a URL/),
  of(
    'ingest',
    'a store of another machine',
    ['--store', 'postgres://u:p@db.example/d'],
    /^db\.example is not this machine/,
  ),
  of('ingest', 'a flag that there is not', ['--round=2'], /^unknown option --round/),
  of(
    'stores',
    'a store that there is not',
    ['--stores', 'oracle'],
    /^--stores must be .*one of sqlite, json, .*; got "oracle": there is no oracle/,
  ),
  of('truths', 'a pair that is not one', ['--pair', 'sqlite,sqlite'], /^--pair needs two different stores$/m),
];
