import type { CallOptions } from '../../../shared/contract/shard/shard-client';
import { TEXT_FIELD } from '../../../shared/contract/shard/keyword-fields';
import { compareHits, LEFT_OUT } from '../../../shared/contract/shard/shard-read';
import type { JsonObject } from '../../../shared/contract/filter/filter';
import { lookUpPath } from '../../../shared/contract/filter/metadata-path';
import type { Clock } from '../../../shared/base/time/clock';
import { inSlices } from '../../../shared/base/time/work-slices';
import { RERANKED_UNITS_MAX, type RerankProvider } from '../../models/rerank/reranker';
import { type AnswerHold, countedElsewhere, NO_HOLD } from '../answer-hold';
import type { CollectionRecord } from '../collections/collection-record';
import {
  type Diversity,
  type Grouping,
  type Page,
  queryTextOf,
  type Reranking,
  type SearchRequest,
} from '../search-request';
import type { FoundGroup, RerankedFacts, ScoredHit } from '../service';
import type { OrderedItems } from '../vectors/ordered-items';
import { chosenByVectors } from './diverse-hits';
import { FoundGroups } from './found-groups';
import { relativeScores } from './mmr';
import {
  atLeast,
  candidateBytes,
  type Ranked,
  type RankedLists,
  type RankOptions,
  type RecordStep,
} from './ranked-lists';
import { ValueCounts } from './value-counts';

/** Hits whose texts are cut out of their metadata before others may be served. */
const HITS_PER_STEP = 64;

/** One search that reranks. */
export interface RerankedSearch {
  collection: CollectionRecord;
  request: SearchRequest;
  reranking: Reranking;
  vector: Float32Array | null;
  options: RankOptions;
  call: CallOptions;
}

/** A hit of the first list, and what of it the model and the grouping read. */
export interface Candidate {
  hit: ScoredHit;
  /** From 1. */
  rank: number;
  /** '': it has none. */
  text: string;
  /** As the hit, or what was left out of it. */
  metadata: string;
}

/** The search by which the first list of a request is found, of which its page is cut after reranking. */
export function firstSearchOf(request: SearchRequest): SearchRequest {
  const { rerank, page, output, query } = request;
  if (rerank === undefined) return request;
  return {
    query,
    page: { ...page, k: rerank.topN, offset: 0, groups: undefined, diversity: undefined },
    output: {
      texts: output.texts || rerank.field === TEXT_FIELD,
      explain: output.explain,
      versions: output.versions,
    },
  };
}

/** What reranking holds of a request: texts that a model reads, and vectors by which hits differ. */
export function rerankBytesMax(collection: CollectionRecord, request: SearchRequest, hold: AnswerHold): number {
  return request.rerank === undefined
    ? 0
    : textBytesMax(request.rerank, hold) + candidateBytes(collection, request.page);
}

function textBytesMax({ topN }: Reranking, hold: AnswerHold): number {
  return topN * Math.min(2 * RERANKED_UNITS_MAX, hold.itemBytesMax(true));
}

/**
 * The first hits of a ranked list, in the order in which a model has them: it reads the query and the text of a hit at
 * once. Hits that have no text, and those that a budget did not reach, come behind in the order of the first list, with
 * its scores. Hits that differ are chosen of that, and pages and groups are cut out.
 */
export class RerankedLists {
  constructor(
    private readonly parts: {
      lists: Pick<RankedLists, 'rank'>;
      ordered: Pick<OrderedItems<CollectionRecord>, 'read'>;
      reranker: RerankProvider;
      clock: Pick<Clock, 'monotonicMs'>;
      recordStep: RecordStep;
    },
  ) {}

  /** Errors: those of the list and of the model. */
  async rank(search: RerankedSearch): Promise<Ranked> {
    const { request, collection, vector, options, call } = search;
    const { ordered, rerank, totalCount } = await this.order(search, async () =>
      this.parts.lists.rank(collection, firstSearchOf(request), vector, options, call),
    );
    const { diversity } = request.page;
    if (diversity === undefined) return { ...(await pageOf(ordered, request.page)), totalCount, rerank };
    const { k, offset } = request.page;
    const hits = await this.differing(search, diversity, ordered, offset + k);
    return { hits: hits.slice(offset, offset + k), totalCount, rerank };
  }

  /**
   * The first `count` that differ, or more. By vectors, those that the model has read come first, as relevant as they
   * score among each other.
   */
  async differing(
    search: RerankedSearch,
    diversity: Diversity,
    ordered: readonly Candidate[],
    count: number,
  ): Promise<ScoredHit[]> {
    if (diversity.type === 'field') return inSlices(new ValueCounts(diversity).taken(ordered));
    const candidates = ordered.slice(0, diversity.candidates).map(({ hit }) => hit);
    return chosenByVectors(this.parts.ordered, { ...search, count }, diversity, candidates, (hits) => {
      const scoresOf = (some: readonly ScoredHit[]): number[] => some.map(({ score }) => score);
      const behind = hits.filter(({ first }) => first !== undefined).length;
      const [read, others] = [hits.slice(0, behind), hits.slice(behind)];
      const relevances = [...relativeScores(scoresOf(read)), ...relativeScores(scoresOf(others))];
      return { relevances, behind };
    });
  }

