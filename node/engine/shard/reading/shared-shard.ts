import { fieldsLeft, hasAnyOf } from '../../../../shared/contract/shard/field-table';
import type { Hit, VectorSearch, VectorSearchResult } from '../../../../shared/contract/shard/shard-read';
import { utf8HitsOf, sentHitsOf } from '../../../../shared/wire/codecs/hit-codec';
import { ChangeWatch } from '../../records/change-counter';
import { isInLists } from '../../filter/filter-needs';
import { filterProgram } from '../../filter/filter-program';
import { conditionsIn } from '../../filter/prepared-filters';
import { type DirectoryPart, DirectoryView } from '../../directory/directory-view';
import { type FoundSlots, searchSharedVectors } from '../../vector/shared-vectors';
import { hitsNow } from './ordered-hits';
import { SearchCounter } from './search-counter';

/**
 * Reading a hit takes about a microsecond, so the hits of a larger answer would double the time of the longest search.
 */
const HITS_MAX = 256;

/** A filter of more conditions takes long to pass on; what it takes to evaluate one is judged by the addon. */
const CONDITIONS_MAX = 64;

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
  boosts: 'left',
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
    const { vector, k, filter, effort, counted, packed, bytesMax } = request;
    if (hasAnyOf(request, LEFT) || effort.type === 'exact' || k > HITS_MAX) return null;
    if (filter !== null && (conditionsIn(filter) > CONDITIONS_MAX || !isInLists(filter))) return null;
    const counter = counted === true ? new SearchCounter() : null;
    const begun = this.changes.begin();
    if (begun < 0) return null;
    this.changes.noteUse();
    const found = searchSharedVectors(this.shared.vectors, vector, {
      k,
      effort,
      filter: filter === null ? null : { index: this.shared.filters, program: filterProgram(filter) },
      counted,
    });
    // To put many that tie in order takes longer than such a search may.
    if (found === null || found.count > k + HITS_MAX) return null;
    counter?.searched(found);
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
}
