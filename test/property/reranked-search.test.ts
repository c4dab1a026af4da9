import { createHash } from 'node:crypto';
import type { RerankProvider } from '../../coordinator/models/rerank/reranker';
import type { FoundGroup, ScoredHit, SearchAnswer, VectorInput } from '../../coordinator/service/service';
import type { Diversity, Leg, Reranking, SearchRequest } from '../../coordinator/service/search-request';
import type { JsonObject } from '../../shared/contract/filter/filter';
import { lookUpPath } from '../../shared/contract/filter/metadata-path';
import { chosenPlainly, type PlainCandidate, relativePlainly, takenPlainly } from '../support/models/plain-diversity';
import { newCollection, type PlainService, plainService } from '../support/shards/plain-service';
import { graphFactories, openMemoryStore, openRocksStore, ShardNode } from '../support/shards/shard-node';
import { fused, listed, nearest, ofLegs } from '../support/stories/search-forms';
import { runSeed, seededRandom } from '../support/values/random';

/** Searches that rerank, against the first list put in another order by hand. */

const DIM = 4;
const WORDS = ['red', 'green', 'apple', 'pear', 'stone', 'river', 'naïve', '水'];
const seed = runSeed('reranked-search');

let nodes: ShardNode[] = [];

afterEach(async () => {
  for (const node of nodes) await node.destroy();
  nodes = [];
});

/** One of nine numbers, so that some are equal, by the two texts alone. */
function scoreOf(query: string, text: string): number {
  return (createHash('sha256').update(`${query}\n${text}`).digest()[0] % 9) / 8;
}

/** Whether a budget is too small for a text. */
function isLate(text: string): boolean {
  return createHash('sha256').update(text).digest()[1] % 3 === 0;
}

const RERANKER: RerankProvider = {
  modelOf: async (asked) => asked ?? 'first',
  score: async (model, query, texts, { budgetMs } = {}) =>
    texts.map((text) =>
      budgetMs !== undefined && isLate(text) ? undefined : scoreOf(model === 'first' ? query : `other ${query}`, text),
    ),
};

/** The text that a hit has for the model; null: none. */
function textOf({ metadata, text }: ScoredHit, field: string): string | null {
  if (field === 'text') return text === undefined || text === '' ? null : text;
  const value = lookUpPath(JSON.parse(metadata) as JsonObject, field);
  const read =
    typeof value === 'string'
      ? value
      : Array.isArray(value)
        ? value.filter((one) => typeof one === 'string').join('\n')
        : '';
  return read.trim() === '' ? null : read;
}

/** What the whole first list becomes. */
function reordered(
  first: readonly ScoredHit[],
  query: string,
  reranking: Reranking,
): { hits: ScoredHit[]; truncated: boolean; scored: number } {
  const { model = 'first', field, budgetMs, leastScore } = reranking;
  const scored: ScoredHit[] = [];
  const rest: ScoredHit[] = [];
  let truncated = false;
  for (const [i, hit] of first.entries()) {
    const text = textOf(hit, field);
    const late = text !== null && budgetMs !== undefined && isLate(text);
    truncated ||= late;
    if (text === null || late) rest.push(hit);
    else
      scored.push({
        ...hit,
        score: scoreOf(model === 'first' ? query : `other ${query}`, text),
        first: { score: hit.score, rank: i + 1 },
      });
  }
  scored.sort((a, b) => b.score - a.score || (a.externalId < b.externalId ? -1 : 1));
  const hits = leastScore === undefined ? [...scored, ...rest] : scored.filter(({ score }) => score >= leastScore);
  return { hits, truncated, scored: scored.length };
}

function groupsOf(hits: readonly ScoredHit[], size: number): FoundGroup[] {
  const groups: FoundGroup[] = [];
  for (const hit of hits) {
    const key = (JSON.parse(hit.metadata) as { g?: string }).g;
    if (key === undefined) continue;
    const group = groups.find((one) => one.key === key);
    if (group === undefined) groups.push({ key, hits: [hit] });
    else if (group.hits.length < size) group.hits.push(hit);
  }
  return groups;
}

