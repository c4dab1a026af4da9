import { readFileSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

export const MEMORY = '/dev/shm';
/** Far more than all tests that run at once have there; a container often has 64 MiB. */
const FREE_BYTES_MIN = 4 * 2 ** 30;
/** What is there counts as memory of the tests, of which a container may have less than its machine. */
const MEMORY_BYTES_MIN = 8 * 2 ** 30;
/** In the environment of a run: its folder in memory, and where temporary files are on the disk. */
export const RUN_IN_MEMORY = 'JEST_RUN_IN_MEMORY';
export const RUN_ON_DISK = 'JEST_RUN_ON_DISK';

/**
 * The folder for data of services and shards: memory where there is enough, else where all temporary files are. They
 * sync each write, and many small files are made and removed. What a killed process has written is there afterwards in
 * both; what a machine without power would lose is no matter of these tests (power-loss-store.ts).
 */
export const DATA_PARENT = hasRoom() ? (process.env[RUN_IN_MEMORY] ?? MEMORY) : onDisk();

/** The folder for all other temporary files at present: programs are among them, which not all memory lets run. */
export function temporaryFolder(): string {
  return hasRoom() && mayExecute() ? (process.env[RUN_IN_MEMORY] ?? tmpdir()) : onDisk();
}

export function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= FREE_BYTES_MIN && process.availableMemory() >= MEMORY_BYTES_MIN;
  } catch {
    // Not on every system.
    return false;
  }
}

/** Whether programs in a folder may run, by what is mounted (`/proc/mounts`). */
export function isExecutable(folder: string, mounts: string): boolean {
  const around = mounts
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([, point]) => point === '/' || point === folder || folder.startsWith(`${point}/`));
  const length = Math.max(...around.map(([, point]) => point.length));
  // The last one at a place lies over those before.
  const options = around.findLast(([, point]) => point.length === length)?.[3];
  return options !== undefined && !options.split(',').includes('noexec');
}

function mayExecute(): boolean {
  try {
    return isExecutable(MEMORY, readFileSync('/proc/mounts', 'utf8'));
  } catch {
    return false;
  }
}

function onDisk(): string {
  return process.env[RUN_ON_DISK] ?? tmpdir();
}
