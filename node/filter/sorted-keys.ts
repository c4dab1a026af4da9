import type { RangeOperator } from '../../shared/filter/filter';
import { inRange } from './matches';

/** Ids sorted at once: about 30 ms for strings, the longest that one range may block everything else. */
const RUN_MAX = 32_768;
/** Fewer ids than this are tested one by one, so that runs don't become tiny when puts and ranges alternate. */
const RUN_MIN = 4_096;

/**
 * The ids of a dictionary's keys in the order of the keys: a number of sorted runs and an unsorted rest. Each range
 * sorts a part of the rest, so that the first range over a million keys does not block the process for a second.
 */
export class SortedKeys<K extends number | string> {
  private readonly runs: Uint32Array[] = [];
  private rest: number[] = [];

  /** `keys` is the dictionary's own array, by id. The keys of ids added here must not change. */
  constructor(private readonly keys: readonly K[]) {}

  add(id: number): void {
    this.rest.push(id);
  }

  forEachInRange(operator: RangeOperator, bound: K, visit: (id: number) => void): void {
    if (this.rest.length >= RUN_MIN) this.sortSome();
    for (const run of this.runs) {
      const split = this.split(run, operator === 'lt' || operator === 'gte', bound);
      const [from, to] = operator === 'lt' || operator === 'lte' ? [0, split] : [split, run.length];
      for (let i = from; i < to; i++) visit(run[i]);
    }
    for (const id of this.rest) if (inRange(this.keys[id], operator, bound)) visit(id);
  }

  get memoryBytes(): number {
    return this.runs.reduce((bytes, run) => bytes + run.byteLength, 8 * this.rest.length);
  }

  private sortSome(): void {
    const run = Uint32Array.from(this.rest.splice(-RUN_MAX));
    const keys = this.keys;
    this.runs.push(run.sort((a, b) => (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : 0)));
  }

  /** How many ids of the run have a key below the bound, or at most the bound if `strictly` is false. */
  private split(run: Uint32Array, strictly: boolean, bound: K): number {
    let from = 0;
    let to = run.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      const key = this.keys[run[middle]];
      if (key < bound || (!strictly && key === bound)) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
