import { sharedMs } from '../../../shared/base/time/shared-clock';
import { type AliasTenure, OWN_ALIASES } from './alias-names';

/** Places in the shared memory. */
const MONOTONIC = 0;
const WALL = 1;

/**
 * Until when this process is certain of aliases, in memory that all its threads see. Clocks may stand still while the
 * machine sleeps, so it is over as soon as one of two says so.
 */
export class SharedTenure implements AliasTenure {
  readonly memory = new Float64Array(new SharedArrayBuffer(2 * Float64Array.BYTES_PER_ELEMENT));

  isHeld(): boolean {
    return isHeldIn(this.memory);
  }

  /** `untilMs`: by the clock of the process's threads. */
  extend(untilMs: number): void {
    this.memory[MONOTONIC] = untilMs;
    this.memory[WALL] = Date.now() + untilMs - sharedMs();
  }

  end(): void {
    this.memory.fill(0);
  }
}

/** That of another thread's memory; none: the process is always certain. */
export function tenureIn(memory: Float64Array | undefined): AliasTenure {
  return memory === undefined ? OWN_ALIASES : { isHeld: () => isHeldIn(memory) };
}

function isHeldIn(memory: Float64Array): boolean {
  return sharedMs() < memory[MONOTONIC] && Date.now() < memory[WALL];
}
