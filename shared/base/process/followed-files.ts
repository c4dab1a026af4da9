import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

/**
 * How often the files are read. Watches of the system miss what Kubernetes does, which puts another folder in the place
 * of one; and these are small files, a few of which take some hundredths of a millisecond.
 */
const CHECK_MS = 5_000;

/**
 * Files that may be replaced while the process runs: certificates and secrets. They are read again every few seconds
 * and at SIGHUP. What can't be used is told once, and tried again; until then, what was used before stays in force.
 */
export class FollowedFiles {
  private readonly timer: NodeJS.Timeout;
  private readonly look = (): void => void this.read();
  /** What was last used. */
  private used: readonly Buffer[];
  private complaint: string | null = null;
  private isReading = false;

  /**
   * `onChange` gets what the files hold, in their order; it throws when that can't be used. `onError` gets why, also of
   * a file that is gone. `first`: what they held when they were read at the start.
   */
  constructor(
    private readonly parts: {
      paths: readonly string[];
      first: readonly Buffer[];
      onChange: (contents: Buffer[]) => void | Promise<void>;
      onError: (error: unknown) => void;
      lookMs?: number;
    },
  ) {
    this.used = parts.first;
    this.timer = setInterval(this.look, parts.lookMs ?? CHECK_MS);
    this.timer.unref();
    process.on('SIGHUP', this.look);
  }

  close(): void {
    clearInterval(this.timer);
    process.off('SIGHUP', this.look);
  }

  private async read(): Promise<void> {
    if (this.isReading) return;
    this.isReading = true;
    try {
      const contents = await Promise.all(this.parts.paths.map((path) => readFile(path)));
      if (contents.some((content, i) => !content.equals(this.used[i]))) await this.parts.onChange(contents);
      this.used = contents;
      this.complaint = null;
    } catch (error) {
      const complaint = String((error as Error).message);
      if (complaint !== this.complaint) this.parts.onError(error);
      this.complaint = complaint;
    } finally {
      this.isReading = false;
    }
  }
}

/** Reads files at once. Errors: those of readFileSync. */
export function readAll(paths: readonly string[]): Buffer[] {
  return paths.map((path) => readFileSync(path));
}
