import driver from 'cassandra-driver';
import { FrameScratch } from './frame-scratch.ts';

/**
 * The parts of a batch request of the driver that are used here. They are not in its types. The version of the driver is
 * pinned, and a unit test compares the frames with those of the driver.
 */
export interface BatchRequest {
  readonly type: number;
  readonly timestamp: driver.types.Long | null;
  readonly options: {
    getConsistency(): number;
    getRawQueryOptions(): { readonly bulk?: Bulk };
  };
  readonly queries: readonly [
    {
      readonly queryId: Buffer;
      readonly meta: { readonly columns: readonly { readonly type: ColumnType }[] };
    },
  ];
  length: number;
  /** Makes the frame. The driver calls it for every attempt to send the request. */
  write(encoder: Encoder, streamId: number): Buffer;
  clone(): BatchRequest;
}

interface ColumnType {
  readonly code: number;
}

interface Encoder {
  readonly protocolVersion: number;
  encode(value: unknown, type: ColumnType): Buffer;
}

interface WithBatchRequest {
  _createBatchRequest(queries: readonly unknown[], options: BatchRequest['options']): Promise<BatchRequest>;
}

/** The rows of a request, and whether `BulkClient` has added them to it. */
interface Bulk {
  readonly rows: readonly (readonly unknown[])[];
  taken: boolean;
}

const { dataTypes } = driver.types;
/** Native protocol 4, section 2: header of a frame. */
const BATCH = 0x0d;
const HEADER = 9;
/** Section 4.1.7: a statement by its prepared id. */
const PREPARED = 1;
const WITH_TIMESTAMP = 0x20;
/** Section 3, [value]. */
const NULL = -1;
const UNSET = -2;
const PROTOCOL = 4;

const scratch = new FrameScratch();

/**
 * The driver's client, with batches of rows of one prepared statement. The driver itself makes about 25 buffers for each
 * row of a batch, which takes longer than all other work for it in this process. Here one buffer has the whole request.
 * Connections, preparation, routing, retries and timeouts are those of the driver.
 */
export class BulkClient extends driver.Client {
  constructor(options: driver.ClientOptions) {
    super(options);
    const create = (this as unknown as WithBatchRequest)._createBatchRequest;
    const createWithRows: typeof create = async (queries, execution) => {
      const request = await create.call(this, queries, execution);
      const { bulk } = execution.getRawQueryOptions();
      if (bulk === undefined) return request;
      bulk.taken = true;
      return withRows(request, bulk.rows);
    };
    Object.assign(this, { _createBatchRequest: createWithRows });
  }

  /**
   * Executes a statement for each row in one request. Rows of one partition are applied together or not at all. The first
   * row selects the node.
   * @param rows At least one. Undefined is an unset value.
   */
  async insertRows(
    query: string,
    rows: readonly (readonly unknown[])[],
    options: driver.QueryOptions,
  ): Promise<void> {
    const bulk: Bulk = { rows, taken: false };
    await this.batch([{ query, params: rows[0]! as unknown[] }], {
      ...options,
      bulk,
    } as driver.QueryOptions);
    // Without this check, a driver that no longer uses the method would store one row only.
    if (!bulk.taken) throw new TypeError('this version of the Cassandra driver cannot send many rows');
  }
}

/** Changes a request of one row to a request of many rows. */
export function withRows(request: BatchRequest, rows: readonly (readonly unknown[])[]): BatchRequest {
  const { timestamp } = request;
  const clone = request.clone.bind(request);
  return Object.assign(request, {
    write: (encoder: Encoder, streamId: number): Buffer => {
      const frame = frameOf(request, rows, encoder, streamId);
      request.length = frame.length - HEADER;
      return frame;
    },
    // With the same timestamp, because a later write can have been sent meanwhile.
    clone: () => withRows(Object.assign(clone(), { timestamp }), rows),
  });
}

function frameOf(
  { type, timestamp, options, queries }: BatchRequest,
  rows: readonly (readonly unknown[])[],
  encoder: Encoder,
  streamId: number,
): Buffer {
  if (encoder.protocolVersion !== PROTOCOL) {
    throw new driver.errors.NotSupportedError(
      `the server does not speak version ${PROTOCOL} of the native protocol`,
    );
  }
  const [{ queryId, meta }] = queries;
  const types = meta.columns.map((column) => column.type);
  scratch.start();
  scratch.uint8(encoder.protocolVersion);
  scratch.uint8(0);
  scratch.int16(streamId);
  scratch.uint8(BATCH);
  scratch.int32(0);
  scratch.uint8(type);
  scratch.int16(rows.length);
  for (const row of rows) {
    scratch.uint8(PREPARED);
    scratch.int16(queryId.length);
    scratch.raw(queryId);
    scratch.int16(row.length);
    for (let index = 0; index < row.length; index += 1) writeValue(row[index], types[index]!, encoder);
  }
  scratch.int16(options.getConsistency());
  scratch.uint8(timestamp === null ? 0 : WITH_TIMESTAMP);
  if (timestamp !== null) {
    scratch.int32(timestamp.getHighBits());
    scratch.int32(timestamp.getLowBits());
  }
  const frame = scratch.finish();
  frame.writeInt32BE(frame.length - HEADER, HEADER - 4);
  return frame;
}

/** A value with its length before it. The types of readings are written directly, all others by the driver. */
function writeValue(value: unknown, type: ColumnType, encoder: Encoder): void {
  if (value === undefined) scratch.int32(UNSET);
  else if (value === null) scratch.int32(NULL);
  else if (typeof value === 'string' && (type.code === dataTypes.varchar || type.code === dataTypes.text))
    scratch.text(value);
  else if (typeof value !== 'number') encode(value, type, encoder);
  else {
    switch (type.code) {
      case dataTypes.bigint:
        scratch.int32(8);
        scratch.int64(value);
        break;
      case dataTypes.double:
        scratch.int32(8);
        scratch.double(value);
        break;
      case dataTypes.int:
        scratch.int32(4);
        scratch.int32(value);
        break;
      case dataTypes.tinyint:
        scratch.int32(1);
        scratch.int8(value);
        break;
      default:
        encode(value, type, encoder);
    }
  }
}

function encode(value: unknown, type: ColumnType, encoder: Encoder): void {
  const bytes = encoder.encode(value, type);
  scratch.int32(bytes.length);
  scratch.raw(bytes);
}
