import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';

/**
 * Which process has the folder open: for the message to whoever wants it meanwhile. What keeps others out is the lock
 * of the store, which ends with its process, however that ends; this file may stay behind, and then says nothing.
 */
const OWNER_FILE = 'owner.json';
/** Of a command line, in a message. */
const SHOWN_MAX = 120;

interface FolderOwner {
  pid: number;
  /** Of its machine or container: elsewhere, another process may have the same pid. */
  host: string;
  /** Its command line. */
  program: string;
}

/**
 * Notes this process as the one that has the folder, whose store it has locked. `words`: its command line, which a
 * thread does not know. Answers what ends that.
 */
export function noteOwner(dataDir: string, words: readonly string[] = process.argv): () => void {
  const file = join(dataDir, OWNER_FILE);
  const owner: FolderOwner = { pid: process.pid, host: hostname(), program: words.join(' ').slice(0, SHOWN_MAX) };
  try {
    writeFileSync(file, `${JSON.stringify(owner)}\n`, { mode: 0o600 });
  } catch {
    // A full disk. Others are kept out all the same.
  }
  return () => {
    try {
      rmSync(file, { force: true });
    } catch {
      // As above.
    }
  };
}

/** For a message about a folder that is in use: by which process, as far as that is known. */
export function ownerOf(dataDir: string): string {
  try {
    const { pid, host, program } = JSON.parse(readFileSync(join(dataDir, OWNER_FILE), 'utf8')) as FolderOwner;
    if (host !== hostname()) return `another process: ${pid} of ${host} (${program})`;
    return pid === process.pid ? `this process (${pid}), which opens it once` : `another process: ${pid} (${program})`;
  } catch {
    return 'another process';
  }
}
