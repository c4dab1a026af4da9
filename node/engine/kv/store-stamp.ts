import { join } from 'node:path';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { readSmallFiles } from './small-files';

/**
 * By which a RocksDB store on the disk is told from another one, and from an earlier copy of itself, without opening
 * it.
 */
export interface StoreStamp {
  /** The name that RocksDB gave to it when it was made; '' where the file with it is missing. */
  store: string;
  /** Rises with each opening: the number of its manifest. */
  opening: number;
}

/** null: there is no store in `folder`. Errors: storage_failed. */
export async function readStoreStamp(folder: string): Promise<StoreStamp | null> {
  const paths = ['CURRENT', 'IDENTITY'].map((name) => join(folder, name));
  const [current, identity] = await readSmallFiles(paths).catch((error: Error) => {
    throw new QuiverError('storage_failed', error.message, { cause: error });
  });
  if (current === null) return null;
  const opening = Number(/^MANIFEST-(\d{1,15})\n?$/.exec(current.toString())?.[1] ?? 0);
  return { store: identity?.toString().trim() ?? '', opening };
}

/** Whether it is another store than the one that was noted. */
export function isOtherStore(found: StoreStamp, noted: StoreStamp): boolean {
  return found.store !== noted.store && found.store !== '' && noted.store !== '';
}
