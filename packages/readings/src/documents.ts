import type { Quality, Reading, ReadingValue } from './reading.ts';
import { formatTime } from './time.ts';

// The JSON documents that services exchange and the API publishes, as types only, so that both ends agree.

/**
 * A reading in an HTTP body. Times are ISO 8601 with microseconds; `boot` and `seq` are present only when the sensor
 * sent them.
 */
export interface ReadingDocument {
  readonly device: string;
  readonly metric: string;
  readonly time: string;
  readonly value: ReadingValue;
  readonly received: string;
  readonly quality: Quality;
  readonly boot?: string;
  readonly seq?: number;
  /** The unit of its series, in answers of the API, if it is known. */
  readonly unit?: string;
}

export function toReadingDocument(reading: Reading): ReadingDocument {
  return {
    device: reading.device,
    metric: reading.metric,
    time: formatTime(reading.time),
    value: reading.value,
    received: formatTime(reading.received),
    quality: reading.quality,
    ...(reading.boot === null ? {} : { boot: reading.boot }),
    ...(reading.seq === null ? {} : { seq: reading.seq }),
  };
}

/** @param unit the unit of its series; null: not known */
export function toReadingDocumentWithUnit(reading: Reading, unit: string | null): ReadingDocument {
  const document = toReadingDocument(reading);
  return unit === null ? document : { ...document, unit };
}

/**
 * Counts where every received reading is: received = stored + duplicate + filtered + quarantined + spooled + inFlight.
 */
export interface ReadingCounts {
  readonly received: number;
  readonly stored: number;
  readonly duplicate: number;
  /** Left out by the filter of their route. */
  readonly filtered: number;
  readonly quarantined: number;
  readonly spooled: number;
  readonly inFlight: number;
}

/** Whether every received reading is accounted for. */
export function isBalanced(counts: ReadingCounts): boolean {
  const { received, stored, duplicate, filtered, quarantined, spooled, inFlight } = counts;
  // An ingest process of an earlier version has no filter.
  return received === stored + duplicate + (filtered ?? 0) + quarantined + spooled + inFlight;
}

/** Median and 99th percentile of one pipeline stage in the last minute, seconds; null when it has no readings. */
export interface StageDocument {
  readonly count: number;
  readonly p50: number | null;
  readonly p99: number | null;
}

export type Stage = 'travel' | 'queue' | 'store' | 'ack' | 'end_to_end';

/** The missing readings of one device and boot, as inclusive ranges of sequence numbers. */
export interface GapDocument {
  readonly device: string;
  readonly boot: string;
  readonly highest: number;
  readonly missing: number;
  /** The highest of the missing ranges. */
  readonly ranges: readonly (readonly [number, number])[];
  /** Numbers that were missing below the tracked range; they are not in `missing`. */
  readonly givenUp: number;
  readonly duplicates: number;
  /** How many of `missing` the sensor declared gone. Absent: none. */
  readonly gone?: number;
}

/** Missing readings of one device and boot: an entry of a list, and a request to the sensor to send them again. */
export interface ResendDocument {
  readonly device: string;
  readonly boot: string;
  /** Inclusive ranges of sequence numbers, ascending. */
  readonly ranges: readonly (readonly [from: number, to: number])[];
}

/** Missing readings that sensors may still have: `GET /ledger/missing` of one ingest process. */
export interface MissingDocument {
  readonly missing: readonly ResendDocument[];
  /** Whether there are more. */
  readonly truncated: boolean;
}

/** Where sensors publish by MQTT. */
export interface MqttAddressDocument {
  readonly port: number;
  readonly tls: boolean;
  /** Only programs on the machine of ingest reach it. */
  readonly local: boolean;
  /** `one`: a user who may publish on every topic. `own`: each sensor has its own user. */
  readonly login: 'none' | 'one' | 'own';
}

