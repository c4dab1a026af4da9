/**
 * Keys of a replicated shard besides those of its records (record-keys.ts has the letters c, d, f, g, j, k, l, m, o).
 * Numbers are big-endian, so that byte order is number order.
 */

/** The promises: promised epoch and last led epoch. */
export const PROMISES_KEY = Buffer.from('rp');
/** How much of the log is in the records. */
export const APPLIED_KEY = Buffer.from('ra');
/** The entry before the log's first: its sequence and epoch. */
export const BASE_KEY = Buffer.from('rb');
/**
 * The latest time and the latest moment of any entry up to one that is not in the log any more: what is still there may
 * be later. Absent where none had any.
 */
export const TIMES_KEY = Buffer.from('rm');
/** The writes that sessions have applied and given up; one key per session. */
export const SESSIONS_RANGE = { from: Buffer.from('rs'), to: Buffer.from('rt') };

/**
 * Everything that a copy of a shard contains: records, insertion order, gate and changes, specification, applied
 * position.
 */
export const COPIED_RANGE = { from: Buffer.from('d'), to: Buffer.from('s') };
const COPIED_LETTERS = new Set([...'dfgklmo'].map((letter) => letter.charCodeAt(0)));
const REPLICATION_LETTER = 'r'.charCodeAt(0);

/** The log comes last, so that scans of the rest don't pass over it. */
export const LOG_RANGE = { from: Buffer.from('z'), to: Buffer.from('{') };

export function sessionKey(session: string): Buffer {
  return Buffer.from(`rs${session}`);
}

export function sessionOfKey(key: Buffer): string {
  return key.toString('utf8', 2);
}

/** The epoch is in the key so that the log can be examined without reading its entries. */
export function logKey(sequence: number, epoch: number): Buffer {
  const key = Buffer.allocUnsafe(17);
  key[0] = LOG_RANGE.from[0];
  key.writeBigUInt64BE(BigInt(sequence), 1);
  key.writeBigUInt64BE(BigInt(epoch), 9);
  return key;
}

/** The position before every entry of `sequence`. */
export function logKeyFrom(sequence: number): Buffer {
  return logKey(sequence, 0);
}

export function positionOfLogKey(key: Buffer): { sequence: number; epoch: number } {
  return { sequence: Number(key.readBigUInt64BE(1)), epoch: Number(key.readBigUInt64BE(9)) };
}

/**
 * Whether a key of COPIED_RANGE belongs to a copy. The journal of the indexes does not, because they are made again;
 * nor do the promises.
 */
export function isCopied(key: Buffer): boolean {
  if (COPIED_LETTERS.has(key[0])) return true;
  return key[0] === REPLICATION_LETTER && !key.equals(PROMISES_KEY) && !key.equals(BASE_KEY);
}

export function pairToBytes(first: number, second: number): Buffer {
  const bytes = Buffer.allocUnsafe(16);
  bytes.writeDoubleLE(first, 0);
  bytes.writeDoubleLE(second, 8);
  return bytes;
}

export function pairFromBytes(bytes: Buffer): [first: number, second: number] {
  return [bytes.readDoubleLE(0), bytes.readDoubleLE(8)];
}
