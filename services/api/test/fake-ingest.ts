import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type AlertDocument,
  type AlertReceiverDocument,
  type AlertsDocument,
  type CauseDocument,
  type CausesDocument,
  type DeliveryDocument,
  type EntryChangedDocument,
  type ExplainDocument,
  formatTime,
  type LedgerDocument,
  type LiveLine,
  type MissingDocument,
  type MqttAddressDocument,
  now,
  type PasswordsDocument,
  type QuarantineDocument,
  type QuarantineStepDocument,
  type Reading,
  type RetentionDocument,
  type RetentionPreviewDocument,
  type RouteAddedDocument,
  type Stage,
  toReadingDocument,
} from '@tidegauge/readings';
import type { Store } from '@tidegauge/storage';

type Item = QuarantineDocument & { readonly payload: string };

/**
 * Serves the parts of ingest's HTTP interface that the API uses, over the same store: a ledger, a quarantine and a live
 * feed that a test controls. Other tests run the real ingest end to end.
 */
export class FakeIngest {
  readonly instance: string;
  readonly quarantine: Item[] = [];
  readonly delivered: { url: string; contentType: string; body: Buffer }[] = [];
  readonly counts = {
    received: 0,
    stored: 0,
    duplicate: 0,
    filtered: 0,
    quarantined: 0,
    spooled: 0,
    inFlight: 0,
  };
  /** Called for each request; true when it has been answered. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  gaps: LedgerDocument['gaps'] = {
    devices: 0,
    missing: 0,
    duplicates: 0,
    givenUp: 0,
    unjudged: 0,
    list: [],
    truncated: false,
  };
  /** Missing readings of all devices. */
  missing: MissingDocument = { missing: [], truncated: false };
  connected = true;
  /** Where sensors publish. */
  addresses: readonly MqttAddressDocument[] = [];
  /** Whether a quarantined message can be stored when it is replayed. */
  isCured: (item: QuarantineDocument) => boolean = () => false;
  /** The answer to `POST /explain`, and the bodies of the requests. */
  explanation: ExplainDocument = {
    topic: 'sensors/a/m',
    route: { name: 'default', topic: 'sensors/{device+}/{metric}', format: 'auto' },
    device: 'a',
    metric: 'm',
    total: 0,
    readings: [],
    ignored: [],
  };
  readonly explained: unknown[] = [];
  /** Routes that were added. */
  readonly routes: unknown[] = [];
  causes: readonly CauseDocument[] = [];
  /** Alerts in their order; null without a file of rules. */
  alerts: readonly AlertDocument[] | null = null;
  isEvaluating = true;
  /** Entries of the files of alerts, by name, and the receivers that got a test message. */
  readonly entries = { rules: new Map<string, object>(), receivers: new Map<string, object>() };
  readonly tested: string[] = [];
  /** The rules of retention, and the number of readings that a dry run counts. */
  retention: RetentionDocument['rules'] = [];
  deletable = 0;
  /** Passwords of sensors by login; null without a file. */
  passwords: Map<string, string> | null = new Map();
  /** Largest number of messages in one step of a bulk change. */
  stepItems = 1000;
  stageSeconds = 60;
  /** Readings that retention deleted. */
  deleted = 0;
  writtenBytes: number | null = 4096;
  /** Why readings cannot be stored. */
  trouble: string | null = null;
  /** Median and tail of a stage, seconds, in place of the usual ones. */
  stages: Partial<Record<Stage, readonly [p50: number | null, p99: number | null]>> = {};
  readonly #store: Store;
  readonly #listeners = new Set<ServerResponse>();
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  #lines = 0;

  private constructor(store: Store, instance: string) {
    this.#store = store;
    this.instance = instance;
  }

