import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { QuiverError } from '../../shared/errors/quiver-error';

/** By which a RocksDB store on the disk is told from another one, and from an earlier copy of itself, without opening it. */
export interface StoreStamp {
  /** The name that RocksDB gave to it when it was made; '' where the file with it is missing. */
  store: string;
  /** Rises with each opening: the number of its manifest. */
  opening: number;
}

/** null: there is no store in `folder`. Errors: storage_failed. */
export async function readStoreStamp(folder: string): Promise<StoreStamp | null> {
  const current = await read(join(folder, 'CURRENT'));
  if (current === null) return null;
  const opening = Number(/^MANIFEST-(\d{1,15})\n?$/.exec(current)?.[1] ?? 0);
  return { store: (await read(join(folder, 'IDENTITY')))?.trim() ?? '', opening };
}

/** Whether it is another store than the one that was noted. */
export function isOtherStore(found: StoreStamp, noted: StoreStamp): boolean {
  return found.store !== noted.store && found.store !== '' && noted.store !== '';
}

async function read(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw new QuiverError('storage_failed', `${path} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}
