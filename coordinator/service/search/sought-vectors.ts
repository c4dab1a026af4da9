import type { CallOptions, ShardClient } from '../../../shared/contract/shard/shard-client';
import type { StoredItem } from '../../../shared/contract/shard/shard-read';
import type { Clock } from '../../../shared/base/time/clock';
import type { OfTexts } from '../../models/cut-text';
import { NO_HOLD } from '../answer-hold';
import type { CollectionEmbedder, TextVectors } from '../collections/collection-embedder';
import type { CollectionRecord } from '../collections/collection-record';
import type { ScatterGather } from '../routing/scatter-gather';
import { shardOf } from '../routing/shard-router';
import type { ShardSets } from '../routing/shard-sets';
import {
  isMade,
  type Leg,
  type LegSource,
  type Query,
  type SearchRequest,
  type Source,
  type VectorSource,
} from '../search-request';
import { checkDimension } from '../vectors/dimension-check';
import type { OrderedItems } from '../vectors/ordered-items';
import { vectorNotFound } from '../vectors/vector-not-found';
import { averageOf, type ExampleVectors, type LegVectors } from './example-vectors';
import type { RecordStep } from './ranked-lists';
import type { SearchChain } from './search-chain';

const NOTHING_EMBEDDED: TextVectors = { vectors: [], cut: [] };

/** What a search looks for. */
export interface SoughtVectors extends LegVectors {
  /** Of one that fuses lists: what each is looked for by; `vector` is the first of theirs, of a text if one is. */
  legs?: readonly LegVectors[];
}

/** When a search began, and when its vectors were made of texts; null: none was. */
export interface Times {
  startMs: number;
  embeddedMs: number | null;
}

/** A source of one list, and where it stands. */
interface ListSource {
  /** The place of its request. */
  request: number;
  source: Source | LegSource;
  /** Its place among the legs. */
  leg: number;
  /** Of a leg that answers tell by its place: how messages name it, with a dot behind it; else ''. */
  where: string;
  /** Whether its list is made. */
  isMade: boolean;
}

/** How messages call things of a request, by its place. */
interface RequestNames {
  /** Its vector. */
  vector: (request: number) => string;
  /** What stands in it. */
  at: (request: number) => string;
}
const OF_ONE: RequestNames = { vector: () => 'the vector', at: () => '' };

/** Finds the vectors that searches look for: given ones, those of texts, those of stored items. */
export class VectorFinder {
  constructor(
    private readonly parts: {
      embedder: Pick<CollectionEmbedder, 'embedQueries'>;
      shards: Pick<ShardClient, 'read'>;
      scatter: ScatterGather;
      sets: ShardSets<CollectionRecord>;
      ordered: OrderedItems<CollectionRecord>;
      clock: Clock;
      recordStep: RecordStep;
    },
  ) {}

  /**
   * The vectors of requests; null: none is needed. All texts are embedded in one call; `cut` names requests by their
   * places. A chain goes on with the vector that it began with. Errors: dimension_mismatch; not_found; those of the
   * model.
   */
  async of(
    collection: CollectionRecord,
    requests: readonly SearchRequest[],
    call: CallOptions,
    startMs: number,
    { names = OF_ONE, chains = [] }: { names?: RequestNames; chains?: readonly (SearchChain | undefined)[] } = {},
  ): Promise<{ sought: SoughtVectors[]; times: Times; cut: NonNullable<OfTexts['cut']> }> {
    const lists = requests.flatMap(({ query }, i) => listsOf(query, i));
    const given = lists.map(({ request, source, leg, where }) => {
      const what = where === '' ? names.vector(request) : `the vector of ${names.at(request)}${where.slice(0, -1)}`;
      return chains[request]?.fixed?.vectors[leg] ?? givenVector(collection, source, what);
    });
    for (const { request, source, where } of lists)
      checkExamples(collection, source, `${names.at(request)}${examplesAt(where)}`);
    this.parts.recordStep(call, 'route', startMs);
    const texts = lists.flatMap(({ source, where, isMade: isNeeded }, of) =>
      (isNeeded && given[of] === null ? textsOf(source, where) : []).map((text) => ({ of, ...text })),
    );
    const { vectors: made, cut } =
      texts.length === 0
        ? NOTHING_EMBEDDED
        : await this.embed(
            collection,
            texts.map(({ text }) => text),
            call,
          );
    const times = { startMs, embeddedMs: texts.length === 0 ? null : this.parts.clock.monotonicMs() };
    const found = await Promise.all(
      lists.map(async (list, i): Promise<LegVectors> => {
        const own = made.filter((_, place) => texts[place].of === i);
        return given[i] !== null ? { vector: given[i] } : this.vectorsOf(collection, list, own, call);
      }),
    );
    const sought = requests.map(({ query }, i): SoughtVectors => {
      const legs = found.filter((_, place) => lists[place].request === i);
      if (query.source.type !== 'fused') return legs[0];
      return { vector: vectorFor(query.source.legs, legs), legs };
    });
    const cutTexts = cut.map((one) => {
      const { of, place } = texts[one.index];
      return { ...one, index: lists[of].request, ...(place !== undefined && { place }) };
    });
    return { sought, times, cut: cutTexts };
  }

