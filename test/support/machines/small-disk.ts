import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A disk of its own that a test may fill: a tmpfs, which takes the right to mount one. */
export class SmallDisk {
  private constructor(readonly folder: string) {}

  /** null where this user can't mount. */
  static mount(megabytes: number): SmallDisk | null {
    const folder = mkdtempSync(join(tmpdir(), 'quiver-small-disk-'));
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder]);
    if (mounted.status === 0) return new SmallDisk(folder);
    rmSync(folder, { recursive: true });
    return null;
  }

  /** Fills what is left, to the last page. */
  fill(): void {
    const file = openSync(join(this.folder, 'ballast'), 'a');
    for (const size of [1 << 20, 1 << 12, 1]) {
      try {
        for (const block = Buffer.alloc(size); ;) writeSync(file, block);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
    }
    closeSync(file);
  }

  /** Gives back what `fill` took. */
  free(): void {
    rmSync(join(this.folder, 'ballast'));
  }

  /** Has the system refuse every change, or take them again. Nobody may have a file open for writing. */
  setReadOnly(isReadOnly: boolean): void {
    const { status, stderr } = spawnSync('mount', ['-o', `remount,${isReadOnly ? 'ro' : 'rw'}`, this.folder], {
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(stderr);
  }

  unmount(): void {
    // A lazy unmount, as a process that was just killed may hold the disk for a moment.
    spawnSync('umount', ['-l', this.folder]);
    rmSync(this.folder, { recursive: true, force: true });
  }
}
