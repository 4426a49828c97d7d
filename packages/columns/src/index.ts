export { Block, type Columns, DamagedBlock, encodeBlock, MAX_READINGS } from './block.ts';
export { ByteReader, ByteWriter } from './bytes.ts';
export { decodeIntegers, encodeIntegers } from './integers.ts';
export { decodeNumbers, encodeNumbers } from './numbers.ts';
