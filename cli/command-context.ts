import type { Readable, Writable } from 'node:stream';

/** What a command sees of its process: given by main.ts, so that nothing below reads the environment by itself. */
export interface CommandContext {
  /** Of the program. */
  version: string;
  /** The folder of the files that start services. */
  scripts: string;
  /** The environment's variables. */
  environment: Record<string, string | undefined>;
  input: Readable;
  /** Results, and nothing else: what a script reads. */
  output: Writable;
  /** Everything said to a person: errors, warnings, progress. */
  messages: Writable & { isTTY?: boolean; columns?: number };
  /** Aborted by Ctrl-C and SIGTERM. */
  signal: AbortSignal;
  /** Called by a command that is done but for something its exit code should say. */
  exitWith(code: number): void;
}
