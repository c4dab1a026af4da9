import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Told {
  thread: string;
  turns: { ms: number; atMs: number }[];
}

/** What attacked processes note of their threads' longest stretches of work (turn-watch.cjs). */
export class TurnNotes {
  private readonly folder = mkdtempSync(join(tmpdir(), 'quiver-turns-'));

  /** What a process is started with so that it does. */
  get environment(): Record<string, string> {
    return { NODE_OPTIONS: `--require ${join(__dirname, 'turn-watch.cjs')}`, QUIVER_TURNS: this.folder };
  }

  /** The longest of a process since a time, in milliseconds of processor time, and the thread; null: none was noted. */
  longest(pid: number, sinceMs: number): { ms: number; thread: string } | null {
    let found: { ms: number; thread: string } | null = null;
    for (const name of readdirSync(this.folder)) {
      if (!name.startsWith(`${pid}-`)) continue;
      const told = toldIn(join(this.folder, name));
      for (const { ms, atMs } of told?.turns ?? [])
        if (atMs >= sinceMs && ms > (found?.ms ?? 0)) found = { ms, thread: told!.thread };
    }
    return found;
  }

  close(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** null: it is being written. */
function toldIn(file: string): Told | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Told;
  } catch {
    return null;
  }
}