/** The ledger of one ingest process: `GET /ledger` on its port. */
export interface LedgerDocument {
  readonly instance: string;
  /** When the process started, and its counts from zero. */
  readonly since: string;
  readonly backend: string;
  readonly readings: ReadingCounts;
  readonly balanced: boolean;
  /** Why readings cannot be stored now, such as a full disk; null when they can. */
  readonly trouble: string | null;
  readonly messages: { readonly received: number; readonly retainedSkipped: number };
  readonly mqtt: {
    readonly connected: boolean;
    readonly reconnects: number;
    /** An ingest process of an earlier version has none. */
    readonly addresses?: readonly MqttAddressDocument[];
  };
  readonly oldestUnstoredSeconds: number;
  /** The period of `stages`, seconds: the last minute, or less soon after the start. */
  readonly stageSeconds: number;
  readonly stages: Readonly<Record<Stage, StageDocument>>;
  /** Readings that retention deleted since the start, as far as the store counts them. */
  readonly deleted: number;
  /** Bytes that the process has written to disks since `since`; null if not known. Excludes a database server. */
  readonly writtenBytes: number | null;
  /** Missing sequence numbers of all devices, and the devices with missing or repeated numbers. */
  readonly gaps: {
    /**
     * When the ledger of sequence numbers began. It can be before the start of the process. An ingest process of an
     * earlier version has none.
     */
    readonly since?: string;
    readonly devices: number;
    readonly missing: number;
    readonly duplicates: number;
    /** Numbers that were missing when their details were dropped to bound memory; some may have arrived since. */
    readonly givenUp: number;
    /** Stored readings that could not be checked, because details were dropped or did not fit. */
    readonly unjudged: number;
    /** Numbers that were missing and arrived later. An ingest process of an earlier version has none. */
    readonly healed?: number;
    /** How many of `missing` their sensors declared gone. An ingest process of an earlier version has none. */
    readonly gone?: number;
    readonly list: readonly GapDocument[];
    /** Whether the list was cut, or details were dropped or did not fit. */
    readonly truncated: boolean;
  };
}

/** A message that could not be stored, kept for inspection. */
export interface QuarantineDocument {
  /** `<instance>.<number>`. */
  readonly id: string;
  readonly received: string;
  /** How it was received. */
  readonly source: 'mqtt' | 'http';
  /** The MQTT topic. For HTTP it is the method and path, with the names in the query. */
  readonly topic: string;
  readonly reason: string;
  readonly detail: string;
  readonly position: string | null;
  /** Bytes of payload. */
  readonly size: number;
  /** The number of readings that it counts as in the ledger. */
  readonly readings: number;
  /** Whether topic and detail are shortened in a list. The item itself has the full texts. */
  readonly shortened?: true;
  /** Base64; only in the answer for a single item. */
  readonly payload?: string;
}

/** The result of one step of a bulk replay or discard. */
export interface QuarantineStepDocument {
  /** Messages that were tried or discarded. */
  readonly tried: number;
  /** Messages that were removed from quarantine. */
  readonly removed: number;
  /** Readings that were stored, and readings that were stored before. */
  readonly stored: number;
  readonly duplicate: number;
  /** The `cursor` of the next step, with the same filter; null at the end. */
  readonly next: string | null;
}

/** A field of payloads that was ignored, while the rest was stored. */
export interface IgnoredFieldDocument {
  /** Its path in the payload, `update.state`. */
  readonly field: string;
  /** Why it was ignored the first time. */
  readonly reason: string;
  /** How often it was ignored: once for each message, or for each record of a message with several. */
  readonly count: number;
}

/** The unit of a series, as payloads or the mapping of a route state it. */
export interface UnitDocument {
  readonly device: string;
  readonly metric: string;
  readonly unit: string;
}

