import { spawnSync } from 'node:child_process';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Disks can be made to fail where a library can be loaded before those of a process. */
export const HAS_DISKS_UNDER_TEST = process.platform === 'linux';

/**
 * Compiles what stands between processes and their disks into a folder; answers the file. Throws if there is no
 * compiler.
 */
export function buildDiskShim(folder: string): string {
  const shim = join(folder, 'disk-shim.so');
  const { status, stderr } = spawnSync(
    process.env.CC ?? 'cc',
    ['-shared', '-fPIC', '-O1', join(__dirname, '../native/disk-shim.c'), '-o', shim, '-ldl'],
    { encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`the disk shim was not built: ${stderr}`);
  return shim;
}

/**
 * The disk of one process, as that process has it: what it syncs can be made to wait. Reads and writes go on, as with a
 * full cache.
 */
export class DiskUnderTest {
  constructor(
    private readonly shim: string,
    /** Holds the disk's state; made and removed here. */
    private readonly stateFile: string,
  ) {}

  /** What the process has to be started with. */
  get environment(): Record<string, string> {
    return { LD_PRELOAD: this.shim, DISK_STATE: this.stateFile };
  }

  /** No sync returns any more. */
  hang(): void {
    this.set('hang');
  }

  /** Each sync takes so much longer. */
  slow(milliseconds: number): void {
    this.set(String(milliseconds));
  }

  /** Ends either, and what waits goes on. */
  restore(): void {
    rmSync(this.stateFile, { force: true });
  }

  private set(state: string): void {
    // At once, so that nobody reads half of it.
    writeFileSync(`${this.stateFile}.next`, state);
    renameSync(`${this.stateFile}.next`, this.stateFile);
  }
}
