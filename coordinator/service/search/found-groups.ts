import { compareHits } from '../../../shared/contract/shard/shard-read';
import type { FoundGroup, ScoredHit } from '../service';
import type { GroupKey } from '../search-request';
import { compareKeys, groupKeysOf } from './group-key';

/** Hits whose keys are looked up before others may be served: some hundred microseconds. */
const HITS_PER_STEP = 256;

/** A group while it is being filled. */
export interface OpenGroup extends FoundGroup {
  /** Whether these are its best hits: there are as many as wanted, or no more. */
  isWhole: boolean;
}

/** A hit, and what its keys are looked up in, which may be more than the hit keeps. */
export interface LookedAt {
  hit: ScoredHit;
  metadata: string;
}

/** Groups by key, in the order in which they were found. */
export class FoundGroups {
  private readonly groups = new Map<string, OpenGroup>();

  constructor(private readonly wanted: { path: string; size: number; each: boolean }) {}

  get size(): number {
    return this.groups.size;
  }

  /** How many of them are a hit without a key. */
  get alone(): number {
    let count = 0;
    for (const { key } of this.groups.values()) if (key === null) count += 1;
    return count;
  }

  get keys(): Exclude<GroupKey, null>[] {
    return [...this.groups.values()].flatMap(({ key }) => (key === null ? [] : [key]));
  }

  /**
   * Groups that are in none of `known`, of hits in the order of answers: of each the best hits, as many as are wanted.
   * In steps.
   */
  *add(hits: readonly LookedAt[], known: readonly FoundGroups[] = []): Generator<undefined, void> {
    const { path, size, each } = this.wanted;
    for (const [i, { hit, metadata }] of hits.entries()) {
      const keys = groupKeysOf(metadata, path);
      for (const key of keys.length > 0 ? keys : each ? [null] : []) {
        const name = groupName(key, hit);
        if (known.some(({ groups }) => groups.has(name))) continue;
        const group = this.groups.get(name);
        if (group === undefined) this.groups.set(name, { key, hits: [hit], isWhole: size === 1 || key === null });
        else if (group.hits.length < size) group.isWhole = group.hits.push(hit) === size;
      }
      if (i % HITS_PER_STEP === HITS_PER_STEP - 1) yield;
    }
  }

  /** Those of `others`, behind the ones that are there. */
  append(others: FoundGroups): void {
    for (const [name, group] of others.groups) if (!this.groups.has(name)) this.groups.set(name, group);
  }

  /** There are no more hits of these groups than were added. */
  close(): void {
    for (const group of this.groups.values()) group.isWhole = true;
  }

  /** In the order in which they were found. */
  list(): OpenGroup[] {
    return [...this.groups.values()];
  }
}

/** The order of groups: that of their best hits. */
export function compareGroups(a: FoundGroup, b: FoundGroup): number {
  return compareHits(a.hits[0], b.hits[0]) || compareKeys(a.key, b.key);
}

/** Of the group that a hit is in by a key: 1 and "1" are two, and without a key it is alone. */
export function groupName(key: GroupKey, hit: ScoredHit): string {
  return key === null ? `-${hit.externalId}` : `${typeof key} ${key}`;
}
