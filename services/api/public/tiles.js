// Figures of series in buckets, read from the server in tiles: runs of buckets of one length. A tile is read once and
// kept, so that a view is drawn at once from what is there, and replaced by the buckets that fit it. Times and lengths
// are milliseconds. This module does not use the DOM.

import { isRefused } from './api.js';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/**
 * Lengths of buckets. Of whole minutes, hours or days, so that the server reads rollups for them; below a minute it
 * reads the readings.
 */
export const LEVELS = [
  ...[100, 200, 500],
  ...[1, 2, 5, 10, 20].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 20, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 4, 7, 14, 28].map((count) => count * DAY),
];
/** What is left of readings that were deleted: rollups of these periods. */
const KEPT_LEVELS = [MINUTE, HOUR, DAY];
const BUCKETS_IN_TILE = 256;
/** Tiles of one series in one request, which follow each other. */
const MOST_RUN = 4;
/**
 * Tiles of all series in one request, and requests at the same time. The server holds the buckets of an answer in
 * memory, 300 bytes each, and at most 4 MiB for a client.
 */
const MOST_TILES = 16;
const MOST_REQUESTS = 3;
/** The most buckets in the time shown: a wider window has longer buckets. */
const MOST_BUCKETS = 1500;
/** Levels finer than those of a view whose buckets are drawn until its own are there. */
const FINER_LEVELS = 2;
/** A bucket is a row of these numbers: as objects, the buckets of 20 lines need three times the memory. */
const FIELDS = ['time', 'count', 'min', 'max', 'sum'];
const WIDTH = FIELDS.length;
const [TIME, COUNT, MIN, MAX, SUM] = FIELDS.keys();
/** Memory of a tile without its buckets, bytes. */
const TILE_BYTES = 500;
/** A tile that can still change soon, and any other one, is read again after this. */
const OPEN_MS = MINUTE;
const CLOSED_MS = 10 * MINUTE;
/** Readings that arrive later than this do not change a tile before it is read again in any case. */
const LATE_MS = 5 * MINUTE;
/** After a failure, and after readings were missed. */
const SOON_MS = 3 * SECOND;
/** After a request that the server refuses. */
const REFUSED_MS = MINUTE;
/** Tiles of all series, bytes. The largest view takes half of it. */
const MOST_BYTES = 10 * 1024 * 1024;

/** The level of a view: the shortest buckets that are at least as long as a pixel. */
export function levelOf(length, pixels) {
  const least = length / Math.min(pixels, MOST_BUCKETS);
  const level = LEVELS.findIndex((bucket) => bucket >= least);
  return level === -1 ? LEVELS.length - 1 : level;
}

export class Tiles {
  #read;
  #changed;
  #failed;
  #mostBytes;
  /** Keys of the tiles of the view. */
  #view = new Set();
  /** Key -> tile, the one that was used last at the end. */
  #tiles = new Map();
  /** Requests that are being answered, `{runs, keys, controller}`. */
  #requests = new Set();
  /** Those that will be made next. */
  #waiting = [];
  /** Series -> the time before which it is not requested again, because a request failed. */
  #notBefore = new Map();
  /** Memory of all tiles, bytes. */
  bytes = 0;

  /**
   * @param read `(list of series, from, to, bucket, signal)` resolves to a list in the form of `Promise.allSettled`, with
   *   values `{buckets: [{time, count, min, max, sum}], completeFrom}`: the readings before `completeFrom` were deleted
   * @param changed called after a request of the view or one that failed, and when all requests have ended
   * @param failed called with the error of a request, or with null when it did not fail
   */
  constructor({ read, changed, failed, mostBytes = MOST_BYTES }) {
    this.#read = read;
    this.#changed = changed;
    this.#failed = failed;
    this.#mostBytes = mostBytes;
  }

