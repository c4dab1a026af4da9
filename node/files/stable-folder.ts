import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Syncs a folder, so that entries made, renamed or removed in it survive a loss of power. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Makes a folder and its parents, and syncs them. Answers whether it was missing. */
export async function makeStableFolder(folder: string): Promise<boolean> {
  const first = await mkdir(folder, { recursive: true });
  if (first === undefined) return false;
  for (let made = folder; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made));
  return true;
}
