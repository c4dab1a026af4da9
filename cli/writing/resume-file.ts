import { createHash } from 'node:crypto';
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { CommandError, EXIT_CODES } from '../command-error';

/** Raised when what a file says changes its meaning; one of another version is not understood. */
const VERSION = 1;

/** Where checkpoints are kept when none is named: the user's state folder. */
export function resumePath(environment: Record<string, string | undefined>, what: unknown): string {
  const state = environment.XDG_STATE_HOME || join(environment.HOME || homedir(), '.local', 'state');
  const name = createHash('sha256').update(JSON.stringify(what)).digest('hex').slice(0, 24);
  return join(state, 'quiver', `${name}.json`);
}

/**
 * How far something long has come, in a file that is replaced whole, so that a kill at any moment leaves the one before
 * or the one after. `identity` says what it belongs to (the source with its fingerprint, the collection, how columns
 * are mapped), as a flat object of JSON values: a file of something else is refused, and the difference named.
 */
export class ResumeFile<State> {
  constructor(
    readonly path: string,
    private readonly identity: Record<string, unknown>,
  ) {}

  /** Null where there is none. */
  read(): State | null {
    let text: string;
    try {
      text = readFileSync(this.path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw new CommandError(
        `the checkpoint ${this.path} can't be read: ${(error as Error).message}`,
        EXIT_CODES.usage,
        { cause: error },
      );
    }
    let json: { version?: unknown; identity?: Record<string, unknown>; state?: State };
    try {
      json = JSON.parse(text) as typeof json;
    } catch {
      json = {};
    }
    if (json.version !== VERSION || json.identity === undefined || json.state === undefined)
      throw new CommandError(
        `${this.path} is not a checkpoint of this version; --restart begins anew`,
        EXIT_CODES.usage,
      );
    const changed = [...new Set([...Object.keys(this.identity), ...Object.keys(json.identity)])].filter(
      (key) => JSON.stringify(this.identity[key]) !== JSON.stringify(json.identity?.[key]),
    );
    if (changed.length > 0)
      throw new CommandError(
        `an import that was interrupted left ${this.path}, but since then has changed: ${changed.join(', ')}. --restart begins anew`,
        EXIT_CODES.usage,
      );
    return json.state;
  }

  write(state: State): void {
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
    // Another run may write at the same time.
    const next = `${this.path}.${process.pid}.next`;
    const file = openSync(next, 'w', 0o600);
    try {
      writeFileSync(file, `${JSON.stringify({ version: VERSION, identity: this.identity, state })}\n`);
      // So that a power cut leaves one that is whole, too.
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(next, this.path);
  }

  remove(): void {
    rmSync(this.path, { force: true });
  }
}
