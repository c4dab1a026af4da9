import type { Filter, JsonObject } from '../../../shared/contract/filter/filter';
import { inLaterSlices } from '../../../shared/base/time/work-slices';
import { ChunkedSlotSet } from '../slots/chunked-slot-set';
import { asksWords } from './filter-needs';
import { type ItemFacts, matches } from './matches';

/**
 * Filters kept: those of the queries that run concurrently. Each is tested on every item added to the unlisted ones.
 */
const FILTERS_MAX = 16;

interface Unlisted {
  slots(): ChunkedSlotSet;
  metadataOf(slot: number): JsonObject;
  factsOf(slot: number): ItemFacts | undefined;
}

interface ReadFilter {
  filter: Filter;
  found: ChunkedSlotSet;
  /** Until all have been read. */
  reading: Promise<void> | null;
}

/**
 * Which of the items that are not in a filter index's lists match a filter. Their metadata have to be read, which takes
 * a second for 64 MiB. So this is done in slices, once for each filter. The result is then kept up to date with items
 * that come and go, also during the first reading.
 */
export class UnlistedMatches {
  private readonly filters = new Map<string, ReadFilter>();

  /** The matching slots, undefined if the filter has not been prepared. The caller must not change the set. */
  get(key: string): ChunkedSlotSet | undefined {
    const known = this.filters.get(key);
    return known?.reading === null ? known.found : undefined;
  }

  /** Null if there is nothing to wait for. */
  prepare(key: string, filter: Filter, unlisted: Unlisted): Promise<void> | null {
    const known = this.filters.get(key);
    if (known !== undefined) return known.reading;
    this.forgetOldest();
    const entry: ReadFilter = { filter, found: new ChunkedSlotSet(), reading: null };
    this.filters.set(key, entry);
    entry.reading = inLaterSlices(readAll(entry, unlisted)).then(
      () => {
        entry.reading = null;
      },
      (error: unknown) => {
        this.filters.delete(key);
        throw error;
      },
    );
    return entry.reading;
  }

  put(slot: number, metadata: JsonObject, item: ItemFacts | undefined): void {
    for (const { filter, found } of this.filters.values()) if (matches(filter, metadata, item)) found.add(slot);
  }

  /** Tests an item again by the filters that ask for words. */
  wordsChanged(slot: number, metadataOf: (slot: number) => JsonObject, item: ItemFacts | undefined): void {
    for (const { filter, found } of this.filters.values()) {
      if (!asksWords(filter)) continue;
      if (matches(filter, metadataOf(slot), item)) found.add(slot);
      else found.remove(slot);
    }
  }

  remove(slot: number): void {
    for (const { found } of this.filters.values()) found.remove(slot);
  }

  private forgetOldest(): void {
    for (const [key, { reading }] of this.filters) {
      if (this.filters.size < FILTERS_MAX) return;
      if (reading === null) this.filters.delete(key);
    }
  }
}

/** One item per step. A slot that another item has taken meanwhile is read as it is now. */
function* readAll({ filter, found }: ReadFilter, unlisted: Unlisted): Generator<undefined, void> {
  for (const slot of unlisted.slots().toArray()) {
    if (unlisted.slots().has(slot) && matches(filter, unlisted.metadataOf(slot), unlisted.factsOf(slot)))
      found.add(slot);
    yield;
  }
}
