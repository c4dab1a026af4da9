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
 * The lock appears with its holder already in it, because it is a link to a complete file. So it is never incomplete.
 * @param {string} file
 */
function take(file) {
  const own = `${file}.${process.pid}`;
  writeFileSync(own, `${process.pid} ${lifeOf(process.pid)}`.trim());
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
 * Moves a lock whose holder is gone aside before removing it. So only one of several waiting processes gets it, and
 * none removes the lock of a new holder.
 * @param {string} file
 * @param {string} aside
 */
function removeIfAbandoned(file, aside) {
  const holder = holderOf(file);
  // In a container that starts again, process ids are the same each time: a lock of its own that it does not hold is of
  // a life before.
  const isOfLifeBefore = holder?.pid === process.pid && !held.has(file);
  if (holder === null || (isAlive(holder) && !isOfLifeBefore)) return;
  try {
    renameSync(file, aside);
  } catch (error) {
    if (error.code === 'ENOENT') return;
    throw error;
  }
  const moved = holderOf(aside);
  if (moved !== null && (moved.pid !== holder.pid || moved.life !== holder.life) && isAlive(moved))
    linkSync(aside, file);
}

/**
 * The process that the lock names. Earlier versions wrote the id alone; then `life` is ''.
 * @param {string} file
 */
function holderOf(file) {
  try {
    const [pid, life = ''] = readFileSync(file, 'utf8').split(' ');
    return { pid: Number(pid), life };
  } catch (error) {
    if (error.code === 'ENOENT') return null;
    throw error;
  }
}

/**
 * Whether the process still runs. Its id may be another's by now: after a crash, and above all after a start of the
 * machine.
 * @param {{ pid: number, life: string }} holder
 */
function isAlive({ pid, life }) {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (error.code === 'ESRCH') return false;
  }
  const present = life === '' ? '' : lifeOf(pid);
  return present === '' || present === life;
}

/**
 * What tells a process from all others that have its id at another time: when it started, in which start of the
 * machine. '' where the system does not say: only Linux has these files.
 * @param {number} pid
 */
function lifeOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the name in parentheses, which may hold blanks; the start is the 22nd.
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    return `${started}@${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}`;
  } catch {
    return '';
  }
}
