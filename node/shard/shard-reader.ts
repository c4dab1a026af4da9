import type {
  Hit,
  KeywordSearch,
  KeywordStatistics,
  ScanRequest,
  StoredItem,
  VectorSearch,
} from '../../shared/shard/shard-client';
import type { Filter } from '../../shared/filter/filter';
import { textFromRecordBytes } from '../records/record-codec';
import type { RecordStore } from '../records/record-store';
import type { SlotAllocator } from '../records/slot-allocator';
import type { SlotSet } from '../slots/slot-set';
import type { SlotScores } from '../vector/vector-index';
import type { ShardIndexes } from './shard-indexes';

/** A search whose hits vanish under it is asked again at most this often; each time it asks for as many more as were gone. */
const SEARCH_ATTEMPTS_MAX = 4;
/** Items looked at per step of a scan: bounds what a scan with a rare filter holds in memory. */
const SCAN_PAGE = 1000;

/** The read paths of one shard. A read sees every write that was answered before it began. */
export class ShardReader {
  constructor(
    private readonly parts: {
      dim: number;
      records: RecordStore;
      indexes: ShardIndexes;
      slots: SlotAllocator;
    },
  ) {}

  async search(request: VectorSearch): Promise<Hit[]> {
    const { indexes, slots } = this.parts;
    const epoch = slots.beginRead();
    try {
      let k = request.k;
      for (let attempt = 1; ; attempt++) {
        const allowed = this.allowed(request.filter);
        if (allowed !== null && allowed.size === 0) return [];
        const found = await indexes.vectors.search(request.vector, { k, effort: request.effort, allowed });
        const { hits, goneCount } = this.hitsOf(found, request.k);
        if (goneCount > 0 && hits.length < request.k && attempt < SEARCH_ATTEMPTS_MAX) {
          k = request.k + goneCount;
          continue;
        }
        if (request.texts) await this.addTexts(hits);
        return hits.map(({ hit }) => hit);
      }
    } finally {
      slots.endRead(epoch);
    }
  }

  async score(request: { vector: Float32Array; externalIds: string[] }): Promise<Hit[]> {
    const { indexes, slots } = this.parts;
    const { directory } = indexes;
    const epoch = slots.beginRead();
    try {
      const known = request.externalIds.map((externalId) => directory.slotOf(externalId)).filter((slot) => slot >= 0);
      const items = known.map((slot) => ({ externalId: directory.externalIdOf(slot), metadata: directory.metadataOf(slot) }));
      const scores = await indexes.vectors.score(request.vector, Uint32Array.from(known));
      return items.flatMap((item, i) => (Number.isNaN(scores[i]) ? [] : [{ ...item, score: scores[i] }]));
    } finally {
      slots.endRead(epoch);
    }
  }

  keywordStatistics(terms: string[]): KeywordStatistics {
    return this.parts.indexes.keywords.statistics(terms);
  }

  keywordSearch(request: KeywordSearch): Hit[] {
    const allowed = this.allowed(request.filter);
    if (allowed !== null && allowed.size === 0) return [];
    const found = this.parts.indexes.keywords.search(request.terms, request.statistics, { k: request.k, allowed });
    return this.hitsOf(found, request.k).hits.map(({ hit }) => hit);
  }

  async fetch(request: { externalIds: string[]; vectors: boolean }): Promise<(StoredItem | null)[]> {
    const { directory } = this.parts.indexes;
    const items = this.itemsAt(request.externalIds.map((externalId) => directory.slotOf(externalId)), request.vectors);
    await this.addStoredTexts(items);
    return items.map((found) => found?.item ?? null);
  }

  async scan(request: ScanRequest): Promise<StoredItem[]> {
    const { indexes, records } = this.parts;
    const { directory } = indexes;
    // Resolved once for the scan: items that begin or cease to match meanwhile may come or not.
    const allowed = this.allowed(request.filter);
    if (allowed !== null && allowed.size === 0) return [];
    const items: StoredItem[] = [];
    for await (const page of records.order(request.after, Math.min(SCAN_PAGE, allowed === null ? request.limit : SCAN_PAGE))) {
      const slots: number[] = [];
      for (const { stamp, externalId } of page) {
        if (items.length + slots.length === request.limit) break;
        const slot = directory.slotOf(externalId);
        // Another stamp: deleted and put again since; it comes at its new place.
        if (slot < 0 || directory.stampOf(slot) !== stamp) continue;
        if (allowed !== null && !allowed.has(slot)) continue;
        slots.push(slot);
      }
      const found = this.itemsAt(slots, request.vectors);
      await this.addStoredTexts(found);
      for (const entry of found) if (entry !== null) items.push(entry.item);
      if (items.length === request.limit) break;
    }
    return items;
  }

