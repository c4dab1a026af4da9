import {
  itemBytes,
  type RequestOf,
  type ScanRequest,
  type StoredItem,
} from '../../../../shared/contract/shard/shard-read';
import { ownTurn } from '../../../../shared/base/time/work-slices';
import type { Filter } from '../../../../shared/contract/filter/filter';
import { matches } from '../../filter/matches';
import type { RecordStore } from '../../records/record-store';
import type { SlotSet } from '../../slots/slot-set';
import { ReadSteps } from './read-steps';
import { itemFacts, type ShardIndexes, parsedMetadata } from '../shard-indexes';
import type { ShardCounters } from '../writing/shard-writer';

/** Items examined per step of a scan: bounds the memory of a scan with a rare filter. */
const SCAN_PAGE = 1000;
/** Up to this many matches are sorted in memory (some milliseconds) instead of walking the whole insertion order. */
const SORTED_MATCHES_MAX = 10_000;

interface ItemPosition {
  stamp: number;
  externalId: string;
}

interface ReadItem {
  /** Whether it passes the filter that was asked, as it is at the read. */
  passes: boolean;
  recno: number;
  item: StoredItem;
}

/** What is read of items. */
interface ItemParts {
  vectors: boolean;
  texts?: boolean | undefined;
  versions?: boolean | undefined;
  expiries?: boolean | undefined;
  dates?: boolean | undefined;
}

/** A filter that items must pass whose record number is above `above`: of the others it is known. */
interface AskedFilter {
  filter: Filter | null | undefined;
  above: number;
}

/**
 * Reads whole items of one shard, each in the state after one write. A read sees every write that was answered before
 * it began.
 */
export class ShardItems {
  constructor(
    private readonly parts: {
      dim: number;
      records: RecordStore;
      indexes: ShardIndexes;
      counters: ShardCounters;
    },
  ) {}

  async fetch(request: RequestOf<'fetch'>): Promise<(StoredItem | null)[]> {
    const { externalIds, filter, bytesMax = Infinity } = request;
    const asked = { filter, above: -1 };
    const steps = new ReadSteps(bytesMax);
    const items: (StoredItem | null)[] = [];
    while (items.length < externalIds.length && !steps.isFull) {
      const turn = ownTurn();
      if (turn !== undefined) await turn;
      const found = await this.read(externalIds.slice(items.length, items.length + steps.next()), request, asked);
      for (const entry of found) {
        if (steps.isFull) break;
        const item = entry?.passes === true ? entry.item : null;
        items.push(item);
        if (item !== null) steps.add(itemBytes(item));
      }
    }
    return items;
  }

  async scan(request: ScanRequest): Promise<StoredItem[]> {
    const { indexes, counters } = this.parts;
    const { directory } = indexes;
    const { limit, bytesMax = Infinity } = request;
    const steps = new ReadSteps(bytesMax);
    if (request.filter !== null) await indexes.filters.prepare(request.filter);
    // Resolved once; items stored after that are checked one by one.
    const allowed = request.filter === null ? null : indexes.filters.resolve(request.filter);
    const lastRecno = counters.lastRecno;
    const items: StoredItem[] = [];
    for await (const some of this.places(request, allowed)) {
      const candidates = some.filter(({ stamp, externalId }) => {
        const slot = directory.slotOf(externalId);
        // Another stamp: the item was deleted and put again meanwhile, so it appears at its new place.
        if (slot < 0 || directory.stampOf(slot) !== stamp) return false;
        return allowed === null || allowed.has(slot) || directory.recnoOf(slot) > lastRecno;
      });
      while (candidates.length > 0 && items.length < limit && !steps.isFull) {
        const turn = ownTurn();
        if (turn !== undefined) await turn;
        const places = candidates.splice(0, Math.min(steps.next(), limit - items.length));
        const found = await this.read(
          places.map(({ externalId }) => externalId),
          request,
          { filter: request.filter, above: lastRecno },
        );
        found.forEach((entry, i) => {
          if (entry === null || entry.item.stamp !== places[i].stamp || !entry.passes || steps.isFull) return;
          items.push(entry.item);
          steps.add(itemBytes(entry.item));
        });
      }
      if (items.length === limit || steps.isFull) break;
    }
    return items;
  }