/** What payloads contain besides readings, since the start of the process. Both lists are bounded. */
export interface NotesDocument {
  /** Messages without a value, such as `unavailable`, and messages of topics that a preset ignores. */
  readonly ignoredMessages: number;
  /** Ignored fields of all messages. */
  readonly ignored: number;
  readonly ignoredFields: readonly IgnoredFieldDocument[];
  /** Ignored fields that are not in the list, because it is full. */
  readonly ignoredUnlisted: number;
  /**
   * Fields that were used with an assumption, such as the zone of a local time; as long as the list of ignored fields has
   * room. An ingest process of an earlier version has none.
   */
  readonly doubts?: readonly IgnoredFieldDocument[];
  /** Units of recently used series. */
  readonly units: readonly UnitDocument[];
}

/** A route of ingest, with its counts since the start of the process. */
export interface RouteDocument extends NotesDocument {
  readonly name: string;
  /** The topic template. */
  readonly topic: string;
  readonly format: string;
  readonly preset?: string;
  /** Messages received. */
  readonly messages: number;
}

/** The routes of one ingest process, in their order: `GET /routes` on its port. */
export interface RoutesDocument {
  readonly instance: string;
  /** Why these are not the routes of the routes file; null when they are. */
  readonly trouble: string | null;
  /** `drop`: the level {metric} of a topic is dropped when a payload names its values, as before version 0.3. */
  readonly topicLevels: 'keep' | 'drop';
  readonly routes: readonly RouteDocument[];
  /** Payloads of HTTP requests, which use no route. */
  readonly http: NotesDocument;
}

/** What the routes make of a message, without storing it. */
export interface ExplainDocument {
  readonly topic: string;
  /** Null when the topic matches no route. */
  readonly route: {
    readonly name: string;
    readonly topic: string;
    readonly format: string;
    readonly preset?: string;
  } | null;
  /** The names of the topic; null when it does not give them. */
  readonly device: string | null;
  readonly metric: string | null;
  /** All readings of the message; `readings` has at most 1,000 of them. */
  readonly total: number;
  readonly readings: readonly ReadingDocument[];
  readonly ignored: readonly { readonly field: string; readonly reason: string }[];
  /** Fields that are used with an assumption, such as the zone of a local time. Absent without any. */
  readonly doubts?: readonly { readonly field: string; readonly reason: string }[];
  /** Why the message would go to quarantine. */
  readonly error?: { readonly reason: string; readonly message: string; readonly position: string | null };
  /**
   * The setting that makes such a message readable, or a number of a text that is in doubt; null when its sender must
   * change.
   */
  readonly fix?: string | null;
  /** Routes that would take the topic, when no route does. */
  readonly proposals?: readonly RouteProposal[];
}

/** An entry of a routes file that would take a topic. */
export type RouteProposal = { readonly preset: string } | { readonly topic: string };

/** The answer to `POST /routes` on the port of ingest. */
export interface RouteAddedDocument {
  readonly instance: string;
  /** False when the file had the same entry before. */
  readonly added: boolean;
  /** The topic templates that the entry reads. */
  readonly topics: readonly string[];
}

/** Messages in quarantine with the same cause. */
export interface CauseDocument {
  readonly reason: string;
  /** The route that takes their topics; null when none does, and for HTTP. */
  readonly route: string | null;
  /** Its topic template; without a route the pattern of the topics; for HTTP the request. */
  readonly topic: string;
  readonly count: number;
  /** The newest of them. */
  readonly last: {
    readonly id: string;
    /** The topic and the detail, at most 500 characters each. */
    readonly topic: string;
    readonly detail: string;
    readonly received: string;
  };
  /** The setting that makes such messages readable; null when their sender must change. */
  readonly fix: string | null;
  /** Routes that would take the topics, when no route does. */
  readonly proposals: readonly RouteProposal[];
}

/** The quarantine of one ingest process by cause: `GET /quarantine/causes` on its port. */
export interface CausesDocument {
  readonly instance: string;
  /** The most frequent first. */
  readonly causes: readonly CauseDocument[];
  /** Messages that were read: the newest. */
  readonly messages: number;
  /** Messages in quarantine. */
  readonly total: number;
  /** Messages that were read and whose cause is not in the list, because it is full. */
  readonly unlisted: number;
}