  /** Whether tiles of the view are being read. */
  get isReading() {
    return [...this.#requests, ...this.#waiting].some((request) => this.#isOfView(request));
  }

  /** Whether tiles of a view are not there. */
  lacks(parts, level) {
    return [...this.#placesOf(parts, level).keys()].some((key) => !this.#tiles.has(key));
  }

  /**
   * Reads the tiles of a view that are missing or old, and then those beside it. Aborts the requests of earlier views
   * that need neither.
   *
   * @param parts the series of the view and their times, `{series, from, to}`. A series is its key
   * @param now the server's time
   * @param beside parts that are read when the view is complete
   */
  want(parts, level, now, beside = []) {
    const places = this.#placesOf(parts, level);
    const all = new Map([...places, ...this.#placesOf(beside, level)]);
    this.#view = new Set(places.keys());
    for (const request of this.#requests) {
      if (!request.keys.some((key) => all.has(key))) request.controller.abort();
    }
    this.#requests = new Set([...this.#requests].filter(({ controller }) => !controller.signal.aborted));
    this.#waiting = this.#requestsOf(places, now);
    if (!this.isReading) this.#waiting = this.#requestsOf(all, now);
    this.#requestNext(now);
  }

  #placesOf(parts, level) {
    const places = new Map();
    for (const { series, from, to } of parts) this.#collect(places, series, from, to, level);
    return places;
  }

  #isOfView({ keys }) {
    return keys.some((key) => this.#view.has(key));
  }

  /** Requests for the tiles that are missing or old, and not being read. */
  #requestsOf(places, now) {
    const requested = new Set([...this.#requests].flatMap(({ keys }) => keys));
    const due = [...places].filter(([key, place]) => !requested.has(key) && this.#isDue(key, place, now));
    return groupsOf(due.map(([, place]) => place)).map((runs) => ({
      runs,
      keys: runs.flat().map(keyOf),
      controller: new AbortController(),
    }));
  }

  /** Adds a live reading to the tiles that contain its time. */
  add(series, time, value) {
    for (const level of LEVELS.keys()) {
      const tile = this.#tiles.get(keyOf({ series, level, index: indexOf(time, level) }));
      if (tile === undefined) continue;
      const start = time - (time % LEVELS[level]);
      let at = tile.rows.length - WIDTH;
      while (at >= 0 && tile.rows[at + TIME] > start) at -= WIDTH;
      if (at < 0 || tile.rows[at + TIME] < start) {
        at += WIDTH;
        tile.rows = withRow(tile.rows, at, [start, 0, value, value, 0]);
        this.#weigh(tile);
      }
      const { rows } = tile;
      rows[at + COUNT] += 1;
      rows[at + MIN] = Math.min(rows[at + MIN], value);
      rows[at + MAX] = Math.max(rows[at + MAX], value);
      rows[at + SUM] += value;
    }
  }

  /** Readings of a series in [from, to) were changed: its tiles are read again, and answers to earlier requests not used. */
  expire(series, from, to) {
    for (const tile of this.#tiles.values())
      if (tile.series === series && tile.start < to && tile.end > from) tile.dueAt = 0;
    for (const request of this.#requests) {
      if (!request.runs.some(([place]) => place.series === series)) continue;
      request.controller.abort();
      this.#requests.delete(request);
    }
  }

  /** Live readings were missed: tiles of the present are read again soon. */
  miss(now) {
    for (const tile of this.#tiles.values()) {
      if (tile.end > now - LATE_MS) tile.dueAt = Math.min(tile.dueAt, now + SOON_MS);
    }
  }

  /**
   * What is known of a series in [from, to): `{time, end, count, min, max, mean}` by time, which do not overlap.
   * Where the tiles of the level are missing, those of finer and then of coarser levels replace them.
   */
  cover(series, from, to, level) {
    const finer = Array.from({ length: FINER_LEVELS }, (_, n) => level - 1 - n);
    const coarser = Array.from({ length: LEVELS.length - 1 - level }, (_, n) => level + 1 + n);
    const levels = [level, ...finer.filter((each) => each >= 0), ...coarser];
    return this.#cover(series, from, to, levels, []);
  }

  #cover(series, from, to, [level, ...others], covered) {
    if (level === undefined) return covered;
    for (let start = from; start < to; ) {
      const index = indexOf(start, level);
      const end = Math.min(to, (index + 1) * lengthOf(level));
      const tile = this.#find(keyOf({ series, level, index }));
      const before = covered.length;
      if (tile === undefined || tile.isIncomplete) this.#cover(series, start, end, others, covered);
      if (tile !== undefined && covered.length === before) takeBuckets(tile, level, start, end, covered);
      start = end;
    }
    return covered;
  }

  /** A tile without readings that were deleted needs the rollups that are left. */
  #collect(needed, series, from, to, level) {
    for (let start = from; start < to; ) {
      const place = { series, level, index: indexOf(start, level) };
      const end = Math.min(to, (place.index + 1) * lengthOf(level));
      needed.set(keyOf(place), place);
      const kept = LEVELS.indexOf(KEPT_LEVELS.find((bucket) => bucket > LEVELS[level]));
      if (kept !== -1 && this.#tiles.get(keyOf(place))?.isIncomplete)
        this.#collect(needed, series, start, end, kept);
      start = end;
    }
  }

  #isDue(key, { series }, now) {
    if (now < (this.#notBefore.get(series) ?? 0)) return false;
    const tile = this.#tiles.get(key);
    return tile === undefined || now >= tile.dueAt;
  }

  #requestNext(now) {
    while (this.#requests.size < MOST_REQUESTS && this.#waiting.length > 0)
      void this.#request(this.#waiting.shift(), now);
  }

  /** Reads runs of several series with the same times. */
  async #request(request, now) {
    const { runs, controller } = request;
    const { signal } = controller;
    const [{ level, index }] = runs[0];
    const [from, to] = [index * lengthOf(level), (index + runs[0].length) * lengthOf(level)];
    const series = runs.map(([place]) => place.series);
    this.#requests.add(request);
    const answers = await this.#read(series, from, to, LEVELS[level], signal);
    if (signal.aborted) return;
    let failure = null;
    for (const [n, { status, value, reason }] of answers.entries()) {
      if (status === 'fulfilled') {
        this.#notBefore.delete(series[n]);
        for (const place of runs[n]) this.#put(place, value.buckets, value.completeFrom, now);
      } else {
        failure = reason;
        this.#notBefore.set(series[n], now + (isRefused(reason) ? REFUSED_MS : SOON_MS));
      }
    }
    this.#requests.delete(request);
    this.#requestNext(now);
    this.#failed(failure);
    if (failure !== null || this.#isOfView(request) || this.#requests.size === 0) this.#changed();
  }

  #put(place, buckets, completeFrom, now) {
    const key = keyOf(place);
    const start = place.index * lengthOf(place.level);
    const end = start + lengthOf(place.level);
    this.#drop(key);
    const tile = {
      ...{ series: place.series, start, end },
      rows: rowsOf(buckets.filter(({ time }) => time >= start && time < end)),
      isIncomplete: completeFrom !== null && start < completeFrom,
      dueAt: now + (end > now - LATE_MS ? OPEN_MS : CLOSED_MS),
      bytes: 0,
    };
    this.#tiles.set(key, tile);
    this.#weigh(tile);
    for (const [oldest] of this.#tiles) {
      if (this.bytes <= this.#mostBytes || oldest === key) return;
      this.#drop(oldest);
    }
  }

  #weigh(tile) {
    const bytes = TILE_BYTES + tile.rows.byteLength;
    this.bytes += bytes - tile.bytes;
    tile.bytes = bytes;
  }

  #drop(key) {
    this.bytes -= this.#tiles.get(key)?.bytes ?? 0;
    this.#tiles.delete(key);
  }

  #find(key) {
    const tile = this.#tiles.get(key);
    if (tile === undefined) return undefined;
    this.#tiles.delete(key);
    this.#tiles.set(key, tile);
    return tile;
  }
}

/** The rows of buckets. A sum beyond the largest double is null, and NaN in a row. */
function rowsOf(buckets) {
  const rows = new Float64Array(buckets.length * WIDTH);
  for (const [n, bucket] of buckets.entries()) {
    for (const [field, name] of FIELDS.entries()) rows[n * WIDTH + field] = bucket[name] ?? Number.NaN;
  }
  return rows;
}

function withRow(rows, at, row) {
  const longer = new Float64Array(rows.length + WIDTH);
  longer.set(rows.subarray(0, at));
  longer.set(row, at);
  longer.set(rows.subarray(at), at + WIDTH);
  return longer;
}

/** Adds the buckets of a tile in [from, to). The parts of one bucket that is in several such spans become one again. */
function takeBuckets({ rows }, level, from, to, covered) {
  for (let at = 0; at < rows.length; at += WIDTH) {
    const time = rows[at + TIME];
    const end = time + LEVELS[level];
    if (end <= from || time >= to) continue;
    const last = covered.at(-1);
    if (last?.level === level && last.start === time && last.end === from) {
      last.end = Math.min(end, to);
      continue;
    }
    const sum = rows[at + SUM];
    covered.push({
      level,
      start: time,
      time: Math.max(time, from),
      end: Math.min(end, to),
      count: rows[at + COUNT],
      min: rows[at + MIN],
      max: rows[at + MAX],
      mean: Number.isNaN(sum) ? null : sum / rows[at + COUNT],
    });
  }
}

/** Runs of tiles that follow each other, in groups of those that one request can read. */
function groupsOf(places) {
  const runs = [];
  for (const place of places) {
    const run = runs.at(-1);
    if (run !== undefined && run.length < MOST_RUN && follows(run.at(-1), place)) run.push(place);
    else runs.push([place]);
  }
  const groups = new Map();
  for (const run of runs) {
    const [{ level, index }] = run;
    const name = `${level} ${index} ${run.length}`;
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(run);
  }
  return [...groups.values()].flatMap((group) => {
    const size = Math.floor(MOST_TILES / group[0].length);
    const parts = Math.ceil(group.length / size);
    return Array.from({ length: parts }, (_, part) => group.slice(part * size, (part + 1) * size));
  });
}

function follows(before, after) {
  const { series, level, index } = before;
  return after.series === series && after.level === level && after.index === index + 1;
}

function keyOf({ series, level, index }) {
  return `${series} ${level} ${index}`;
}

/** The tile of a level that contains a time. */
function indexOf(time, level) {
  return Math.floor(time / lengthOf(level));
}

function lengthOf(level) {
  return LEVELS[level] * BUCKETS_IN_TILE;
}