  static async start(store: Store, instance = 'ingest-1', port = 0): Promise<FakeIngest> {
    const fake = new FakeIngest(store, instance);
    await new Promise<void>((resolve) => fake.#server.listen(port, '127.0.0.1', resolve));
    return fake;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Number of open live connections of the API. */
  get listeners(): number {
    return this.#listeners.size;
  }

  /** Stores readings like ingest, counts them, and sends them to the live connections. */
  async commit(readings: readonly Reading[]): Promise<void> {
    const { stored, duplicate } = await this.#store.readings.write(readings);
    await this.#store.devices.register([...new Set(readings.map((reading) => reading.device))]);
    this.counts.received += readings.length;
    this.counts.stored += stored;
    this.counts.duplicate += duplicate;
    this.say({ id: `${this.#lines++}`, readings: readings.map(toReadingDocument) });
  }

  /** Puts a message into quarantine. */
  refuse(topic: string, reason: string, detail: string, payload: string): void {
    this.counts.received += 1;
    this.counts.quarantined += 1;
    const bytes = Buffer.from(payload);
    this.quarantine.unshift({
      id: `${this.instance}.${this.counts.quarantined}`,
      received: formatTime(now()),
      source: 'mqtt',
      topic,
      reason,
      detail,
      position: null,
      size: bytes.length,
      readings: 1,
      payload: bytes.toString('base64'),
    });
  }

  /** Sends a line of the live feed. */
  say(line: LiveLine): void {
    for (const listener of this.#listeners) listener.write(`${JSON.stringify(line)}\n`);
  }

  /** Like `say`, but only to connections that have read all previous lines, as ingest does. */
  offer(line: LiveLine): void {
    const text = `${JSON.stringify(line)}\n`;
    for (const listener of this.#listeners) if (!listener.writableNeedDrain) listener.write(text);
  }

  /** Ends the live connections, as a restart would. */
  cut(): void {
    for (const listener of this.#listeners) listener.destroy();
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.intercept(request, response)) return;
    const { pathname, searchParams } = new URL(request.url!, 'http://ingest');
    const [, area, id, verb, last] = pathname.split('/').map(decodeURIComponent);
    if (area === 'live') this.#listen(response);
    else if (area === 'ledger') json(response, 200, id === 'missing' ? this.missing : this.#ledger());
    else if (area === 'alerts' && id === undefined) json(response, 200, this.#alerts(searchParams));
    else if (area === 'alerts') await this.#entries(request, response, id!, verb, last);
    else if (area === 'retention') await this.#answerRetention(request, response, id);
    else if (area === 'passwords') await this.#answerPasswords(request, response, searchParams);
    else if (area === 'readings') await this.#receive(request, response, searchParams);
    else if (area === 'explain') {
      this.explained.push(await bodyOf(request));
      json(response, 200, this.explanation);
    } else if (area === 'routes') await this.#addRoute(request, response);
    else if (area === 'relay') json(response, 200, {});
    else if (id === undefined) this.#list(response, searchParams);
    else if (id === 'causes') json(response, 200, this.#causes());
    else if (request.method === 'POST' && verb === undefined) this.#step(response, id, searchParams);
    else this.#item(response, request.method!, id, verb);
  }

  async #entries(
    request: IncomingMessage,
    response: ServerResponse,
    list: string,
    name: string | undefined,
    verb: string | undefined,
  ): Promise<void> {
    const known = list === 'rules' ? this.entries.rules : this.entries.receivers;
    const { instance } = this;
    if (name === undefined) {
      const all = [...known].map(([each, entry]) =>
        list === 'rules' ? { name: each, severity: 'warning', ...entry } : receiverOf(each, entry),
      );
      json(response, 200, { instance, trouble: null, [list]: all });
    } else if (request.method === 'PUT') {
      const replaced = known.has(name);
      known.set(name, (await bodyOf(request)) as object);
      json(response, 200, { instance, replaced } satisfies EntryChangedDocument);
    } else if (!known.has(name)) {
      const detail = `There is no ${name}.`;
      json(response, 404, { type: 'about:blank', title: 'Not found', status: 404, detail });
    } else if (verb === 'test') {
      this.tested.push(name);
      response.writeHead(204).end();
    } else {
      known.delete(name);
      json(response, 200, { instance, replaced: true } satisfies EntryChangedDocument);
    }
  }

  async #answerRetention(
    request: IncomingMessage,
    response: ServerResponse,
    verb: string | undefined,
  ): Promise<void> {
    const { instance } = this;
    const sent = (request.method === 'GET' ? {} : await bodyOf(request)) as {
      readonly rules?: RetentionDocument['rules'];
      readonly before?: RetentionDocument['rules'];
    };
    const { rules = this.retention, before = this.retention } = sent;
    if (verb === 'preview') {
      const none = { before: null, readings: 0, series: 0, oldest: null, newest: null };
      const counted = rules.map(({ keep }) => ({ ...none, rule: keep, readings: this.deletable, series: 1 }));
      const all = { ...none, rule: 'all other series' };
      const document = { instance, rules: [...counted, all], isComplete: true };
      return json(response, 200, document satisfies RetentionPreviewDocument);
    }
    if (JSON.stringify(before) !== JSON.stringify(this.retention)) {
      const detail = 'The rules were changed in the meantime: read them again.';
      return json(response, 409, { type: 'about:blank', title: 'Rules changed', status: 409, detail });
    }
    this.retention = rules;
    const limits = { maxBytes: 0, minFreeBytes: 0, everySeconds: 3600 };
    const document = { instance, rules, others: 'raw:forever', trouble: null, ...limits, last: null };
    json(response, 200, document satisfies RetentionDocument);
  }

  async #answerPasswords(
    request: IncomingMessage,
    response: ServerResponse,
    search: URLSearchParams,
  ): Promise<void> {
    const { instance, passwords } = this;
    const fail = (status: number, title: string) =>
      json(response, status, { type: 'about:blank', title, status, detail: `${title}.` });
    if (passwords === null) return fail(409, 'No file of passwords');
    if (request.method === 'GET') {
      const users = [...passwords.keys()];
      return json(response, 200, { instance, users, total: users.length } satisfies PasswordsDocument);
    }
    if (request.method === 'DELETE') {
      if (!passwords.delete(search.get('user')!)) return fail(404, 'Not found');
      return json(response, 200, { instance, replaced: true } satisfies EntryChangedDocument);
    }
    const { user, password, replace } = (await bodyOf(request)) as {
      readonly user: string;
      readonly password: string;
      readonly replace: boolean;
    };
    const replaced = passwords.has(user);
    if (replaced && !replace) return fail(409, 'Login exists');
    passwords.set(user, password);
    json(response, 200, { instance, replaced } satisfies EntryChangedDocument);
  }

  /** Selects by device only. The position of a page is the number of alerts before it. */
  #alerts(search: URLSearchParams): AlertsDocument {
    const prefix = search.get('device');
    const isListed = ({ device }: AlertDocument) =>
      prefix === null || device === prefix || device.startsWith(`${prefix}/`);
    const all = (this.alerts ?? []).filter(isListed);
    const first = Number(search.get('after') ?? 0);
    const end = first + Number(search.get('limit'));
    const count = (severity: string) =>
      all.filter((alert) => alert.state === 'active' && alert.severity === severity).length;
    return {
      instance: this.instance,
      configured: this.alerts !== null,
      evaluating: this.alerts !== null && this.isEvaluating,
      rules: this.alerts === null ? 0 : 1,
      active: { info: count('info'), warning: count('warning'), critical: count('critical') },
      alerts: all.slice(first, end),
      next: end < all.length ? String(end) : null,
    };
  }

  #causes(): CausesDocument {
    const { instance, causes } = this;
    const messages = causes.reduce((sum, { count }) => sum + count, 0);
    return { instance, causes, messages, total: messages, unlisted: 0 };
  }

  async #addRoute(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.routes.push(await bodyOf(request));
    json(response, 200, { instance: this.instance, added: true, topics: [] } satisfies RouteAddedDocument);
  }

  #listen(response: ServerResponse): void {
    response.writeHead(200, { 'Content-Type': 'application/x-ndjson' });
    response.write('\n');
    this.#listeners.add(response);
    response.on('close', () => this.#listeners.delete(response));
  }

  #ledger(): LedgerDocument {
    const { received, stored, duplicate, filtered, quarantined, spooled, inFlight } = this.counts;
    const stage = (name: Stage, usual: readonly [number | null, number | null]) => {
      const [p50, p99] = this.stages[name] ?? usual;
      return { count: stored, p50: stored ? p50 : null, p99: stored ? p99 : null };
    };
    return {
      instance: this.instance,
      since: '2026-11-21T08:00:00.000000Z',
      backend: this.#store.name,
      readings: { received, stored, duplicate, filtered, quarantined, spooled, inFlight },
      balanced: received === stored + duplicate + filtered + quarantined + spooled + inFlight,
      trouble: this.trouble,
      messages: { received, retainedSkipped: 0 },
      mqtt: { connected: this.connected, reconnects: 0, addresses: this.addresses },
      oldestUnstoredSeconds: 0,
      stageSeconds: this.stageSeconds,
      stages: {
        travel: stage('travel', [0.0009, 0.0062]),
        queue: stage('queue', [0.00007, 0.0011]),
        store: stage('store', [0.0008, 0.0043]),
        ack: stage('ack', [0.00004, 0.0005]),
        end_to_end: stage('end_to_end', [0.0019, 0.0117]),
      },
      deleted: this.deleted,
      writtenBytes: this.writtenBytes,
      gaps: this.gaps,
    };
  }

