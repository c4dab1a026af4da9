import { open, rm, statfs } from 'node:fs/promises';
import { trialFile } from '../files/trial-files';

/**
 * What opening a RocksDB store may write at once: two memtables from its log become files (see rocks-key-value-store).
 */
const ROOM_BYTES = 64 * 1024 * 1024;
const TRIAL_BYTES = 64 * 1024;

/**
 * Whether a store in `folder` whose disk failed may be opened again: there is room for what that writes, and a trial
 * write reaches stable storage. If not, the store should stay open, for reads.
 */
export async function diskTakesWrites(folder: string): Promise<boolean> {
  const trial = trialFile(folder);
  try {
    const { bavail, bsize } = await statfs(folder);
    if (bavail * bsize < ROOM_BYTES) return false;
    const file = await open(trial, 'wx');
    try {
      await file.write(Buffer.alloc(TRIAL_BYTES));
      await file.sync();
    } finally {
      await file.close();
    }
    return true;
  } catch {
    return false;
  } finally {
    await rm(trial, { force: true }).catch(() => undefined);
  }
}
