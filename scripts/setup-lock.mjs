// One set-up at a time per checkout: two would overwrite each other's files.
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const WAIT_MS = 200;
/** The locks that this process holds. */
const held = new Set();

/**
 * Runs `work` while holding the lock file. Waits for a holder that is alive; takes the lock over if the holder is gone.
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
  held.add(file);
  try {
    return await work();
  } finally {
    held.delete(file);
    rmSync(file, { force: true });
  }
}

/**
 * The lock appears with its holder's id already in it, because it is a link to a complete file. So it is never incomplete.
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
 * Moves a lock whose holder is gone aside before removing it. So only one of several waiting processes gets it, and none
 * removes the lock of a new holder.
 * @param {string} file
 * @param {string} aside
 */
function removeIfAbandoned(file, aside) {
  const holder = holderOf(file);
  // In a container that starts again, process ids are the same each time: a lock of its own that it does not hold is of a life before.
  const isOfLifeBefore = holder === process.pid && !held.has(file);
  if (holder === null || (isAlive(holder) && !isOfLifeBefore)) return;
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
