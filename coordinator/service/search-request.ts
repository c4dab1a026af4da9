import type { Filter } from '../../shared/contract/filter/filter';
import type { Boosts } from '../../shared/contract/shard/boosts';
import { type FieldTable, fieldsLeft, hasAnyOf } from '../../shared/contract/shard/field-table';
import type { OrderKey } from '../../shared/contract/shard/item-order';
import type { SearchEffort } from '../../shared/contract/shard/shard-read';
import type { KeywordQuery } from './keyword-query';

/**
 * A vector, or a text that the service embeds with the model of the collection's first stored text. Before there is
 * one, a query is embedded with the default model, and nothing is recorded. A vector has precedence over a text.
 */
export type VectorSource = { vector: Float32Array; text?: string } | { vector?: undefined; text: string };

/** What hits are to be like, or unlike: a stored item, or a vector or text as {@link VectorSource}. */
export type Example =
  | { externalId: string; vector?: undefined; text?: undefined }
  | (VectorSource & { externalId?: undefined });

/**
 * A search: what it looks for, which part of the ranked list it wants, and what the answer has of each hit. Every
 * endpoint that searches is a form of it, and an option of one is an option of all.
 *
 * @example The ten nearest to a vector, with their texts:
 * { query: { source: { type: 'nearest', to: { vector } }, filter: null, effort: { type: 'calibrated' } },
 *   page: { k: 10, offset: 0 }, output: { texts: true } }
 */
export interface SearchRequest {
  query: Query;
  page: Page;
  output: Output;
  /** The model by which the first hits are put in another order, before the page is cut; undefined: by none. */
  rerank?: Reranking | undefined;
}

/** How a model reads the first hits of a list, of a search that has a text. */
export interface Reranking {
  /** As RERANK_MODEL names it; undefined: the first one. */
  model: string | undefined;
  /** Hits that it reads; as many as the end of the page at least. */
  topN: number;
  /** Hits whose new score is less, or that got none, are left out; undefined: none is. */
  leastScore: number | undefined;
  /** Milliseconds; undefined: all are waited for. */
  budgetMs: number | undefined;
  /** TEXT_FIELD of keyword-fields.ts, or a path of the metadata: a text or a list of texts. */
  field: string;
}

export interface Query {
  source: Source;
  filter: Filter | null;
  /** Of what is looked for by vectors. */
  effort: SearchEffort;
  /** What changes scores before anything is ranked: those of each list, where several are fused. undefined: nothing. */
  boosts?: Boosts | undefined;
  /** The model that the vectors are of, if the caller says it. */
  vectorModel?: string | undefined;
}

export type Source =
  /** The nearest to a vector. Weights of fields change nothing, and are checked as where there are keywords. */
  | { type: 'nearest'; to: VectorSource; fieldWeights?: KeywordQuery['fieldWeights'] }
  /** The nearest to the vector of a stored item, without the item itself. */
  | { type: 'like'; externalId: string }
  /**
   * What is like the positives, one at least, and unlike the negatives, by the vector between them
   * (example-vectors.ts), or by the best score against one of them (best-score.ts). Without the items among them.
   */
  | {
      type: 'examples';
      positives: readonly Example[];
      negatives: readonly Example[];
      /** How many of the first positives a request names by another field; absent: none. */
      namedApart?: number | undefined;
      strategy: 'average' | 'best_score';
    }
  /** One list made of several. Items that they are to be like or unlike are in none of them. */
  | {
      type: 'fused';
      legs: readonly Leg[];
      /** How the lists become one; undefined: by ranks with the constant 60. */
      fusing?: Fusing | undefined;
    }
  /** These items alone, each scored exactly. One named twice counts once; one that does not exist is left out. */
  | { type: 'listed'; to: VectorSource; externalIds: readonly string[] };

/** What the two lists of a search by a vector and keywords are called. */
export type LegName = 'vector' | 'keyword';

