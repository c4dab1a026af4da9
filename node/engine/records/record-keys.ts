/**
 * Keys of one shard's records (docs/architecture/shard.md, "Records"). A key is a letter, then big-endian numbers, so
 * that byte order is number order. External ids in `o` keys are UTF-16BE, whose byte order is that of UTF-16 code
 * units.
 */

/** Record and operation numbers are safe integers: 53 bits in 8 bytes. */
export const NUMBERED_KEY_BYTES = 9;

function numberedKey(letter: string, number: number): Buffer {
  const key = Buffer.allocUnsafe(NUMBERED_KEY_BYTES);
  writeNumbered(letter, number, key, 0);
  return key;
}

function writeNumbered(letter: string, number: number, bytes: Buffer, at: number): void {
  bytes[at] = letter.charCodeAt(0);
  // As two halves: a BigInt for each key takes longer than all the rest of it.
  bytes.writeUInt32BE(Math.floor(number / 0x1_0000_0000), at + 1);
  bytes.writeUInt32BE(number % 0x1_0000_0000, at + 5);
}

function numberOfKey(key: Buffer): number {
  return key.readUInt32BE(1) * 0x1_0000_0000 + key.readUInt32BE(5);
}

export function itemKey(recno: number): Buffer {
  return numberedKey('d', recno);
}

/** Writes {@link itemKey} to `bytes` from `at` on, {@link NUMBERED_KEY_BYTES} of them. */
export function writeItemKey(recno: number, bytes: Buffer, at: number): void {
  writeNumbered('d', recno, bytes, at);
}

export const recnoOfItemKey = numberOfKey;

export function orderKey(stamp: number, externalId: string): Buffer {
  const key = Buffer.allocUnsafe(orderKeyBytes(externalId));
  writeOrderKey(stamp, externalId, key, 0);
  return key;
}

export function orderKeyBytes(externalId: string): number {
  return NUMBERED_KEY_BYTES + externalId.length * 2;
}

/** Writes {@link orderKey} to `bytes` from `at` on, {@link orderKeyBytes} of them. */
export function writeOrderKey(stamp: number, externalId: string, bytes: Buffer, at: number): void {
  writeNumbered('o', stamp, bytes, at);
  for (let i = 0; i < externalId.length; i++)
    bytes.writeUInt16BE(externalId.charCodeAt(i), at + NUMBERED_KEY_BYTES + i * 2);
}

export const stampOfOrderKey = numberOfKey;

export function externalIdOfOrderKey(key: Buffer): string {
  const swapped = Buffer.from(key.subarray(9));
  return swapped.swap16().toString('utf16le');
}

export function journalKey(operation: number): Buffer {
  return numberedKey('j', operation);
}

export const operationOfJournalKey = numberOfKey;

/**
 * Written with a sync, so that everything before it is on stable storage, too. Its value is the last operation before
 * it.
 */
export const STABLE_KEY = Buffer.from('c');

/** The shard's gate (shard-stage-state.ts); absent for one that never was a part of a reshard. */
export const STAGE_KEY = Buffer.from('g');

/** The ids that changed while the shard tracked, by the numbers of the changes, in UTF-16. */
export const CHANGES_RANGE = { from: Buffer.from('f'), to: Buffer.from('g') };

export function changeKey(change: number): Buffer {
  return numberedKey('f', change);
}

export const changeOfKey = numberOfKey;

/** The shard's specification, written when the shard is made. */
export const SPEC_KEY = Buffer.from('mspec');

/**
 * How far the shard has counted versions (version-count.ts); absent while it counts none. It is written when that does
 * not follow from the items.
 */
export const VERSIONS_KEY = Buffer.from('mversions');

/**
 * Of a shard that keeps its writes for shipping: the number of the last one, and of the batch that it was in. Its
 * writes are under their numbers, until they are shipped.
 */
export const LOGGED_KEY = Buffer.from('mlogged');
/** The latest time of those that are not kept any more, as f64. */
export const LOGGED_TIME_KEY = Buffer.from('mloggedtime');
export const WRITES_RANGE = { from: Buffer.from('w'), to: Buffer.from('x') };

export function writeKey(sequence: number): Buffer {
  return numberedKey('w', sequence);
}

export const sequenceOfWriteKey = numberOfKey;

/**
 * What a replica stores of the place that its records have in its log, and of the writes that are in it (log-keys.ts).
 */
export const REPLICA_RANGE = { from: Buffer.from('ra'), to: Buffer.from('s') };
export const REPLICA_POSITION_KEY = Buffer.from('ra');

/** Whether this is the key of the writes of a session. */
export function isSessionKey(key: Buffer): boolean {
  return key[0] === 114 && key[1] === 115;
}

/** What is known of a write that is done once, by its token (shared/contract/writes/dedup-record.ts). */
export function dedupKey(token: string): Buffer {
  return Buffer.from(`k${token}`, 'latin1');
}

/** Of each mark, the token, when it expires and its bytes, by its number: the oldest comes first. */
export function dedupOrderKey(sequence: number): Buffer {
  return numberedKey('l', sequence);
}

export const sequenceOfDedupOrderKey = numberOfKey;

/** How many bytes all marks have, and the number of the last. */
export const DEDUP_USAGE_KEY = Buffer.from('mmarks');
export const DEDUP_RANGES = { from: Buffer.from('k'), to: Buffer.from('m') };
export const DEDUP_ORDER_RANGE = { from: Buffer.from('l'), to: Buffer.from('m') };

export const ITEM_RANGE = { from: Buffer.from('d'), to: Buffer.from('e') };
export const ORDER_RANGE = { from: Buffer.from('o'), to: Buffer.from('p') };
export const JOURNAL_RANGE = { from: Buffer.from('j'), to: Buffer.from('k') };

/** The smallest key after `key`. */
export function keyAfter(key: Buffer): Buffer {
  return Buffer.concat([key, Buffer.from([0])]);
}
