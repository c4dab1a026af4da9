import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { inSlices } from '../../../shared/base/time/work-slices';
import { LEFT_OUT } from '../../../shared/contract/shard/shard-read';
import type { Expansion } from '../search-request';
import type { FoundHits, LaterContents, ScoredHit } from '../service';
import { CHUNK_INDEX, DOCUMENT_ID } from '../documents/chunk-paths';
import { type ChunkReader, firstOf, type ReadContexts } from './chunk-reader';
import {
  chunkPlaceOf,
  type ChunkPlace,
  type ChunkWindow,
  DOCUMENT_ID_CHARACTERS_MAX,
  windowsOf,
} from './chunk-windows';
import type { LaterParts } from './later-hits';

/** Chunks that are asked for at once. */
const CHUNKS_AT_ONCE = 256;
/** Contexts are remembered until they have so many characters: other hits may have the same. */
const REMEMBERED_CHARACTERS = 1024 * 1024;

export interface ExpandParts extends LaterParts {
  chunks: ChunkReader;
  /** What messages call the request; empty, or with a dot behind it. */
  where: string;
}

/**
 * The hits with their contexts, which are read when the hits are taken. The windows of all hits are known before. Of
 * hits that are no chunks the context is null. Errors: invalid_parameter, when none of them is a chunk.
 */
export async function expandedHits<Found extends FoundHits>(
  found: Found,
  expansion: Expansion,
  parts: ExpandParts,
): Promise<Found> {
  const { hits, later } = found;
  const places = new Map<string, ChunkPlace | null>();
  await inSlices(notePlaces(hits, places));
  if (later !== undefined) {
    const leftOut = hits.filter(({ metadata }) => metadata === LEFT_OUT);
    for await (const page of later.pagesOf(leftOut)) await inSlices(notePlaces(page, places));
  }
  const chunks = new Map([...places].filter((entry): entry is [string, ChunkPlace] => entry[1] !== null));
  if (places.size > 0 && chunks.size === 0)
    throw new QuiverError(
      'invalid_parameter',
      `${parts.where}expand needs ${DOCUMENT_ID}, a number or a text of up to ${DOCUMENT_ID_CHARACTERS_MAX} characters, and ${CHUNK_INDEX}, a whole number from 0, in the metadata: no result has both`,
    );
  return { ...found, later: new ExpandedHits(windowsOf(chunks, expansion), later, parts) };
}

function* notePlaces(hits: readonly ScoredHit[], places: Map<string, ChunkPlace | null>): Generator<undefined, void> {
  for (const { externalId, metadata } of hits) {
    if (metadata !== LEFT_OUT) places.set(externalId, chunkPlaceOf(externalId, metadata));
    yield;
  }
}

/** Reads contexts of hits, of as many at once as have few chunks together. */
class ExpandedHits implements LaterContents {
  private known: ReadContexts = new Map();
  private characters = 0;

  constructor(
    private readonly windows: ReadonlyMap<string, ChunkWindow>,
    private readonly later: LaterContents | undefined,
    private readonly parts: ExpandParts,
  ) {}

  async *pagesOf(hits: readonly ScoredHit[]): AsyncGenerator<ScoredHit[]> {
    const pages = this.later === undefined ? [hits] : this.later.pagesOf(hits);
    for await (const page of pages) {
      for (let from = 0; from < page.length;) {
        await this.readFor(page.slice(from));
        const some: ScoredHit[] = [];
        for (; from < page.length && this.isKnown(page[from]); from += 1) some.push(this.expanded(page[from]));
        yield some;
        if (this.characters >= REMEMBERED_CHARACTERS) this.forget();
      }
    }
  }

  private async readFor(hits: readonly ScoredHit[]): Promise<void> {
    const lacking = new Set<ChunkWindow>();
    for (const hit of hits) {
      const window = this.windows.get(hit.externalId);
      if (window !== undefined && !this.known.has(window)) lacking.add(window);
      if (lacking.size >= CHUNKS_AT_ONCE) break;
    }
    if (lacking.size === 0) return;
    const { chunks, collection, begin, hold, kept } = this.parts;
    const read = await chunks.read(firstOf([...lacking], CHUNKS_AT_ONCE), { collection, begin, hold });
    for (const [window, context] of read) {
      this.known.set(window, context);
      this.characters += context?.text.length ?? 0;
    }
    // More than was expected is there, room or not.
    if (this.characters > kept) hold.keep(kept + this.characters);
  }

  private isKnown({ externalId }: ScoredHit): boolean {
    const window = this.windows.get(externalId);
    return window === undefined || this.known.has(window);
  }

  private expanded(hit: ScoredHit): ScoredHit {
    const window = this.windows.get(hit.externalId);
    return { ...hit, context: window === undefined ? null : (this.known.get(window) ?? null) };
  }

  private forget(): void {
    this.known = new Map();
    this.characters = 0;
    this.parts.hold.keep(this.parts.kept);
  }
}