  private allowed(filter: Filter | null): SlotSet | null {
    return filter === null ? null : this.parts.indexes.filters.resolve(filter);
  }

  /**
   * The best `k` of what was found that are still there, in the order of answers; `goneCount` of the rest were removed
   * or replaced since the search began (their slots can't have been given to other items while it ran).
   */
  private hitsOf(found: SlotScores, k: number): { hits: { slot: number; hit: Hit }[]; goneCount: number } {
    const { directory } = this.parts.indexes;
    const hits: { slot: number; hit: Hit }[] = [];
    let goneCount = 0;
    for (let i = 0; i < found.slots.length; i++) {
      const slot = found.slots[i];
      const score = found.scores[i];
      // Past k only those that tie with the k-th can still move up.
      if (hits.length >= k && score < hits[k - 1].hit.score) break;
      if (!directory.isLive(slot)) {
        goneCount += 1;
        continue;
      }
      hits.push({ slot, hit: { externalId: directory.externalIdOf(slot), score, metadata: '' } });
    }
    sortTies(hits);
    if (hits.length > k) hits.length = k;
    for (const { slot, hit } of hits) hit.metadata = directory.metadataOf(slot);
    return { hits, goneCount };
  }

  private itemsAt(slots: number[], vectors: boolean): ({ slot: number; recno: number; item: StoredItem } | null)[] {
    const { indexes, dim } = this.parts;
    const { directory } = indexes;
    const present = slots.filter((slot) => slot >= 0);
    const rows = vectors && present.length > 0 ? indexes.vectors.vectors(Uint32Array.from(present)) : null;
    let row = 0;
    return slots.map((slot) => {
      if (slot < 0) return null;
      const item: StoredItem = {
        externalId: directory.externalIdOf(slot),
        stamp: directory.stampOf(slot),
        metadata: directory.metadataOf(slot),
        text: null,
      };
      if (rows !== null) item.vector = rows.subarray(row * dim, ++row * dim);
      return { slot, recno: directory.recnoOf(slot), item };
    });
  }

  private async addStoredTexts(items: ({ slot: number; recno: number; item: StoredItem } | null)[]): Promise<void> {
    const { indexes, records } = this.parts;
    const withText = items.filter((found) => found !== null && indexes.directory.hasText(found.slot)) as { recno: number; item: StoredItem }[];
    if (withText.length === 0) return;
    const stored = await records.read(withText.map(({ recno }) => recno));
    // A record that vanished since was replaced or deleted: its item is answered without a text it no longer has.
    withText.forEach(({ item }, i) => (item.text = stored[i] === undefined ? null : textFromRecordBytes(stored[i])));
  }

  private async addTexts(hits: { slot: number; hit: Hit }[]): Promise<void> {
    const { indexes, records } = this.parts;
    const { directory } = indexes;
    const withText = hits.filter(({ slot }) => directory.isLive(slot) && directory.hasText(slot));
    for (const { hit } of hits) hit.text = '';
    if (withText.length === 0) return;
    const stored = await records.read(withText.map(({ slot }) => directory.recnoOf(slot)));
    withText.forEach(({ hit }, i) => (hit.text = stored[i] === undefined ? '' : (textFromRecordBytes(stored[i]) ?? '')));
  }
}

/** The index answers by score; within equal scores the order of answers is by external id. */
function sortTies(hits: { hit: Hit }[]): void {
  let tied = false;
  for (let i = 1; i < hits.length && !tied; i++) tied = hits[i].hit.score === hits[i - 1].hit.score;
  if (!tied) return;
  hits.sort(({ hit: a }, { hit: b }) => b.score - a.score || (a.externalId < b.externalId ? -1 : a.externalId > b.externalId ? 1 : 0));
}
