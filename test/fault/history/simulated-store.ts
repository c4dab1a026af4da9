import { scoreOf } from '../../../shared/contract/vector/metric';
import type { SeenHit, SeenItem } from './operation';
import { groupOf, vectorOf } from './written-value';

interface Entry {
  value: string;
  /** Orders items by insertion. */
  stamp: number;
}

/**
 * The lies a simulated service can tell. Each breaks one promise now and then, so that the checks have something to
 * find.
 */
export const LIES = [
  'an acknowledged upsert is not applied',
  'an acknowledged delete is not applied',
  'a deleted item comes back',
  'a crash takes back what was acknowledged',
  'an upsert is applied a second time',
  'an unanswered upsert is applied a second time',
  'a refused upsert is applied',
  'a refused upsert is shown, then taken back',
  'a read is of the state before the last write',
  'a read shows a value that nobody wrote',
  'an item has the vector of another value',
  'a new item is called updated',
  'a delete of a stored item finds nothing',
  'counts include deleted items',
  'counts leave out one shard',
  'an export leaves an item out',
  'an export shows an item twice',
  'an export shows deleted items',
  'updated items move to the end of the order',
  'batches are inserted in reverse',
  'an export resumes in another order',
  'a search finds deleted items',
  'a search scores the version before',
  'a search shows the version before',
  'an exact search misses the best hit',
  'a search is not sorted',
  'a search shows a hit twice',
  'a search leaves the filter out',
  'a search answers more than k',
  'one coordinator has lost an item',
  'one coordinator has another order',
] as const;

export type Lie = (typeof LIES)[number];

/**
 * The state of a simulated service: a map, of which each single-id access is one step. It lies in the one way it is
 * told to, in a share of the cases where it could (`isLying` decides).
 */
export class SimulatedStore {
  private readonly entries = new Map<string, Entry>();
  private readonly before = new Map<string, Entry>();
  private readonly everStored = new Set<string>();
  private readonly isLying: (lie: Lie) => boolean;
  private lastStamp = 0;

  constructor(options: { isLying: (lie: Lie) => boolean }) {
    this.isLying = options.isLying;
  }

  reserve(count: number): number {
    this.lastStamp += count;
    return this.lastStamp - count + 1;
  }

  upsert(id: string, value: string, stamp: number): 'inserted' | 'updated' {
    const prior = this.entries.get(id);
    if (prior !== undefined) this.before.set(id, prior);
    this.everStored.add(id);
    const keeps = prior !== undefined && !this.isLying('updated items move to the end of the order');
    this.entries.set(id, { value, stamp: keeps ? prior.stamp : stamp });
    return prior === undefined && !this.isLying('a new item is called updated') ? 'inserted' : 'updated';
  }

  delete(id: string): boolean {
    const prior = this.entries.get(id);
    if (prior === undefined) return false;
    this.before.set(id, prior);
    this.entries.delete(id);
    return !this.isLying('a delete of a stored item finds nothing');
  }

  /** Brings back what the id was before its last write. */
  undo(id: string): void {
    const prior = this.before.get(id);
    if (prior !== undefined) this.entries.set(id, prior);
  }

  read(id: string): SeenItem | null {
    if (this.isLying('a read shows a value that nobody wrote')) return { id, value: 'never-written' };
    const entry = this.isLying('a read is of the state before the last write')
      ? this.before.get(id)
      : this.entries.get(id);
    if (entry === undefined) return null;
    return {
      id,
      value: entry.value,
      ...(this.isLying('an item has the vector of another value') ? { torn: true as const } : {}),
    };
  }

  /** The items of one of two shards, in no order. */
  scan(shard: number): { item: SeenItem; stamp: number }[] {
    const found = [...this.entries].map(([id, { value, stamp }]) => ({ item: { id, value }, stamp }));
    if (this.isLying('an export shows deleted items')) {
      for (const [id, { value, stamp }] of this.before)
        if (!this.entries.has(id)) found.push({ item: { id, value }, stamp });
    }
    return found.filter(({ item }) => shardOf(item.id) === shard);
  }

  count(shard: number): number {
    if (shard === 1 && this.isLying('counts leave out one shard')) return 0;
    const counted = this.isLying('counts include deleted items') ? this.everStored : this.entries.keys();
    return [...counted].filter((id) => shardOf(id) === shard).length;
  }

  search(shard: number, query: string, group: number | undefined): SeenHit[] {
    const hits: SeenHit[] = [];
    const vector = vectorOf(query);
    const ids = this.isLying('a search finds deleted items') ? [...this.everStored] : [...this.entries.keys()];
    const isFilterLost = this.isLying('a search leaves the filter out');
    for (const id of ids) {
      if (shardOf(id) !== shard) continue;
      const entry = this.entries.get(id) ?? this.before.get(id);
      if (entry === undefined || (group !== undefined && !isFilterLost && groupOf(entry.value) !== group)) continue;
      const old = this.before.get(id) ?? entry;
      const shown = this.isLying('a search shows the version before') ? old : entry;
      const scored = this.isLying('a search scores the version before') ? old : shown;
      hits.push({ id, value: shown.value, score: scoreOf('cosine', vector, vectorOf(scored.value)) });
    }
    return hits;
  }
}

/** Which of two shards an id is in. */
export function shardOf(id: string): number {
  return id.charCodeAt(id.length - 1) & 1;
}
