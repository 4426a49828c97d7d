import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seeded } from '@tidegauge/workload';
import { AckDemand, HOLD } from '../../src/ack-demand.ts';

/**
 * A sender and ingest in simulated time. Ingest commits all messages that wait 1 ms after the sender may be waiting, and
 * else at the end of the hold.
 */
class Simulation {
  now = 0;
  commits = 0;
  /** The time from the arrival of each message to its commit, milliseconds. */
  readonly waits: number[] = [];
  readonly #demand = new AckDemand(() => this.now);
  #waiting: number[] = [];
  #due = Number.POSITIVE_INFINITY;

  get inFlight(): number {
    return this.#waiting.length;
  }

  /** A message arrives now. */
  send(): void {
    const isAwaited = this.#demand.arrived(this.now);
    if (this.#waiting.length === 0) this.#due = this.now + HOLD.ms;
    this.#waiting.push(this.now);
    if (isAwaited) this.#due = Math.min(this.#due, this.now + 1);
  }

  /** Time passes, with the commits in it. */
  runTo(time: number): void {
    if (this.#due <= time) {
      this.now = this.#due;
      this.#commit();
    }
    this.now = time;
  }

  /** Time passes up to the commit of the messages that wait. */
  runToCommit(): void {
    this.now = this.#due;
    this.#commit();
  }

  #commit(): void {
    for (const arrived of this.#waiting) {
      this.#demand.settled();
      this.waits.push(this.now - arrived);
    }
    this.#waiting = [];
    this.#due = Number.POSITIVE_INFINITY;
    this.commits++;
  }
}

/** Publishes every `everyMs` for a time, whatever is acknowledged. */
function periodic(simulation: Simulation, everyMs: number, seconds: number): void {
  const end = simulation.now + seconds * 1000;
  for (let next = simulation.now; next < end; next += everyMs) {
    simulation.runTo(next);
    simulation.send();
  }
}

/** Publishes as long as fewer than `window` messages are in flight, `roundTripMs` after each acknowledgement. */
function waiting(simulation: Simulation, window: number, roundTripMs: number, seconds: number): void {
  const end = simulation.now + seconds * 1000;
  while (simulation.now < end) {
    while (simulation.inFlight < window) simulation.send();
    simulation.runToCommit();
    simulation.now += roundTripMs;
  }
}

test('the first message of a connection is not held', () => {
  assert.equal(new AckDemand().arrived(performance.now()), true);
});

for (const everyMs of [5, 10, 20, 32, 50, 67, 100, 105, 130, 170, 200, 1000]) {
  test(`a message every ${everyMs} ms is held, and shares its commit`, () => {
    const simulation = new Simulation();
    periodic(simulation, everyMs, 11);
    const before = simulation.commits;
    periodic(simulation, everyMs, 600);
    const commits = simulation.commits - before;
    const least = 600_000 / Math.max(everyMs, HOLD.ms);
    assert.ok(commits <= 1.1 * least, `${commits} commits, ${least} are possible`);
    assert.ok(Math.max(...simulation.waits) <= HOLD.ms);
  });
}

for (const [window, roundTripMs] of [
  [1, 0.2],
  [1, 5],
  [1, 40],
  [20, 0.5],
  [1000, 2],
] as const) {
  test(`a sender that waits at ${window} in flight, ${roundTripMs} ms away, is held once in ten seconds`, () => {
    const simulation = new Simulation();
    waiting(simulation, window, roundTripMs, 60);
    // Sums of times are not exact.
    const held = simulation.waits.filter((wait) => wait > 1.5);
    assert.ok(held.length > 0 && held.length <= 6 * window, `${held.length} messages were held`);
  });
}

test('a sensor that begins to wait is found within two seconds, and one that stops waiting within ten', () => {
  const simulation = new Simulation();
  periodic(simulation, 1000, 20);
  simulation.runTo(simulation.now + HOLD.ms);
  waiting(simulation, 1, 5, 2);
  simulation.waits.length = 0;
  waiting(simulation, 1, 5, 5);
  assert.ok(Math.max(...simulation.waits) < 1.5);
  periodic(simulation, 20, 11);
  const before = simulation.commits;
  periodic(simulation, 20, 10);
  assert.ok(simulation.commits - before <= 55, `${simulation.commits - before} commits`);
});

test('a broker whose limit falls is found at its new limit', () => {
  const simulation = new Simulation();
  waiting(simulation, 20, 1, 15);
  waiting(simulation, 4, 1, 1);
  simulation.waits.length = 0;
  waiting(simulation, 4, 1, 3);
  assert.ok(Math.max(...simulation.waits) < 1.5);
});

test('messages that are settled at once, such as those of ignored topics, hide no wait for the others', () => {
  let now = 0;
  const demand = new AckDemand(() => now);
  let held = 0;
  while (now < 60_000) {
    // Two messages, the second of which is not stored. The sender waits for both.
    const isAwaited = demand.arrived(now);
    const isAwaitedThen = demand.arrived(now);
    demand.settled();
    const wait = isAwaited || isAwaitedThen ? 1 : HOLD.ms;
    if (wait > 1) held++;
    now += wait;
    demand.settled();
    now += 2;
  }
  assert.ok(held <= 12, `${held} of the pairs were held`);
});

test('of the messages of a sender that waits at 20 in flight, only the last one is awaited', () => {
  let now = 0;
  const demand = new AckDemand(() => now);
  for (let round = 0; round < 50; round++) {
    const awaited = Array.from({ length: 20 }, () => demand.arrived(now));
    now += awaited.includes(true) ? 30 : HOLD.ms;
    for (let message = 0; message < 20; message++) demand.settled();
    now += 1;
    if (round >= 10) assert.deepEqual([awaited.indexOf(true), round], [19, round]);
  }
});

test('a sensor with a schedule between 110 and 250 ms is rarely taken for one that waits', () => {
  const random = seeded(1);
  const simulation = new Simulation();
  for (let next = 0; next < 600_000; next += 110 + 140 * random.double()) {
    simulation.runTo(next);
    simulation.send();
  }
  assert.ok(simulation.commits <= 2500, `${simulation.commits} commits`);
});
