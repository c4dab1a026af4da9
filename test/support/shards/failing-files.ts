import { spawnSync } from 'node:child_process';
import { closeSync, ftruncateSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const STATE_BYTES = 4096;
const MILLISECONDS_AT = 1;
const PATTERN_AT = 32;
const CLOCK_AT = 3072;
/** What the first byte of the state says. */
const MODES = { full: 'f', error: 'e', slow: 's' } as const;

/**
 * How calls go by which a process uses files: `full`: what takes room fails with ENOSPC. `error`: each fails with EIO.
 * `slow`: each takes longer.
 */
export type FileMode = keyof typeof MODES;

/**
 * Compiles what stands between processes and their files into a folder; answers the library. Throws if there is no
 * compiler.
 */
export function buildFailingFiles(folder: string): string {
  const library = join(folder, 'failing-files.so');
  const source = join(__dirname, '../native/failing-files.c');
  const { status, stderr } = spawnSync(
    process.env.CC ?? 'cc',
    ['-shared', '-fPIC', '-O1', source, '-o', library, '-ldl', '-lpthread'],
    { encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`the library was not built: ${stderr}`);
  return library;
}

/** Chosen files of the processes that are started with `environment`, and their wall clocks. */
export class FailingFiles {
  private readonly state: number;

  constructor(
    private readonly library: string,
    /** Made and removed here. */
    private readonly stateFile: string,
  ) {
    this.state = openSync(stateFile, 'w+');
    ftruncateSync(this.state, STATE_BYTES);
    this.restore();
  }

  /** What a process has to be started with. */
  get environment(): Record<string, string> {
    return { LD_PRELOAD: this.library, FAILING_FILES: this.stateFile };
  }

  /** From now on. `pattern`: an extended regular expression of POSIX, which whole paths are compared with. */
  begin(mode: FileMode, pattern: string, { milliseconds = 0 }: { milliseconds?: number } = {}): void {
    if (pattern.length >= CLOCK_AT - PATTERN_AT) throw new Error('the pattern is too long');
    this.restore();
    this.put(MILLISECONDS_AT, `${milliseconds}\0`);
    this.put(PATTERN_AT, `${pattern}\0`);
    this.put(0, MODES[mode]);
  }

  /** Ends it. */
  restore(): void {
    this.put(0, '-');
  }

  /** Puts the wall clock so far from the machine's. */
  setClock(seconds: number): void {
    this.put(CLOCK_AT, `${seconds}\0`);
  }

  close(): void {
    closeSync(this.state);
    rmSync(this.stateFile, { force: true });
  }

  private put(at: number, text: string): void {
    writeSync(this.state, text, at);
  }
}