/** An alert of a rule and a series, or of a rule and a device. */
export interface AlertDocument {
  /** The same when the alert is sent again. */
  readonly id: string;
  readonly rule: string;
  readonly severity: 'info' | 'warning' | 'critical';
  readonly state: 'active' | 'ended';
  /** The limit that is violated; `quiet` without readings. */
  readonly kind: 'above' | 'below' | 'quiet';
  readonly device: string;
  /** Null for a quiet device as a whole. */
  readonly metric: string | null;
  /** The limit of the rule; seconds for `quiet`. */
  readonly limit: number;
  /** The value that raised the alert; null for `quiet`. */
  readonly value: number | null;
  /** The time of the first reading that violates the rule, or of the last reading before the silence; null without one. */
  readonly since: string | null;
  /** When ingest raised it. */
  readonly raised: string;
  readonly ended: string | null;
  /** Why it ended: `removed` when its rule or its device was removed. */
  readonly reason: 'cleared' | 'removed' | null;
}

/** A page of the alerts of one ingest process: `GET /alerts` on its port. */
export interface AlertsDocument {
  readonly instance: string;
  /** Whether the process has a file of rules. */
  readonly configured: boolean;
  /** Whether this process evaluates the rules. Of several processes with one store, one does. */
  readonly evaluating: boolean;
  /** Rules in use. */
  readonly rules: number;
  /** All active alerts, by severity. */
  readonly active: Readonly<Record<'info' | 'warning' | 'critical', number>>;
  readonly alerts: readonly AlertDocument[];
  /** The value of `after` for the next page; null on the last page. */
  readonly next: string | null;
}

/** A rule as an entry of the file of alert rules. */
export interface AlertRuleDocument {
  readonly name: string;
  readonly severity: 'info' | 'warning' | 'critical';
  /** This device and the devices below it; without it all devices. */
  readonly device?: string;
  readonly metric?: string;
  readonly above?: number;
  readonly below?: number;
  /** The value at which the alert ends; with both limits one for each. */
  readonly clear?: number | { readonly above?: number; readonly below?: number };
  /** Durations such as `5m`. */
  readonly for?: string;
  readonly quiet?: string;
}

/** The alert rules in use of one ingest process: `GET /alerts/rules` on its port. */
export interface AlertRulesDocument {
  readonly instance: string;
  /** Why they are not those of their file; null when they are. */
  readonly trouble: string | null;
  readonly rules: readonly AlertRuleDocument[];
}

/** A receiver of messages about alerts. Its secrets are left out. */
export interface AlertReceiverDocument {
  readonly name: string;
  /** `mqtt` and `webhook` can be settings of ingest, which are not changed here. */
  readonly kind: string;
  /** Where it is, without secrets, such as `ntfy.sh`. */
  readonly target: string;
  /** Whether it is an entry of the file, which can be changed. */
  readonly isEntry: boolean;
  /** Messages since the start of the process. */
  readonly sent: number;
  readonly failed: number;
  readonly dropped: number;
  /** Messages that it has not accepted yet. */
  readonly waiting: number;
}

/** The receivers of one ingest process: `GET /alerts/receivers` on its port. */
export interface AlertReceiversDocument {
  readonly instance: string;
  /** Why they are not those of their file; null when they are. */
  readonly trouble: string | null;
  readonly receivers: readonly AlertReceiverDocument[];
}

/** The logins of sensors in the file of passwords of one ingest process: `GET /passwords` on its port. */
export interface PasswordsDocument {
  readonly instance: string;
  /** Their names, in the order of the file: at most 1,000. */
  readonly users: readonly string[];
  readonly total: number;
}