  /** All that is reranked of the list that `first` finds, or keeps its place behind it, in the new order. */
  async order(
    search: RerankedSearch,
    first: () => Promise<Pick<Ranked, 'hits' | 'totalCount'>>,
  ): Promise<{ ordered: Candidate[]; rerank: RerankedFacts; totalCount: number | null }> {
    const { request, reranking, options, call } = search;
    const { reranker, clock, recordStep } = this.parts;
    const model = await reranker.modelOf(reranking.model);
    const list = await first();
    const startMs = clock.monotonicMs();
    const candidates = await this.candidates(search, atLeast(list.hits, request.page));
    const withText = candidates.filter(({ text }) => text !== '');
    const scores = await reranker.score(
      model,
      queryTextOf(request.query.source)!,
      withText.map(({ text }) => text),
      { budgetMs: reranking.budgetMs },
    );
    const { hold = NO_HOLD } = options;
    void hold.reserveText(0);
    const scored = new Map<Candidate, number>();
    withText.forEach((candidate, i) => {
      const score = scores[i];
      if (score !== undefined) scored.set(candidate, score);
    });
    const rerank: RerankedFacts = {
      model,
      scored: scored.size,
      of: candidates.length,
      truncated: scored.size < withText.length,
    };
    const ordered = inOrder(candidates, scored, reranking.leastScore);
    recordStep(call, 'rerank', startMs);
    return {
      ordered: request.output.texts ? ordered : ordered.map(withoutText),
      rerank,
      totalCount: list.totalCount,
    };
  }

  private async candidates(
    { request, reranking, collection, call, options }: RerankedSearch,
    hits: readonly ScoredHit[],
  ): Promise<Candidate[]> {
    const { hold = NO_HOLD } = options;
    const isOfText = reranking.field === TEXT_FIELD;
    const { groups, diversity } = request.page;
    const isLookedAt = groups !== undefined || diversity?.type === 'field';
    // What lacks its metadata lacks its text, too.
    const isLacking = ({ metadata, text }: ScoredHit): boolean =>
      metadata === LEFT_OUT || (isOfText && text === undefined);
    await hold.reserveText(textBytesMax(reranking, hold));
    const read = new Map<string, Pick<Candidate, 'text' | 'metadata'>>();
    const lacking = hits.filter(isLacking).map(({ externalId }) => externalId);
    // What the list may hold is counted, and of what is read now only the texts are kept, in part.
    const parts = this.parts.ordered.read(
      collection,
      lacking,
      { vectors: false, texts: isOfText },
      { begin: () => call, hold: countedElsewhere(hold) },
    );
    for await (const items of parts)
      for (const item of items) {
        if (item === null) continue;
        const { externalId, metadata, text } = item;
        read.set(externalId, {
          text: isOfText ? cut(text ?? '') : textAt(metadata, reranking.field),
          metadata: isLookedAt ? metadata : '',
        });
      }
    return inSlices(candidatesOf(hits, read, reranking.field));
  }
}

function* candidatesOf(
  hits: readonly ScoredHit[],
  read: ReadonlyMap<string, Pick<Candidate, 'text' | 'metadata'>>,
  field: string,
): Generator<undefined, Candidate[]> {
  const candidates: Candidate[] = [];
  for (const [i, hit] of hits.entries()) {
    const { externalId, metadata, text } = hit;
    const own = (): Pick<Candidate, 'text' | 'metadata'> => ({
      text: field === TEXT_FIELD ? cut(text ?? '') : textAt(metadata, field),
      metadata,
    });
    const known = read.get(externalId);
    // What was left out and could not be read is gone meanwhile.
    if (known !== undefined || metadata !== LEFT_OUT) candidates.push({ hit, rank: i + 1, ...(known ?? own()) });
    if (i % HITS_PER_STEP === HITS_PER_STEP - 1) yield;
  }
  return candidates;
}

/** What a model gets of a text: lone surrogates become U+FFFD. */
function cut(text: string): string {
  const read = text.slice(0, RERANKED_UNITS_MAX).toWellFormed();
  return read.trim() === '' ? '' : read;
}

/** The text under a path of metadata; of a list, its texts in lines. */
function textAt(metadata: string, path: string): string {
  const value = lookUpPath(JSON.parse(metadata) as JsonObject, path);
  if (typeof value === 'string') return cut(value);
  return Array.isArray(value) ? cut(value.filter((one) => typeof one === 'string').join('\n')) : '';
}

/** The hits that were scored, best first; without a least score, the others behind them as they were. */
function inOrder(
  candidates: readonly Candidate[],
  scores: ReadonlyMap<Candidate, number>,
  leastScore: number | undefined,
): Candidate[] {
  const scored = [...scores]
    .map(([candidate, score]): Candidate => {
      const { hit, rank } = candidate;
      return { ...candidate, hit: { ...hit, score, first: { score: hit.score, rank } } };
    })
    .sort((a, b) => compareHits(a.hit, b.hit));
  if (leastScore !== undefined) return scored.filter(({ hit }) => hit.score >= leastScore);
  return [...scored, ...candidates.filter((candidate) => !scores.has(candidate))];
}

/** The text was only read by the model. */
function withoutText(candidate: Candidate): Candidate {
  const { text: _text, ...hit } = candidate.hit;
  return { ...candidate, hit };
}

async function pageOf(
  candidates: readonly Candidate[],
  { k, offset, groups: grouping }: Page,
): Promise<Pick<Ranked, 'hits' | 'groups'>> {
  if (grouping === undefined) return { hits: candidates.slice(offset, offset + k).map(({ hit }) => hit) };
  const groups = (await groupsOf(candidates, grouping)).slice(offset, offset + k);
  return { hits: groups.flatMap(({ hits }) => hits), groups };
}

/** The groups of what was reranked, best first. */
export async function groupsOf(
  candidates: readonly Candidate[],
  { path, size, missing }: Grouping,
): Promise<FoundGroup[]> {
  const found = new FoundGroups({ path, size, each: missing === 'each' });
  await inSlices(found.add(candidates));
  return found.list().map(({ key, hits }) => ({ key, hits }));
}