  async #receive(request: IncomingMessage, response: ServerResponse, search: URLSearchParams): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks);
    this.delivered.push({ url: request.url!, contentType: request.headers['content-type'] ?? '', body });
    const time = now();
    const reading: Reading = {
      device: search.get('device') ?? 'unnamed',
      metric: search.get('metric') ?? 'value',
      time,
      value: Number(body.toString('utf8')),
      received: time,
      boot: null,
      seq: null,
      quality: 'ok',
    };
    if (Number.isFinite(reading.value)) {
      await this.commit([reading]);
      json(response, 202, {
        received: 1,
        stored: 1,
        duplicate: 0,
        quarantined: 0,
      } satisfies DeliveryDocument);
    } else {
      this.refuse(`http:${reading.device}`, 'malformed', 'expected a number', body.toString('utf8'));
      json(response, 202, {
        received: 1,
        stored: 0,
        duplicate: 0,
        quarantined: 1,
        errors: [{ reason: 'malformed', detail: 'expected a number', position: null }],
      } satisfies DeliveryDocument);
    }
  }

  #list(response: ServerResponse, search: URLSearchParams): void {
    const reason = search.get('reason');
    const mine = this.#isMeant(search) ? this.quarantine : [];
    const all = mine.filter((item) => reason === null || item.reason === reason);
    const start = all.findIndex((item) => item.id === search.get('after')) + 1;
    const items = all.slice(start, start + Number(search.get('limit')));
    const next = start + items.length < all.length ? items.at(-1)!.id : null;
    const reasons: Record<string, number> = {};
    for (const item of mine) reasons[item.reason] = (reasons[item.reason] ?? 0) + 1;
    const listed = items.map(({ payload: _, ...item }) => item);
    json(response, 200, { items: listed, next, total: all.length, reasons });
  }

  #isMeant(search: URLSearchParams): boolean {
    return [null, this.instance].includes(search.get('instance'));
  }

  /** Oldest first, `stepItems` at a time. Messages for which `isCured` is true can be stored now. */
  #step(response: ServerResponse, verb: string, search: URLSearchParams): void {
    const after = Number(search.get('cursor') ?? 0);
    const most = Math.min(Number(search.get('limit')), this.stepItems);
    const number = (item: Item) => Number(item.id.slice(item.id.lastIndexOf('.') + 1));
    const left = this.quarantine
      .toReversed()
      .filter((item) => number(item) > after && item.received <= (search.get('until') ?? '9'))
      .filter((item) => [null, item.reason].includes(search.get('reason')) && this.#isMeant(search));
    const tried = left.slice(0, most);
    const gone = tried.filter((item) => verb === 'discard' || this.isCured(item));
    for (const item of gone) this.quarantine.splice(this.quarantine.indexOf(item), 1);
    json(response, 200, {
      tried: tried.length,
      removed: gone.length,
      stored: verb === 'discard' ? 0 : gone.length,
      duplicate: 0,
      next: left.length > most ? String(number(tried.at(-1)!)) : null,
    } satisfies QuarantineStepDocument);
  }

  #item(response: ServerResponse, method: string, id: string, verb: string | undefined): void {
    const index = this.quarantine.findIndex((item) => item.id === id);
    if (index === -1) {
      const detail = `There is no ${id} in quarantine.`;
      json(response, 404, { type: 'about:blank', title: 'Not found', status: 404, detail });
    } else if (verb === 'replay') {
      const isCured = this.isCured(this.quarantine[index]!);
      if (isCured) this.quarantine.splice(index, 1);
      json(response, 200, {
        received: 1,
        stored: isCured ? 1 : 0,
        duplicate: 0,
        quarantined: isCured ? 0 : 1,
      } satisfies DeliveryDocument);
    } else if (method === 'DELETE') {
      this.quarantine.splice(index, 1);
      response.writeHead(204).end();
    } else {
      json(response, 200, this.quarantine[index]);
    }
  }
}

/** A receiver without the secrets of its entry. */
function receiverOf(name: string, entry: object): AlertReceiverDocument {
  const { kind } = entry as { readonly kind: string };
  const counts = { sent: 0, failed: 0, dropped: 0, waiting: 0 };
  return { name, kind, target: 'ntfy.sh', isEntry: true, ...counts };
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString('utf8'));
}

function json(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response
    .writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) })
    .end(text);
}
