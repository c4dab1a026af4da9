import type { Filter } from '../../../shared/contract/filter/filter';
import type { CallOptions } from '../../../shared/contract/shard/shard-client';
import { type Hit, LEFT_OUT, type StoredItem } from '../../../shared/contract/shard/shard-read';
import type { CollectionRecord } from '../collections/collection-record';
import { type AnswerHold, countedElsewhere, NO_HOLD } from '../answer-hold';
import { takenFrom } from '../pages';
import type { Output } from '../search-request';
import type { FoundHits, LaterContents, ScoredHit } from '../service';
import { type OrderedItems, roundBytesMax } from '../vectors/ordered-items';

/**
 * Bytes of metadata and texts that come with the hits of a search, of all shards together, and for each hit: metadata
 * usually have less.
 */
const CONTENT_BYTES = 1024 * 1024;
const CONTENT_BYTES_PER_HIT = 512;
/** Of one shard at least. */
const SHARD_BYTES_MIN = 64 * 1024;
/** What a hit takes besides: its id and its objects. */
export const HIT_BYTES = 600;
/** Hits that are given on at once. */
const PAGE_HITS = 256;
/** Fewer bytes are held no longer than it takes to write them. */
const COUNTED_BYTES = 16 * 1024;

/**
 * Bytes of contents that each of `shards` shards answers with, where all together answer with `hits` hits, or with
 * `bytes`.
 */
export function contentBytesOf(
  shards: number,
  hits: number,
  bytes = Math.max(CONTENT_BYTES, hits * CONTENT_BYTES_PER_HIT),
): number {
  return Math.max(SHARD_BYTES_MIN, Math.floor(bytes / shards));
}

/** The bound that such a read needs; undefined: `k` hits can't have so many bytes. */
export function contentBound(k: number, bytesMax: number, texts: boolean, hold: AnswerHold): number | undefined {
  return k * hold.itemBytesMax(texts) > bytesMax || hold === NO_HOLD ? bytesMax : undefined;
}

/** The most that the hits of a read hold, which asks each of `shards` shards for `k`. */
export function hitBytesMax(k: number, shards: number, bytesMax: number, texts: boolean, hold: AnswerHold): number {
  const itemMax = hold.itemBytesMax(texts);
  return shards * (Math.min(k * itemMax, bytesMax + itemMax) + k * HIT_BYTES);
}

/** What hits hold that are answered. */
export function bytesOfHits(hits: readonly Hit[]): number {
  let bytes = 0;
  for (const { externalId, metadata, text } of hits) bytes += externalId.length + metadata.length + (text?.length ?? 0);
  return bytes;
}

/** How what was left out of hits is read. */
export interface LaterParts {
  ordered: OrderedItems<CollectionRecord>;
  begin: () => CallOptions;
  collection: CollectionRecord;
  hold: AnswerHold;
  /** What `hold` was told of the hits, and of what is read of them at once. */
  kept: number;
  /** What its highlights may still look at. */
  highlighting: HighlightBudget;
}

/** Of one answer. */
export interface HighlightBudget {
  /** UTF-16 code units of texts. */
  unitsLeft: number;
  /** Sentences that are embedded. */
  sentencesLeft: number;
  /** How long they are waited for; undefined: none are yet. Monotonic, in milliseconds. */
  untilMs?: number;
  /** Resolves when it is known that sentences can be embedded; undefined: nobody has asked. */
  isPossible?: Promise<unknown>;
}

/** Hits, the filter that they were found with, and what they are to have. */
interface ListWithFilter {
  hits: ScoredHit[];
  filter: Filter | null;
  output: Pick<Output, 'texts' | 'versions' | 'expand'>;
}

/** Tells what the hits hold, and adds what completes them if some are not whole. */
export function foundHits(list: ListWithFilter, parts: LaterParts): FoundHits {
  return foundLists([list], parts)[0];
}

/** The same of several lists of one answer. */
export function foundLists(lists: readonly ListWithFilter[], parts: LaterParts): FoundHits[] {
  let bytes = 0;
  let roundBytes = 0;
  const found = lists.map(({ hits, filter, output }): FoundHits => {
    const { expand } = output;
    bytes += bytesOfHits(hits);
    if (expand !== undefined) {
      const chunks = hits.length * (expand.before + 1 + expand.after);
      roundBytes = Math.max(roundBytes, new LaterHits(parts, null, { texts: true }).roundBytes(chunks));
    }
    if (!hits.some((hit) => isLeftOut(hit, output))) return { hits };
    const later = new LaterHits(parts, filter, output);
    bytes += hits.length * HIT_BYTES;
    roundBytes = Math.max(roundBytes, later.roundBytes(hits.filter((hit) => isLeftOut(hit, output)).length));
    return { hits, later };
  });
  // One after the other is completed.
  parts.kept = roundBytes === 0 && bytes <= COUNTED_BYTES ? 0 : bytes + roundBytes;
  parts.hold.keep(parts.kept);
  return found;
}

/** What is read of hits. */
type ReadParts = Pick<Output, 'texts' | 'versions'>;

/**
 * Whether a hit lacks its contents, or the text that it is to have: lists that are fused or scored come without texts.
 * Versions come with none, and are read together with what they are of.
 */
function isLeftOut({ metadata, text, version }: ScoredHit, { texts, versions }: ReadParts): boolean {
  return metadata === LEFT_OUT || (texts && text === undefined) || (versions === true && version === undefined);
}

/** Reads what was left out of hits, a part at a time. */
class LaterHits implements LaterContents {
  private readonly wanted: { vectors: false; texts: boolean; versions: boolean; filter?: Filter };

  constructor(
    private readonly parts: LaterParts,
    filter: Filter | null,
    { texts, versions = false }: ReadParts,
  ) {
    this.wanted = { vectors: false, texts, versions, ...(filter !== null && { filter }) };
  }

  /** The most that one part holds, of `count` items. */
  roundBytes(count: number): number {
    const { collection, hold } = this.parts;
    return Math.min(
      roundBytesMax(collection, Math.min(count, collection.shards), this.wanted, hold),
      count * (hold.itemBytesMax(this.wanted.texts) + HIT_BYTES),
    );
  }

  async *pagesOf(hits: readonly ScoredHit[]): AsyncGenerator<ScoredHit[]> {
    const { ordered, begin, collection, hold } = this.parts;
    const { wanted } = this;
    const ids = hits.filter((hit) => isLeftOut(hit, wanted)).map(({ externalId }) => externalId);
    // What a part may hold is counted already.
    const parts = ordered.read(collection, ids, wanted, { begin, hold: countedElsewhere(hold) });
    let items: (StoredItem | null)[] = [];
    let next = 0;
    let page: ScoredHit[] = [];
    for (const hit of hits) {
      if (!isLeftOut(hit, wanted)) {
        page.push(hit);
      } else {
        if (next === items.length) {
          if (page.length > 0) yield page;
          page = [];
          [items, next] = [(await parts.next()).value as (StoredItem | null)[], 0];
        }
        const item = takenFrom(items, next++);
        if (item !== null) page.push(completed(hit, item, wanted));
      }
      if (page.length < PAGE_HITS) continue;
      yield page;
      page = [];
    }
    if (page.length > 0) yield page;
  }
}

function completed(hit: ScoredHit, { metadata, text, version }: StoredItem, { texts, versions }: ReadParts): ScoredHit {
  return { ...hit, metadata, ...(texts && { text: text ?? '' }), ...(versions === true && { version }) };
}
