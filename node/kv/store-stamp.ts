import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { QuiverError } from '../../shared/errors/quiver-error';

/** By which a RocksDB store on the disk is told from an earlier copy of itself, without opening it. */
export interface StoreStamp {
  /** The name that RocksDB gave to it when it was made; '' where the file with it is missing. */
  store: string;
  /** Rises with each opening: the number of its manifest. */
  opening: number;
  /** Changes that were on stable storage, by its mark (`SYNCED`); 0 where that is missing. */
  changes: number;
}

const SLOT_BYTES = 16;
const SLOTS_AT = [0, 4096];
const SLOT_MAGIC = 0x4b52414d;

/** null: there is no store in `folder`. Errors: storage_failed. */
export async function readStoreStamp(folder: string): Promise<StoreStamp | null> {
  const current = await read(join(folder, 'CURRENT'));
  if (current === null) return null;
  const opening = Number(/^MANIFEST-(\d{1,15})\n?$/.exec(current.toString())?.[1] ?? 0);
  const store = (await read(join(folder, 'IDENTITY')))?.toString().trim() ?? '';
  return { store, opening, changes: changesOf(await read(join(folder, 'SYNCED'))) };
}

/** Whether it is another store than the one that was noted. */
export function isOtherStore(found: StoreStamp, noted: StoreStamp): boolean {
  return found.store !== noted.store && found.store !== '' && noted.store !== '';
}

/** Whether the store is an earlier copy of what was noted. */
export function isEarlierStore(found: StoreStamp, noted: StoreStamp): boolean {
  return !isOtherStore(found, noted) && (found.opening < noted.opening || (found.changes > 0 && found.changes < noted.changes));
}

/** What the mark says (node/kv/native/synced_mark.cc). */
function changesOf(mark: Buffer | null): number {
  if (mark === null) return 0;
  const slots = SLOTS_AT.map((at) => mark.subarray(at, at + SLOT_BYTES)).filter((slot) => slot.length === SLOT_BYTES && slot.readUInt32LE(8) === SLOT_MAGIC);
  return Math.max(0, ...slots.filter((slot) => slot.readUInt32LE(12) === crc32c(slot.subarray(0, 12))).map((slot) => Number(slot.readBigUInt64LE(0))));
}

function crc32c(bytes: Buffer): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0x82f63b78 : 0);
  }
  return ~crc >>> 0;
}

async function read(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw new QuiverError('storage_failed', `${path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}
