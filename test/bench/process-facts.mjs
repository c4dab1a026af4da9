import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Clock ticks per second of /proc on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/**
 * Resident memory in bytes: all of it, the part that maps files (which the system may drop), and the rest. Null off
 * Linux.
 */
export function residentMemory(pid) {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const bytes = (name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) * 1024;
    return { totalBytes: bytes('VmRSS'), fileBytes: bytes('RssFile'), ownBytes: bytes('RssAnon') };
  } catch {
    return null;
  }
}

/** Processor time that a process has used, in seconds. Null off Linux. */
export function processorSeconds(pid) {
  try {
    return usedSeconds(`/proc/${pid}/stat`);
  } catch {
    return null;
  }
}

/**
 * Processor time that each thread of a process has used, in microseconds, by its number; the main thread has the
 * process's. Exact where the system counts so, else in steps of 10 ms. Linux only.
 * @returns {Map<number, number>}
 */
export function threadMicros(pid) {
  return new Map(
    readdirSync(`/proc/${pid}/task`).flatMap((id) => {
      const folder = `/proc/${pid}/task/${id}`;
      for (const read of [
        () => Number(readFileSync(`${folder}/schedstat`, 'utf8').split(' ')[0]) / 1000,
        () => usedSeconds(`${folder}/stat`) * 1e6,
      ]) {
        try {
          return [[Number(id), read()]];
        } catch {
          // The system has no such file, or the thread has ended.
        }
      }
      return [];
    }),
  );
}

function usedSeconds(file) {
  const fields = readFileSync(file, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** How many files, sockets and pipes a process has open. Null off Linux. */
export function openFiles(pid) {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return null;
  }
}

/** Bytes that a folder takes on the disk. Files that vanish meanwhile count nothing. */
export function diskBytes(folder) {
  let total = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) total += diskBytes(path);
    else total += (statSync(path, { throwIfNoEntry: false })?.blocks ?? 0) * 512;
  }
  return total;
}