/** One of the lists that are fused. */
export interface Leg {
  /** As answers call it; undefined: they tell it by its place. */
  name?: LegName | undefined;
  of: LegSource;
  /** 0: the list is not made, and counts as empty. */
  weight: number;
  /** What its hits have to pass besides the query's filter; null: nothing. */
  filter: Filter | null;
  /** Hits that score less by themselves are not in the list; undefined: all are. */
  leastScore?: number | undefined;
}

export type LegSource =
  | Extract<Source, { type: 'nearest' | 'like' | 'examples' }>
  /** As a bag of words, or by its parts. What these ask of all lists is in the query's filter. */
  | { type: 'keywords'; text: string; keywords?: KeywordQuery | undefined };

/** Two lists: the nearest to a vector (undefined: that of the text), and the best by keywords of the text. */
export function vectorAndKeywords(
  asked: { text: string; keywords?: KeywordQuery | undefined },
  /** `alpha`: weight of the first list, that of the other is the rest of 1. */
  { vector, alpha, fusing }: { vector: Float32Array | undefined; alpha: number; fusing?: Fusing | undefined },
): Extract<Source, { type: 'fused' }> {
  const to = vector === undefined ? { text: asked.text } : { vector };
  const legs: Leg[] = [
    { name: 'vector', of: { type: 'nearest', to }, weight: alpha, filter: null },
    { name: 'keyword', of: { type: 'keywords', ...asked }, weight: 1 - alpha, filter: null },
  ];
  return { type: 'fused', legs, fusing };
}

/**
 * The list whose text a model reads, and whose words are marked: the first by keywords, or else the first by a text;
 * blank ones come last. undefined: none has a text.
 */
export function textLegOf(legs: readonly Leg[]): Leg | undefined {
  let best: Leg | undefined;
  let bestRank = 0;
  for (const leg of legs) {
    const text = textOf(leg.of);
    if (text === undefined) continue;
    const rank = (text.trim() === '' ? 1 : 3) + (leg.of.type === 'keywords' ? 1 : 0);
    if (rank > bestRank) [best, bestRank] = [leg, rank];
  }
  return best;
}

const NO_ITEMS: ReadonlySet<string> = new Set();

/** The stored items that hits are to be like or unlike: they are no hits. */
export function exampleItems(source: Source | LegSource): ReadonlySet<string> {
  switch (source.type) {
    case 'like':
      return new Set([source.externalId]);
    case 'examples':
      return new Set([...source.positives, ...source.negatives].flatMap(({ externalId }) => externalId ?? []));
    case 'fused':
      return source.legs.some(({ of }) => of.type === 'like' || of.type === 'examples')
        ? new Set(source.legs.flatMap(({ of }) => [...exampleItems(of)]))
        : NO_ITEMS;
    case 'nearest':
    case 'keywords':
    case 'listed':
      return NO_ITEMS;
  }
}

/** Whether a list is made. */
export function isMade({ weight }: Leg): boolean {
  return weight > 0;
}

export const FUSION_KINDS = ['rrf', 'relative', 'dbsf', 'linear'] as const;

/** What an item's score gets of each list that has it (score-fusion.ts). */
export interface Fusing {
  kind: (typeof FUSION_KINDS)[number];
  /** Of rrf: what is added to ranks. */
  constant: number;
  /** Whether scores are divided by the best that there can be; not of `linear`. */
  isUnit: boolean;
}

/** The text whose words a search may mark; undefined: it has none. */
export function queryTextOf(source: Source): string | undefined {
  switch (source.type) {
    case 'fused': {
      const leg = textLegOf(source.legs);
      return leg && textOf(leg.of);
    }
    case 'nearest':
    case 'listed':
    case 'like':
    case 'examples':
      return textOf(source);
  }
}

function textOf(source: LegSource | Extract<Source, { type: 'listed' }>): string | undefined {
  switch (source.type) {
    case 'keywords':
      return source.text;
    case 'nearest':
    case 'listed':
      return source.to.text;
    case 'like':
    case 'examples':
      return undefined;
  }
}

