import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Diversity, GroupKey } from '../search-request';
import type { ScoredHit } from '../service';
import type { LookedAt } from './found-groups';
import { groupKeysOf } from './group-key';
import { KeyDigests } from './key-digests';

/** A number, a text or a boolean. */
type Value = Exclude<GroupKey, null>;

/** Digests of values in a cursor. */
const VALUES_MAX = 50_000;

/**
 * How many hits of a list have each value, of which no more may have one than `atMost`: by the digests of the pages
 * before, one for each hit, and what is added.
 */
export class ValueCounts {
  /** Values of which there are as many as there may be, as far as they were met. */
  readonly full = new Set<Value>();
  private readonly counts = new Map<Value, number>();
  private readonly added: string[] = [];

  constructor(
    private readonly diversity: Diversity & { type: 'field' },
    private readonly before = KeyDigests.NONE,
  ) {}

  /**
   * The values of a hit, by its metadata; null: of one of them there are as many as there may be. In steps: a hit may
   * have thousands.
   */
  *roomFor(metadata: string): Generator<undefined, readonly Value[] | null> {
    const values = groupKeysOf(metadata, this.diversity.path) as readonly Value[];
    let isFull = false;
    for (const value of values) {
      yield;
      if (this.countOf(value) < this.diversity.atMost) continue;
      this.full.add(value);
      isFull = true;
    }
    return isFull ? null : values;
  }

  /** The hits for which there is room; they are added. In steps. */
  *taken(looked: readonly LookedAt[]): Generator<undefined, ScoredHit[]> {
    const hits: ScoredHit[] = [];
    for (const { hit, metadata } of looked) {
      yield;
      const values = yield* this.roomFor(metadata);
      if (values === null) continue;
      this.add(values);
      hits.push(hit);
    }
    return hits;
  }

  /** One more hit has them. */
  add(values: readonly Value[]): void {
    for (const value of values) {
      const count = this.countOf(value) + 1;
      this.counts.set(value, count);
      this.added.push(nameOf(value, count));
      if (count === this.diversity.atMost) this.full.add(value);
    }
  }

  /** For the page behind. In steps. Errors: limit_exceeded, of more than a cursor holds. */
  *given(): Generator<undefined, KeyDigests> {
    const all = yield* this.before.withInSteps(this.added);
    if (all.size <= VALUES_MAX) return all;
    throw new QuiverError(
      'limit_exceeded',
      `this cursor ended: it goes on for ${VALUES_MAX} values; filter what is searched`,
    );
  }

  private countOf(value: Value): number {
    let count = this.counts.get(value);
    if (count !== undefined) return count;
    count = 0;
    while (count < this.diversity.atMost && this.before.has(nameOf(value, count + 1))) count += 1;
    this.counts.set(value, count);
    return count;
  }
}

/** 1 and "1" are two values. */
function nameOf(value: Value, count: number): string {
  return `${count} ${typeof value} ${value}`;
}
