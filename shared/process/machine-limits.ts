import { readFileSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { totalmem } from 'node:os';

/** What the system lets this process have. */
export interface MachineLimits {
  /** Files, sockets and pipes that may be open at once. */
  openFilesMax: number;
  /** Bytes of memory: the container's share, or all there is. */
  memoryBytes: number;
}

/** Where the system does not say: the usual soft limit of a login. */
const OPEN_FILES_UNKNOWN = 1024;
const OWN_FILES = '/proc/self/fd';

/**
 * Asks the system once. Node raises its soft limit of open files to the hard one before any JavaScript runs, so that what
 * is read here is the most that there can be.
 */
export function readMachineLimits(): MachineLimits {
  // Without a bound of the container, some systems answer a number beyond all memory.
  const bound = process.constrainedMemory?.() ?? 0;
  const all = totalmem();
  return { openFilesMax: openFilesMax(), memoryBytes: bound > 0 && bound < all ? bound : all };
}

function openFilesMax(): number {
  let text: string;
  try {
    text = readFileSync('/proc/self/limits', 'latin1');
  } catch {
    return OPEN_FILES_UNKNOWN;
  }
  const [, soft] = /^Max open files\s+(\S+)/m.exec(text) ?? [];
  if (soft === 'unlimited') return Number.MAX_SAFE_INTEGER;
  return Number(soft) || OPEN_FILES_UNKNOWN;
}

/** How many files this process has open now; null where the system does not say. All of them when not even that can be opened. */
export async function countOpenFiles(openFilesMax: number): Promise<number | null> {
  try {
    // Linux 6.2 and later tells the count as the size of the folder, which needs no file of its own.
    const { size } = await stat(OWN_FILES);
    return size > 0 ? size : (await readdir(OWN_FILES)).length;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'EMFILE' || code === 'ENFILE' ? openFilesMax : null;
  }
}
