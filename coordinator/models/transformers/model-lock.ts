import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { modelFailure } from './model-failure';

/** A file beside a model's files: it records what they were when they were fetched, or first seen. */
export const LOCK_FILE = 'quiver-lock.json';

export interface FileFacts {
  bytes: number;
  sha256: string;
}

/** What a model's folder held at first; every later load is compared with it. */
export interface ModelLock {
  /** The revision that was requested; null for a folder that somebody else filled. */
  revision: string | null;
  /** The commit that the hub reported; null if it reported none. */
  commit: string | null;
  files: Readonly<Record<string, FileFacts>>;
}

export function lockToText(lock: ModelLock): string {
  return `${JSON.stringify({ format: 1, ...lock }, null, 1)}\n`;
}

/** The folder's lock; null if it has none. Errors: embedding_unavailable when it can't be read. */
export async function readLock(folder: string): Promise<ModelLock | null> {
  let text: string;
  try {
    text = await readFile(join(folder, LOCK_FILE), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' || (error as NodeJS.ErrnoException).code === 'ENOTDIR')
      return null;
    throw modelFailure(`its ${LOCK_FILE} can't be read`, error);
  }
  try {
    const { revision, commit, files } = JSON.parse(text) as ModelLock;
    if (
      typeof files === 'object' &&
      files !== null &&
      Object.values(files).every(({ bytes, sha256 }) => Number.isSafeInteger(bytes) && typeof sha256 === 'string')
    )
      return { revision, commit, files };
  } catch (error) {
    throw modelFailure(`its ${LOCK_FILE} is damaged`, error);
  }
  throw modelFailure(`its ${LOCK_FILE} is damaged`);
}

/** Size and digest of files in the folder as they are now, by path; missing files are left out. */
export async function factsOf(folder: string, paths: readonly string[]): Promise<Record<string, FileFacts>> {
  const facts: Record<string, FileFacts> = {};
  for (const path of paths) {
    const found = await stat(join(folder, path)).catch(() => null);
    if (found?.isFile()) facts[path] = { bytes: found.size, sha256: await digestOfFiles(folder, [path]) };
  }
  return facts;
}

/** SHA-256 of the contents of the files one after the other, like `cat … | sha256sum`. */
export async function digestOfFiles(folder: string, paths: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const path of paths)
    for await (const piece of createReadStream(join(folder, path), { highWaterMark: 1 << 20 }))
      hash.update(piece as Buffer);
  return hash.digest('hex');
}

/** Errors: embedding_unavailable that names the first file that differs from the lock. */
export async function checkLock(folder: string, lock: ModelLock): Promise<void> {
  const present = await factsOf(folder, Object.keys(lock.files));
  for (const [path, { bytes, sha256 }] of Object.entries(lock.files)) {
    const found = present[path];
    if (found === undefined) throw modelFailure(`its ${path} is missing`);
    if (found.bytes !== bytes || found.sha256 !== sha256)
      throw modelFailure(`its ${path} is not what it was when it was first used (${LOCK_FILE})`);
  }
}
