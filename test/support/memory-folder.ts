import { statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

const MEMORY = '/dev/shm';
/** Far more than all tests that run at once have there; a container often has 64 MiB. */
const FREE_BYTES_MIN = 4 * 2 ** 30;
/** What is there counts as memory of the tests, of which a container may have less than its machine. */
const MEMORY_BYTES_MIN = 8 * 2 ** 30;

/**
 * The folder for data of services and shards: memory where there is enough, else where all temporary files are. They
 * sync each write, and many small files are made and removed. What a killed process has written is there afterwards in
 * both; what a machine without power would lose is no matter of these tests (power-loss-store.ts).
 */
export const DATA_PARENT = hasRoom() ? MEMORY : tmpdir();

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= FREE_BYTES_MIN && process.availableMemory() >= MEMORY_BYTES_MIN;
  } catch {
    // Not on every system.
    return false;
  }
}
