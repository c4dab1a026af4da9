import { fieldsLeft, hasAnyOf } from '../../../../shared/contract/shard/field-table';
import type { Hit, VectorSearch, VectorSearchResult } from '../../../../shared/contract/shard/shard-read';
import { utf8HitsOf, sentHitsOf } from '../../../../shared/wire/codecs/hit-codec';
import type { Filter } from '../../../../shared/contract/filter/filter';
import type { Boosts } from '../../../../shared/contract/shard/boosts';
import { ChangeWatch } from '../../records/change-counter';
import { filterProgram } from '../../filter/filter-program';
import { type DirectoryPart, DirectoryView } from '../../directory/directory-view';
import { type FoundSlots, searchSharedVectors } from '../../vector/shared-vectors';
import { InlineBoosts, isTold } from './inline-boosts';
import { hitsNow } from './ordered-hits';
import { SearchCounter } from './search-counter';

/**
 * Reading a hit takes about a microsecond, so the hits of a larger answer would double the time of the longest search.
 */
const HITS_MAX = 256;

/** What this search does with each field of a request. */
const LEFT = fieldsLeft<VectorSearch>({
  vector: 'handled',
  k: 'handled',
  filter: 'handled',
  effort: 'handled',
  texts: 'left',
  counted: 'handled',
  packed: 'handled',
  bytesMax: 'handled',
  part: 'left',
  versions: 'left',
  boosts: 'handled',
});

/** Of answers that have their hits in another form. Nobody changes it. */
const NO_HITS: Hit[] = [];

/**
 * Whether so many hits have more bytes than these, as far as their texts are in memory: then making them would be in
 * vain.
 */
function isLonger(directory: DirectoryView, { slots }: FoundSlots, count: number, bytesMax: number): boolean {
  let bytes = 0;
  for (let i = 0; i < count && bytes <= bytesMax; i++) bytes += Math.max(0, directory.textBytesOf(slots[i]));
  return bytes > bytesMax;
}

/** A shard as another thread searches it. What is unusual, or changes meanwhile, is left to the shard's own thread. */
export class SharedShard {
  private readonly changes: ChangeWatch;
  private readonly directory = new DirectoryView();

  constructor(
    private readonly shared: { changes: SharedArrayBuffer; vectors: number; filters: number; parts: DirectoryPart[] },
    private readonly wallMs: () => number,
  ) {
    this.changes = new ChangeWatch(shared.changes);
    for (const part of shared.parts) this.take(part);
  }

  take(part: DirectoryPart): void {
    this.directory.take(part);
  }

  /** Frees what it has opened; idempotent. Searches find nothing any more. */
  close(): void {
    this.directory.close();
  }

  /**
   * As InlineSearches. `isSent`: the answer is sent to another process, and may have its hits in that form
   * (`wireHits`).
   */
  search(request: VectorSearch, isSent = false): VectorSearchResult | null {
    const { k, filter, effort, counted, packed, bytesMax, boosts } = request;
    if (hasAnyOf(request, LEFT) || effort.type === 'exact' || k > HITS_MAX) return null;
    if (filter !== null && !isTold(filter)) return null;
    const counter = counted === true ? new SearchCounter() : null;
    const begun = this.changes.begin();
    if (begun < 0) return null;
    this.changes.noteUse();
    const found = boosts === undefined ? this.found(request, k, filter) : this.boosted(request, boosts, counter);
    // To put many that tie in order takes longer than such a search may.
    if (found === null || found.count > k + HITS_MAX) return null;
    if (boosts === undefined) counter?.searched(found);
    if (bytesMax !== undefined && isLonger(this.directory, found, Math.min(found.count, k), bytesMax)) return null;
    const toBytes = counter !== null ? null : isSent ? sentHitsOf : packed === true ? utf8HitsOf : null;
    const bytes = toBytes === null ? null : toBytes(this.directory, found, k, bytesMax);
    const hits = bytes === null ? hitsNow(this.directory, found, k, bytesMax) : NO_HITS;
    const vectorCount = this.changes.liveCount;
    const { nextExpiryMs } = this.changes;
    if (nextExpiryMs !== Infinity && nextExpiryMs <= this.wallMs()) return null;
    // An item that is not live here has expired, or was put a moment ago, and its message is still on its way.
    if (this.directory.takeFailure() || hits === null || !this.changes.isUnchanged(begun)) return null;
    counter?.made();
    if (bytes !== null) return isSent ? { hits, wireHits: bytes, vectorCount } : { hits, utf8Hits: bytes, vectorCount };
    return counter === null ? { hits, vectorCount } : { hits, vectorCount, ...counter.counts };
  }

  private found({ vector, effort, counted }: VectorSearch, k: number, filter: Filter | null): FoundSlots | null {
    return searchSharedVectors(this.shared.vectors, vector, {
      k,
      effort,
      filter: filter === null ? null : { index: this.shared.filters, program: filterProgram(filter) },
      counted,
    });
  }

  private boosted(request: VectorSearch, given: Boosts, counter: SearchCounter | null): FoundSlots | null {
    const { vectors, filters } = this.shared;
    const boosts = InlineBoosts.of({ vectors, filters, directory: this.directory }, given);
    if (boosts === null) return null;
    const search = (k: number, filter: Filter | null): FoundSlots | null =>
      filter !== null && !isTold(filter) ? null : this.found(request, k, filter);
    try {
      return boosts.best(request, counter) ?? boosts.read(request, search, counter);
    } catch (error) {
      // Metadata that are read while they change.
      if (error instanceof SyntaxError) return null;
      throw error;
    }
  }
}
