import { readFileSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { availableParallelism, totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';

/** The limits that the system sets for this process. */
export interface MachineLimits {
  /** Files, sockets and pipes that may be open at the same time. */
  openFilesMax: number;
  /** Bytes of memory: the container's limit, or all of the machine's. */
  memoryBytes: number;
  /**
   * Processors whose time it may take: those that it may run on, or the container's share of them, which may be a
   * fraction.
   */
  processors: number;
  /** Bytes of address space that are left (ulimit -v); Infinity: it is not limited. */
  addressSpaceLeft: number;
  /** Bytes that the heap of a thread may have. */
  heapBytes: number;
}

/** Used if the system gives no limit: the usual soft limit of a login. */
const OPEN_FILES_UNKNOWN = 1024;
const OWN_FILES = '/proc/self/fd';

/**
 * Reads the limits once. Node raises its soft limit of open files to the hard limit before any JavaScript runs, so the
 * value read here is the real maximum.
 */
export function readMachineLimits(): MachineLimits {
  // Without a container limit, some systems answer a number larger than the memory.
  const bound = process.constrainedMemory?.() ?? 0;
  const all = totalmem();
  return {
    openFilesMax: openFilesMax(),
    memoryBytes: bound > 0 && bound < all ? bound : all,
    processors: Math.min(availableParallelism(), processorQuota()),
    addressSpaceLeft: addressSpaceLeft(),
    heapBytes: getHeapStatistics().heap_size_limit,
  };
}

/** Where a container finds its own quota of processor time: cgroup version 2, then 1. */
const QUOTA_FILES = ['/sys/fs/cgroup/cpu.max'];
const EARLIER_QUOTA_FILES = ['/sys/fs/cgroup/cpu/cpu.cfs_quota_us', '/sys/fs/cgroup/cpu/cpu.cfs_period_us'];

/** How many processors' time the container may take; Infinity: there is no quota, or it is not known. */
export function processorQuota(read: (file: string) => string = (file) => readFileSync(file, 'latin1')): number {
  for (const files of [QUOTA_FILES, EARLIER_QUOTA_FILES]) {
    try {
      const [quota, period] = files.map(read).join(' ').trim().split(/\s+/).map(Number);
      // `max`, and -1, are no quota.
      if (quota > 0 && period > 0) return quota / period;
    } catch {
      // This version is not there.
    }
  }
  return Infinity;
}

/** Bytes of address space that this process may still take; Infinity: any number, or it is not known. */
export function addressSpaceLeft(read: (file: string) => string = (file) => readFileSync(file, 'latin1')): number {
  try {
    const [, soft] = /^Max address space\s+(\d+)/m.exec(read('/proc/self/limits')) ?? [];
    const [, taken] = /^VmSize:\s+(\d+) kB/m.exec(read('/proc/self/status')) ?? [];
    if (soft !== undefined && taken !== undefined) return Math.max(0, Number(soft) - Number(taken) * 1024);
  } catch {
    // Not Linux.
  }
  return Infinity;
}

function openFilesMax(): number {
  let text: string;
  try {
    text = readFileSync('/proc/self/limits', 'latin1');
  } catch {
    return OPEN_FILES_UNKNOWN;
  }
  const [, soft] = /^Max open files\s+(\S+)/m.exec(text) ?? [];
  if (soft === 'unlimited') return Number.MAX_SAFE_INTEGER;
  return Number(soft) || OPEN_FILES_UNKNOWN;
}

/**
 * How many files this process has open now; null where the system does not say. Answers `openFilesMax` when no further
 * file can be opened to count them.
 */
export async function countOpenFiles(openFilesMax: number): Promise<number | null> {
  try {
    // Linux 6.2 and later give the count as the size of the folder, so reading it opens no file.
    const { size } = await stat(OWN_FILES);
    return size > 0 ? size : (await readdir(OWN_FILES)).length;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'EMFILE' || code === 'ENFILE' ? openFilesMax : null;
  }
}