/** A part of the ranked list. */
export interface Page {
  /** How many hits. */
  k: number;
  offset: number;
  /** Hits that score less are left out; undefined: none is. Of a fused list: the fused score. */
  minScore?: number | undefined;
  /** Then places are groups: the best of the collection, each as good as its best hit. */
  groups?: Grouping | undefined;
  /** How hits differ from each other; not of groups. */
  diversity?: Diversity | undefined;
  /** Of a page that others continue: then `offset` is 0. undefined: the answer has no cursor. */
  cursor?: PageCursor | undefined;
}

/** Which page of a chain is wanted (search-chain.ts). */
export interface PageCursor {
  /** As the page before answered it; null: the first page is wanted. */
  text: string | null;
  /** How long after the first page the chain goes on. */
  secondsMax: number;
}

export type Diversity =
  /** Of the best so many candidates, by how relevant they are and how unlike the hits before them (mmr.ts). */
  | { type: 'mmr'; lambda: number; candidates: number }
  /** At most so many hits have the same number, text or boolean under a path, or in a list there. */
  | { type: 'field'; path: string; atMost: number };

/** Hits by the value that their metadata have under a path; of a list, a hit is in the group of each element. */
export interface Grouping {
  path: string;
  /** Hits of a group at most. */
  size: number;
  /** Of items that have no number, text or boolean there: left out, or each a group by itself. */
  missing: 'leave_out' | 'each';
}

/** What the items of a group have in common; null: nothing, the item is a group by itself. */
export type GroupKey = string | number | boolean | null;

/** What an answer has of its hits, besides ids, scores and metadata. */
export interface Output {
  /** Paths of the metadata that hits carry (chosen-metadata.ts); undefined: all. */
  fields?: readonly string[] | undefined;
  texts: boolean;
  /** Whether hits carry the version that their metadata and texts are of. */
  versions?: boolean | undefined;
  /** UTF-16 code units of a text at most; undefined: all of it. */
  textMax?: number | undefined;
  /** Whether the answer says how many items pass the filter. */
  total?: boolean | undefined;
  /** By what the hits of the page are ordered; undefined: as they were found. */
  order?: readonly OrderKey[] | undefined;
  /** How many neighbours each hit's context has (chunk-windows.ts); undefined: hits have none. */
  expand?: Expansion | undefined;
  /** What of the hits' texts shows the words that were found; undefined: nothing. */
  highlight?: Highlighting | undefined;
  /** Whether hits of fused lists carry their places in these. */
  explain?: boolean | undefined;
  /** Whether the hits may come as bytes (utf8HitsOf in shared/wire/codecs/hit-codec.ts). */
  packed?: boolean | undefined;
}

/** What the merge of hits as bytes does with options; those of the place in the list are looked at by themselves. */
const PACKED_PAGE: FieldTable<Omit<Page, 'k' | 'offset'>> = {
  minScore: 'left',
  groups: 'left',
  diversity: 'left',
  cursor: 'left',
};
const PACKED_OUTPUT: FieldTable<Output> = {
  fields: 'left',
  texts: 'left',
  versions: 'left',
  textMax: 'handled',
  total: 'handled',
  order: 'left',
  expand: 'left',
  highlight: 'left',
  explain: 'left',
  packed: 'handled',
};
const PAGE_LEFT = fieldsLeft(PACKED_PAGE);
const OUTPUT_LEFT = fieldsLeft(PACKED_OUTPUT);

/** Whether what shards answer can be put together as it is, as bytes, because nothing is left out or added. */
export function isPackable({ page, output }: SearchRequest): boolean {
  return output.packed === true && page.offset === 0 && !hasAnyOf(page, PAGE_LEFT) && !hasAnyOf(output, OUTPUT_LEFT);
}

/** Parts of fields that have words of the query. */
export interface Highlighting {
  /** Paths of metadata; "text" is the item's text. */
  fields: readonly string[];
  /** How many of each field at most. */
  fragments: number;
  /** UTF-16 code units of a fragment at most. */
  size: number;
  /** Put before and behind each word in the text of a fragment. */
  pre: string;
  post: string;
  /** What hits show that have none of the words: nothing, or the sentence that is nearest to the query. */
  by: 'words' | 'meaning';
}

/** Chunks of the same document before and after that of a hit. */
export interface Expansion {
  before: number;
  after: number;
}