  /** Errors: not_found. */
  async stored(
    collection: CollectionRecord,
    externalId: string,
    call: CallOptions,
  ): Promise<StoredItem & { vector: Float32Array }> {
    const { sets, scatter, shards } = this.parts;
    const [[item]] = await sets.ofModel(collection, call, (current) => {
      const shard = shardOf(externalId, current.shards);
      return scatter.read(current, [shard], call, (id) =>
        shards.read(id, 'fetch', { externalIds: [externalId], vectors: true, texts: false }, call),
      );
    });
    if (item === null) throw vectorNotFound(collection.name, externalId);
    return item as StoredItem & { vector: Float32Array };
  }

  /** `made`: of the texts of the source. */
  private async vectorsOf(
    collection: CollectionRecord,
    { source, isMade: isNeeded }: ListSource,
    made: readonly Float32Array[],
    call: CallOptions,
  ): Promise<LegVectors> {
    if (!isNeeded) return { vector: null };
    if (source.type === 'like') return { vector: (await this.stored(collection, source.externalId, call)).vector };
    if (source.type !== 'examples') return { vector: made.length === 0 ? null : made[0] };
    const examples = await this.exampleVectors(collection, source, made, call);
    return { vector: averageOf(collection.metric, examples), examples };
  }

  private async exampleVectors(
    collection: CollectionRecord,
    { positives, negatives }: Extract<Source, { type: 'examples' }>,
    made: readonly Float32Array[],
    call: CallOptions,
  ): Promise<ExampleVectors> {
    const all = [...positives, ...negatives];
    const ids = [...new Set(all.flatMap(({ externalId }) => externalId ?? []))];
    const stored = await this.storedVectors(collection, ids, call);
    let texts = 0;
    const vectors = all.map(({ externalId, vector }) =>
      externalId === undefined ? (vector ?? made[texts++]) : stored.get(externalId)!,
    );
    return { positives: vectors.slice(0, positives.length), negatives: vectors.slice(positives.length) };
  }

  /** By id; of metadata, no more than some are there at once. Errors: not_found, of the first that is not there. */
  private async storedVectors(
    collection: CollectionRecord,
    externalIds: readonly string[],
    call: CallOptions,
  ): Promise<Map<string, Float32Array>> {
    const vectors = new Map<string, Float32Array>();
    const parts = this.parts.ordered.read(
      collection,
      externalIds,
      { vectors: true, texts: false },
      { begin: () => call, hold: NO_HOLD },
    );
    for await (const items of parts)
      for (const item of items) {
        const externalId = externalIds[vectors.size];
        if (item === null) throw vectorNotFound(collection.name, externalId);
        vectors.set(externalId, item.vector!);
      }
    return vectors;
  }

  private async embed(collection: CollectionRecord, texts: string[], call: CallOptions): Promise<TextVectors> {
    const { clock, embedder, recordStep } = this.parts;
    const startMs = clock.monotonicMs();
    const made = await embedder.embedQueries(collection, texts);
    recordStep(call, 'embed', startMs);
    return made;
  }
}

/** The sources of the lists of a query. */
function listsOf({ source }: Query, request: number): ListSource[] {
  if (source.type !== 'fused') return [{ request, source, leg: 0, where: '', isMade: true }];
  return source.legs.map((leg, i) => ({
    request,
    source: leg.of,
    leg: i,
    where: leg.name === undefined ? `legs[${i}].` : '',
    isMade: isMade(leg),
  }));
}

/** What a vector is given or made by; null: it is that of an item, or none. */
function vectorSourceOf(source: Source | LegSource): VectorSource | null {
  return source.type === 'nearest' || source.type === 'listed' ? source.to : null;
}

/** The vector that a source gives, checked; null: it gives none. */
export function givenVector(
  collection: CollectionRecord,
  source: Source | LegSource,
  what = 'the vector',
): Float32Array | null {
  const vector = vectorSourceOf(source)?.vector;
  if (vector === undefined) return null;
  checkDimension(collection, vector, what);
  return vector;
}

/** Errors: dimension_mismatch. */
function checkExamples(collection: CollectionRecord, source: Source | LegSource, where: string): void {
  if (source.type !== 'examples') return;
  for (const { vector, place } of placedExamples(source))
    if (vector !== undefined) checkDimension(collection, vector, `the vector of ${where}${place}`);
}

/** Each with its place in the request. */
function placedExamples({ positives, negatives, namedApart = 0 }: Extract<Source, { type: 'examples' }>) {
  return [
    ...positives.map((one, i) => ({ ...one, place: `positives[${i - namedApart}]` })),
    ...negatives.map((one, i) => ({ ...one, place: `negatives[${i}]` })),
  ];
}

/** Before the places of the examples of a leg, or of a search. */
function examplesAt(where: string): string {
  return where === '' ? '' : `${where}like.`;
}

/** By what hits of legs without words are compared with the query: a text if there is one, or else the first. */
function vectorFor(legs: readonly Leg[], vectors: readonly LegVectors[]): Float32Array | null {
  const found = vectors.filter(({ vector }) => vector !== null);
  const ofText = found.find((one) => vectorSourceOf(legs[vectors.indexOf(one)].of)?.text !== undefined);
  return (ofText ?? found.at(0))?.vector ?? null;
}

/** The texts that have to be embedded where no vector is given; `place`: absent of a search of one text. */
function textsOf(source: Source | LegSource, where: string): { text: string; place?: string }[] {
  if (source.type === 'examples')
    return placedExamples(source).flatMap(({ vector, text, place }) =>
      vector === undefined && text !== undefined ? [{ text, place: `${examplesAt(where)}${place}.text` }] : [],
    );
  const text = vectorSourceOf(source)?.text;
  if (text === undefined) return [];
  return [{ text, ...(where !== '' && { place: `${where}text` }) }];
}