  /** The positions of a scan's candidates in insertion order, after the position that the request names. */
  private places(
    request: ScanRequest,
    allowed: SlotSet | null,
  ): AsyncIterable<ItemPosition[]> | Iterable<ItemPosition[]> {
    if (allowed === null) return this.parts.records.order(request.after, Math.min(SCAN_PAGE, request.limit));
    if (allowed.size > SORTED_MATCHES_MAX) return this.parts.records.order(request.after, SCAN_PAGE);
    return pagesOf(this.sortedPositions(allowed, request.after));
  }

  private sortedPositions(allowed: SlotSet, after: ItemPosition | null): ItemPosition[] {
    const { directory } = this.parts.indexes;
    const places: ItemPosition[] = [];
    for (const slot of allowed.toArray()) {
      const stamp = directory.stampOf(slot);
      if (after !== null && stamp < after.stamp) continue;
      const place = { stamp, externalId: directory.externalIdOf(slot) };
      if (after === null || inInsertionOrder(place, after) > 0) places.push(place);
    }
    return places.sort(inInsertionOrder);
  }

  /**
   * The items as they are at the call, null where absent; text, vector and metadata of each are of the same version.
   */
  private async read(externalIds: string[], parts: ItemParts, asked: AskedFilter): Promise<(ReadItem | null)[]> {
    const { indexes, records } = this.parts;
    const { directory } = indexes;
    const found: (ReadItem | null)[] = new Array(externalIds.length).fill(null);
    const known = externalIds
      .map((externalId, i) => ({ i, slot: directory.slotOf(externalId) }))
      .filter(({ slot }) => slot >= 0);
    const items = this.itemsAt(
      known.map(({ slot }) => slot),
      parts,
      asked,
    );
    known.forEach(({ i }, n) => (found[i] = items[n]));
    const withText = parts.texts === false ? [] : items.filter((_, n) => directory.hasText(known[n].slot));
    if (withText.length === 0) return found;
    // Begun in the same turn: the store has the texts of what the directory names now.
    const texts = await records.readTexts(withText.map(({ recno }) => recno));
    withText.forEach(({ item }, n) => (item.text = texts[n]));
    return found;
  }

  private itemsAt(
    slots: number[],
    { vectors, versions, expiries, dates }: ItemParts,
    { filter, above }: AskedFilter,
  ): ReadItem[] {
    const { indexes, dim, counters } = this.parts;
    const hasVersions = versions === true && counters.versions.isCounting;
    const { directory } = indexes;
    const rows = vectors && slots.length > 0 ? indexes.vectors.vectors(Uint32Array.from(slots)) : null;
    return slots.map((slot, i) => {
      const expiry = directory.expiryOf(slot);
      const item: StoredItem = {
        externalId: directory.externalIdOf(slot),
        stamp: directory.stampOf(slot),
        metadata: directory.metadataOf(slot),
        text: null,
      };
      if (expiries === true && expiry !== 0) item.expiry = expiry;
      if (hasVersions) item.version = directory.versionOf(slot);
      if (dates === true && directory.isDated(slot)) item.dated = true;
      if (rows !== null) item.vector = rows.subarray(i * dim, (i + 1) * dim);
      const recno = directory.recnoOf(slot);
      const passes =
        !filter || recno <= above || matches(filter, parsedMetadata(item.metadata), itemFacts(indexes, slot));
      return { recno, passes, item };
    });
  }
}

function* pagesOf(places: ItemPosition[]): Iterable<ItemPosition[]> {
  for (let at = 0; at < places.length; at += SCAN_PAGE) yield places.slice(at, at + SCAN_PAGE);
}

function inInsertionOrder(a: ItemPosition, b: ItemPosition): number {
  return a.stamp - b.stamp || (a.externalId < b.externalId ? -1 : a.externalId > b.externalId ? 1 : 0);
}