async function run(shards: number, openStore: typeof openMemoryStore): Promise<unknown[]> {
  const random = seededRandom(seed);
  const below = (bound: number): number => Math.floor(random() * bound);
  const pick = <T>(values: readonly T[]): T => values[below(values.length)];
  const text = (): string => Array.from({ length: 1 + below(4) }, () => pick(WORDS)).join(' ');
  const vector = (): Float32Array => Float32Array.from({ length: DIM }, () => random() - 0.5);
  const node = await new ShardNode({ factories: graphFactories('int8'), openStore }).start();
  nodes.push(node);
  let started: PlainService = await plainService({ shardClient: node.client, reranker: RERANKER });
  await started.service.collections.create(newCollection('c', { dim: DIM, shards }));
  const vectors = new Map<string, Float32Array>();
  const write = (count: number): Promise<unknown> =>
    started.service.vectors.upsert(
      'c',
      Array.from({ length: count }, (): VectorInput => {
        const metadata: JsonObject = { n: below(4), pad: 'x'.repeat(pick([0, 0, 20_000])) };
        if (below(5) > 0) metadata.g = pick(['a', 'b', 'c', 'd']);
        if (below(4) > 0) metadata.title = pick([text(), [text(), 3, text()], 7, ' ']) as string;
        const externalId = `item-${below(300)}`;
        const own = vector();
        vectors.set(externalId, own);
        return {
          externalId,
          source: { vector: own },
          metadata: JSON.stringify(metadata),
          text: pick([text(), text(), text(), '', undefined]),
        };
      }),
    );
  const told: unknown[] = [];
  const ask = async (): Promise<void> => {
    for (let i = 0; i < 25; i += 1) {
      const query = text();
      const k = 1 + below(20);
      const offset = pick([0, 0, 5, 20]);
      const rerank: Reranking = {
        model: pick([undefined, undefined, 'other']),
        topN: pick([k + offset, 50, 200]),
        leastScore: pick([undefined, undefined, 0.5]),
        budgetMs: pick([undefined, undefined, 5]),
        field: pick(['text', 'text', 'title']),
      };
      const given = {
        filter: below(2) === 0 ? null : { type: 'in' as const, path: 'n', values: [below(4), below(4)] },
        effort: { type: 'exact' as const },
      };
      const source = { vector: vector(), text: query };
      const ids = Array.from({ length: 40 }, () => `item-${below(300)}`);
      const form = pick(['nearest', 'fused', 'legs', 'listed'] as const);
      const legs: Leg[] = [
        { of: { type: 'nearest', to: { vector: source.vector } }, weight: 2, filter: null },
        { of: { type: 'nearest', to: { text: 'another' } }, weight: 1, filter: null },
        { of: { type: 'keywords', text: query }, weight: 1, filter: null },
      ];
      const texts = below(2) === 0;
      const groups = below(3) === 0 ? { path: 'g', size: 1 + below(3), missing: 'leave_out' as const } : undefined;
      const diversity =
        groups === undefined
          ? pick<Diversity | undefined>([
              undefined,
              { type: 'mmr', lambda: pick([0, 0.4, 0.8]), candidates: pick([k + offset, 100]) },
              { type: 'field', path: 'g', atMost: pick([1, 3]) },
            ])
          : undefined;
      const request = (page: object): SearchRequest =>
        form === 'nearest'
          ? nearest({ source, ...given, ...page })
          : form === 'fused'
            ? fused({ queryText: query, vector: source.vector, alpha: pick([0.3]), ...given, ...page })
            : form === 'legs'
              ? ofLegs({ legs, ...given, ...page })
              : listed({ source, candidates: ids, ...page });
      const { search } = started.service;
      const first = await wholeOf(await search.search('c', request({ k: rerank.topN, texts: true })));
      const asked = request({ k, offset, texts, groups, diversity });
      const explain = below(2) === 0;
      const found = await search.search('c', { ...asked, rerank, output: { ...asked.output, explain } });
      const expected = reordered(first, query, rerank);
      expect(found.rerank).toEqual({
        model: rerank.model ?? 'first',
        scored: expected.scored,
        of: first.length,
        truncated: expected.truncated,
      });
      const shown = expected.hits.map(({ text: read, ...hit }) => ({ ...hit, ...(texts && { text: read }) }));
      const hits = await wholeOf(found);
      const unexplained = hits.map(({ explanation: _explanation, choice: _choice, ...hit }) => hit);
      if (diversity?.type === 'field')
        expect(unexplained).toEqual(takenPlainly(shown, 'g', diversity.atMost).slice(offset, offset + k));
      else if (diversity !== undefined) {
        const chosen = chosenPlainly(candidatesOf(shown.slice(0, diversity.candidates)), {
          ...diversity,
          vectors,
          count: offset + k,
        }).slice(offset);
        expect(unexplained).toEqual(chosen.map(({ hit }) => hit));
        const choices = chosen.map(({ firstRank, score }) => ({ firstRank, score, isReranked: true }));
        expect(hits.map(({ choice }) => choice)).toEqual(choices.map((choice) => (explain ? choice : undefined)));
      } else if (groups === undefined) expect(unexplained).toEqual(shown.slice(offset, offset + k));
      else {
        const whole = groupsOf(shown, groups.size).slice(offset, offset + k);
        expect(found.groups!.map(({ key }) => key)).toEqual(whole.map(({ key }) => key));
        expect(unexplained).toEqual(whole.flatMap((group) => group.hits));
      }
      told.push(found.rerank, hits);
    }
  };
  await write(250);
  await ask();
  await write(60);
  if (openStore === openRocksStore) {
    await node.restart();
    started = await plainService({ store: started.store, shardClient: node.client, reranker: RERANKER });
  }
  await ask();
  return told;
}

/** As relevant as they score among those that the model has read; the others behind, among themselves. */
function candidatesOf(hits: readonly ScoredHit[]): PlainCandidate[] {
  return [true, false].flatMap((isRead) => {
    const some = hits.filter(({ first }) => (first !== undefined) === isRead);
    const relevances = relativePlainly(some.map(({ score }) => score));
    return some.map((hit, i) => ({ hit, relevance: relevances[i], isBehind: !isRead }));
  });
}

/** The hits with all that they are to have. */
async function wholeOf({ hits, later }: SearchAnswer): Promise<ScoredHit[]> {
  if (later === undefined) return hits;
  const whole: ScoredHit[] = [];
  for await (const page of later.pagesOf(hits)) whole.push(...page);
  return whole;
}

test.each([
  { name: 'in memory', openStore: openMemoryStore },
  { name: 'on the disk, after a restart', openStore: openRocksStore },
])('the order of a model is that of the whole first list, over 1, 2 and 5 shards ($name)', async ({ openStore }) => {
  const one = await run(1, openStore);
  expect(await run(2, openStore)).toEqual(one);
  expect(await run(5, openStore)).toEqual(one);
  expect(JSON.stringify(one).length).toBeGreaterThan(10_000);
});
