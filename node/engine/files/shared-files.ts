import { type FileHandle, open } from 'node:fs/promises';

interface OpenFile {
  readonly handle: Promise<FileHandle>;
  readers: number;
  /** No longer among those that are kept: it is closed after its last reader. */
  isGone: boolean;
}

/**
 * Files that are read now and then: of all together, no more than a number stay open while nobody reads them. Those
 * that were read last stay.
 */
export class SharedFiles {
  /** By who reads it, the one whose last reading began first in front. */
  private readonly kept = new Map<object, OpenFile>();

  constructor(private readonly keptMax: number) {}

  /** Opens the file of `owner` if it is not open, and gives it to `work`. Rejects with what the file system says. */
  async reading<Result>(owner: object, path: string, work: (file: FileHandle) => Promise<Result>): Promise<Result> {
    const file = this.kept.get(owner) ?? { handle: open(path, 'r'), readers: 0, isGone: false };
    this.kept.delete(owner);
    this.kept.set(owner, file);
    file.readers += 1;
    this.trim();
    try {
      return await work(await file.handle);
    } catch (error) {
      // The next one tries again to open it.
      if (await isNotOpen(file)) this.let(owner, file);
      throw error;
    } finally {
      file.readers -= 1;
      if (file.isGone && file.readers === 0) await close(file);
      this.trim();
    }
  }

  /** Closes the file of `owner`, after those who read it now. */
  async forget(owner: object): Promise<void> {
    const file = this.kept.get(owner);
    if (file === undefined) return;
    this.let(owner, file);
    if (file.readers === 0) await close(file);
  }

  /** How many are open or being opened, without those that are only read to their end. */
  get size(): number {
    return this.kept.size;
  }

  private trim(): void {
    for (const [owner, file] of this.kept) {
      if (this.kept.size <= this.keptMax) return;
      if (file.readers > 0) continue;
      this.let(owner, file);
      void close(file);
    }
  }

  private let(owner: object, file: OpenFile): void {
    file.isGone = true;
    if (this.kept.get(owner) === file) this.kept.delete(owner);
  }
}

function isNotOpen({ handle }: OpenFile): Promise<boolean> {
  return handle.then(
    () => false,
    () => true,
  );
}

async function close({ handle }: OpenFile): Promise<void> {
  await handle.then((file) => file.close()).catch(() => undefined);
}
