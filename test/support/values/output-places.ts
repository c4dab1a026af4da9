import { spawnSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../eventually';

/** What a pipe is read in. */
const READ_BYTES = 65_536;
/** Of the event loop, in which a reader looks for more before it rests. */
const TURNS = 20_000;

/**
 * A pipe whose reader stands still until it is told to read, or goes away. Its writer is for a process that is started
 * with it.
 */
export class StalledPipe {
  readonly writer: number;
  private readonly reader: number;
  private isOpen = true;
  readonly path: string;
  private readonly folder: string;

  constructor() {
    this.folder = mkdtempSync(join(tmpdir(), 'quiver-pipe-'));
    this.path = join(this.folder, 'pipe');
    const { status, error } = spawnSync('mkfifo', [this.path]);
    if (status !== 0) throw new Error('mkfifo failed', { cause: error });
    this.reader = openSync(this.path, constants.O_RDONLY | constants.O_NONBLOCK);
    this.writer = openSync(this.path, constants.O_WRONLY);
  }

  /** A writer that does not wait, for this process. */
  openWriter(): number {
    return openSync(this.path, constants.O_WRONLY | constants.O_NONBLOCK);
  }

  /** What is in it now. */
  read(): string {
    let text = '';
    for (const block = Buffer.alloc(READ_BYTES); ;) {
      try {
        const count = readSync(this.reader, block);
        if (count === 0) return text;
        text += block.toString('utf8', 0, count);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
        return text;
      }
    }
  }

  /** Reads on until that was said, to the end of a line; answers all of it. */
  async readUntil(words: string): Promise<string> {
    let said = '';
    let last = '';
    const found = async (): Promise<boolean> => {
      // As a reader that does nothing else: what is written goes on at once.
      for (let turn = 0; turn < TURNS; turn += 1) {
        const read = this.read();
        said += read;
        last = (last + read).slice(-words.length - READ_BYTES * 2);
        if (last.includes(words) && last.endsWith('\n')) return true;
        await new Promise((done) => setImmediate(done));
      }
      return false;
    };
    await eventually(`"${words}" is said`, found);
    return said;
  }

  /** The reader goes away. */
  leave(): void {
    if (this.isOpen) closeSync(this.reader);
    this.isOpen = false;
  }

  close(): void {
    this.leave();
    closeSync(this.writer);
    rmSync(this.folder, { recursive: true });
  }
}
