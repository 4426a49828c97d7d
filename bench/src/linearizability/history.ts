import type { Capabilities } from '@tidegauge/storage';
import type { Values } from '@tidegauge/workload';

export type OperationType = 'read' | 'insert' | 'update' | 'delete';

/** One operation on one key, as a client saw it. */
export interface Operation {
  /** One operation at a time. A client whose write has no known outcome continues under another number. */
  readonly client: number;
  readonly key: string;
  readonly type: OperationType;
  /** What an insert or an update writes. */
  readonly fields?: Values;
  /** Nanoseconds of one clock. */
  readonly call: number;
  /** null: the outcome of the write is unknown. It can take effect at any time after the call, or never. */
  readonly return: number | null;
  /** A read, an update or a delete found the record; an insert created it. Absent if the outcome is unknown. */
  readonly done?: boolean;
  /** The fields that a read found. */
  readonly found?: Values;
}

/** What a store declares about its writes. It decides which results are possible. */
export type Semantics = Pick<Capabilities, 'insertIsUpsert' | 'updateIsUpsert'>;

export interface History {
  readonly semantics: Semantics;
  readonly operations: readonly Operation[];
}

/** The history as the program in bench/linearizability reads it: NDJSON, first the semantics. */
export function toLines({ semantics, operations }: History): string {
  const { insertIsUpsert, updateIsUpsert } = semantics;
  const lines = [{ insertIsUpsert, updateIsUpsert }, ...operations].map((each) => JSON.stringify(each));
  return `${lines.join('\n')}\n`;
}
