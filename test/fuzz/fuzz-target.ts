/**
 * One thing that is fuzzed: real processes, and cases made up for them. A case is plain JSON, so that a finding is a
 * file. `run` and `check` answer what is wrong, in sentences; the part before the first colon names the kind of fault.
 */
export interface FuzzTarget<Case = unknown> {
  readonly name: TargetName;
  /** Cases between two looks at the process. */
  readonly casesPerCheck: number;
  start(): Promise<void>;
  /** `random` answers numbers in [0, 1) and is the only chance there is. */
  generate(random: () => number): Case;
  run(given: Case): Promise<string[]>;
  /** Whether the process is alive and well: its log, its memory, and the data that nobody touched. */
  check(): Promise<string[]>;
  /** Smaller cases, the most promising first. */
  shrink(given: Case): Case[];
  /** Ends every process and removes its data, in any state. */
  stop(): Promise<void>;
}

export const TARGET_NAMES = [
  'bodies',
  'uploads',
  'http',
  'http2',
  'rpc',
  'files',
  'imports',
  'documents',
  'threads',
] as const;
export type TargetName = (typeof TARGET_NAMES)[number];

/** One of the values. */
export function pick<T>(random: () => number, values: readonly T[]): T {
  return values[Math.floor(random() * values.length)];
}

/** An integer from 0 to below `limit`. */
export function below(random: () => number, limit: number): number {
  return Math.floor(random() * limit);
}