/** A rule of retention as an entry of its file. */
export interface RetentionRuleDocument {
  /** This device and the devices below it; without it all devices. */
  readonly devices?: string;
  /** Without it all metrics. */
  readonly metrics?: readonly string[];
  /** Ages, such as `raw:30d,1m:1y`. */
  readonly keep: string;
}

/** Retention of one ingest process: `GET /retention` on its port. */
export interface RetentionDocument {
  readonly instance: string;
  /** The rules of the file that are in use. The first one that matches a series counts. */
  readonly rules: readonly RetentionRuleDocument[];
  /** What is kept of other series, as `keep` of a rule. */
  readonly others: string;
  /** Why they are not those of their file; null when they are. */
  readonly trouble: string | null;
  /** Largest size of the data, and least free space of its disk, bytes. 0: no limit. */
  readonly maxBytes: number;
  readonly minFreeBytes: number;
  /** Time between two runs. */
  readonly everySeconds: number;
  /** The last run of this process. */
  readonly last: {
    readonly started: string;
    readonly seconds: number;
    /** `elsewhere`: another process does the work. */
    readonly result: 'done' | 'elsewhere' | 'failed';
    /** Readings; null if the store did not count all of them. */
    readonly deleted: number | null;
  } | null;
}

/** What a rule of retention would delete. */
export interface RulePreviewDocument {
  readonly rule: string;
  /** ISO 8601, or null if the rule keeps readings forever. */
  readonly before: string | null;
  readonly readings: number;
  readonly series: number;
  /** ISO 8601, or null without readings. */
  readonly oldest: string | null;
  readonly newest: string | null;
}

/** What rules of retention would delete now: `POST /retention/preview` on the port of ingest. */
export interface RetentionPreviewDocument {
  readonly instance: string;
  readonly rules: readonly RulePreviewDocument[];
  /** False: the counting ended early, and there can be more readings. */
  readonly isComplete: boolean;
}

/** A complete backup of the store. */
export interface BackupDocument {
  readonly name: string;
  readonly started: string;
  /** Readings, and bytes of all files; null when its manifest cannot be read. */
  readonly readings: number | null;
  readonly bytes: number | null;
  /** When a restore of it was compared with it and was equal; null if none was. */
  readonly verified: string | null;
}

/** Backups of the store: `GET /backups` on the port of the backup service. */
export interface BackupsDocument {
  /** The newest first, at most 100. */
  readonly backups: readonly BackupDocument[];
  readonly total: number;
  readonly isRunning: boolean;
  /** Whether the last attempt failed. */
  readonly isFailing: boolean;
  /** Time from one backup to the next. */
  readonly everySeconds: number;
}

/** What one ingest process did with a named entry. */
export interface EntryChangedDocument {
  readonly instance: string;
  /** Whether there was an entry of this name before. */
  readonly replaced: boolean;
}

/** The outcome of one HTTP delivery: received = stored + duplicate + quarantined. */
export interface DeliveryDocument {
  readonly received: number;
  readonly stored: number;
  readonly duplicate: number;
  readonly quarantined: number;
  /** Why readings are in quarantine: the first errors. */
  readonly errors?: readonly DeliveryError[];
}

/** Why a message, or a part of it, is in quarantine. */
export interface DeliveryError {
  readonly reason: string;
  readonly detail: string;
  readonly position: string | null;
}

/** The outcome of line protocol over HTTP: `POST /lines` on the port of ingest. */
export interface LinesDocument extends DeliveryDocument {
  /** Lines that could not be decoded. They are one message in quarantine. */
  readonly refusedLines: number;
  /** Whether a line is no line protocol. Other refused lines have values, names or times that cannot be stored. */
  readonly isMalformed: boolean;
  /** The first errors; their position is the line. */
  readonly errors: readonly DeliveryError[];
}

/**
 * A line of the live feed: readings that were just committed, or the number of readings that this listener missed.
 */
export type LiveLine =
  | { readonly id: string; readonly readings: readonly ReadingDocument[] }
  | { readonly id: string; readonly missed: number };
