// One set-up at a time in a checkout: two would install over each other.
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const WAIT_MS = 200;

/**
 * Runs `work` while holding the lock file; waits for a holder that is alive, takes over from one that is gone.
 * @template Result
 * @param {string} file
 * @param {() => Promise<Result>} work
 * @param {{ log: (line: string) => void }} options
 */
export async function withSetupLock(file, work, { log }) {
  mkdirSync(dirname(file), { recursive: true });
  let hasSaid = false;
  while (!take(file)) {
    if (!hasSaid) log('waiting for another set-up in this folder');
    hasSaid = true;
    await new Promise((wake) => setTimeout(wake, WAIT_MS));
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

/**
 * The lock appears with its holder's id already in it (a link to a file that is complete), so it is never half a lock.
 * @param {string} file
 */
function take(file) {
  const own = `${file}.${process.pid}`;
  writeFileSync(own, String(process.pid));
  try {
    linkSync(own, file);
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    removeIfAbandoned(file, own);
    return false;
  } finally {
    rmSync(own, { force: true });
  }
}

/**
 * A lock whose holder is gone is moved aside first: of several that wait, one gets it, and no one a new holder's.
 * @param {string} file
 * @param {string} aside
 */
function removeIfAbandoned(file, aside) {
  const holder = holderOf(file);
  if (holder === null || isAlive(holder)) return;
  try {
    renameSync(file, aside);
  } catch (error) {
    if (error.code === 'ENOENT') return;
    throw error;
  }
  const moved = holderOf(aside);
  if (moved !== null && moved !== holder && isAlive(moved)) linkSync(aside, file);
}

/** @param {string} file */
function holderOf(file) {
  try {
    return Number(readFileSync(file, 'utf8'));
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code !== 'ESRCH';
  }
}
