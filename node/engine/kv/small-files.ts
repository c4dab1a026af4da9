import { ABSENT, storeBinding } from './store-binding';

/** Files that are read whole in one turn on the pool; larger ones are read in parts. */
export const SMALL_FILE_BYTES = 256 * 1024;

/**
 * Reads small files in one turn on the pool, where four turns for each would be most of what it takes. null for one
 * that is not there. Rejects with the system's reason where one can't be read, or has more than SMALL_FILE_BYTES.
 */
export async function readSmallFiles(paths: readonly string[]): Promise<(Buffer | null)[]> {
  const { bytes, lengths } = await storeBinding().readFiles(
    paths.map((path) => Buffer.from(path)),
    SMALL_FILE_BYTES,
  );
  let at = 0;
  return Array.from(lengths, (length) => {
    if (length === ABSENT) return null;
    at += length;
    return Buffer.from(bytes, at - length, length);
  });
}
