// One set-up at a time in a checkout: two would install over each other.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const WAIT_MS = 200;

/** Runs `work` while holding the lock file; waits for a holder that is alive, takes over from one that is gone. */
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

function take(file) {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
  try {
    const holder = Number(readFileSync(file, 'utf8'));
    if (holder > 0) process.kill(holder, 0);
    return false;
  } catch (error) {
    // ESRCH: the holder died; ENOENT: it has just finished. Either way the next try decides.
    if (error.code === 'ESRCH') rmSync(file, { force: true });
    return false;
  }
}
