import { mkdir, open, rename } from 'node:fs/promises';
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

/** Makes a folder and its parents, with `mode`, and syncs them. Answers whether it was missing. */
export async function makeStableFolder(folder: string, mode?: number): Promise<boolean> {
  const first = await mkdir(folder, { recursive: true, mode });
  if (first === undefined) return false;
  for (let made = folder; made.length >= first.length; made = dirname(made)) await syncFolder(dirname(made));
  return true;
}

/**
 * Writes a small file whole: aside, synced, and renamed over the one before, so that a reader finds either of them.
 * After a loss of power the folder may still name the one before, until it is synced ({@link syncFolder}).
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  const aside = `${path}.next`;
  const handle = await open(aside, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(aside, path);
}
