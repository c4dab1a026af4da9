/**
 * Where a save of a vector index (node/engine/native/index_save.cc) says how many vectors it refers to, in
 * little-endian order: the same in all of its versions.
 */
const HEAD = { bytes: 24, magicAt: 0, dimAt: 12, rowsAt: 16 };
/** "QVRVEC"; two bytes of the version follow. */
const MAGIC = Buffer.from('QVRVEC');

/** Most bytes of a save that `originalsBytes` looks at. */
export const SAVE_HEAD_BYTES = HEAD.bytes;

/**
 * How many bytes of the file of original vectors a save needs, by the first SAVE_HEAD_BYTES of the save. What the file
 * has behind them is room for more, most of it a hole. null: it is no save.
 */
export function originalsBytes(head: Buffer): number | null {
  if (head.length < HEAD.bytes || !head.subarray(HEAD.magicAt, MAGIC.length).equals(MAGIC)) return null;
  const bytes =
    Number(head.readBigUInt64LE(HEAD.rowsAt)) * head.readUInt32LE(HEAD.dimAt) * Float32Array.BYTES_PER_ELEMENT;
  return Number.isSafeInteger(bytes) ? bytes : null;
}
