import { hybridSearchBody } from '../../coordinator/api/schema/search-schemas';
import type { ScoredHit, VectorInput } from '../../coordinator/service/service';
import { readConfig } from '../../shared/base/config/config';
import { defaultAnalyser } from '../../shared/base/text/analyser';
import { analyserFor } from '../../shared/base/text/analyser-for';
import type { KeywordUnit } from '../../shared/contract/shard/keyword-plan';
import { plainPlanScore } from '../support/models/plain-keyword-plan';
import { newCollection, type PlainService, plainService } from '../support/shards/plain-service';
import { graphFactories, openRocksStore, ShardNode } from '../support/shards/shard-node';
import { runSeed, seededRandom } from '../support/values/random';

/** Queries in scripts without spaces through the whole service, against a plain reading of their words. */

const ITEMS = 150;
const FILLER = 0.1;
const seed = runSeed('unspaced words');
const schema = hybridSearchBody(readConfig({}, 1));

let nodes: ShardNode[] = [];

afterEach(async () => {
  for (const node of nodes) await node.destroy();
  nodes = [];
});

const WORDS = [
  '北京',
  '東京',
  '京',
  '图书馆',
  '大学',
  '設定',
  'サーバー',
  'を',
  'する',
  '도서관에서',
  '검색을',
  'quiver',
  '喜欢',
  '，',
  ' ',
];

type Match = 'any' | 'all' | { at_least: number };

/** What is asked of a collection, and what it is asked about. */
class Story {
  private readonly random = seededRandom(seed);
  private readonly texts = Array.from({ length: ITEMS }, () => this.written(12));

  private constructor(private readonly started: PlainService) {}

  static async begin(shards: number): Promise<Story> {
    const node = await new ShardNode({ factories: graphFactories('int8'), openStore: openRocksStore }).start();
    nodes.push(node);
    const started = await plainService({ shardClient: node.client });
    const story = new Story(started);
    const collection = newCollection('c', { dim: 2, metric: 'cosine', shards, language: 'auto' });
    await started.service.collections.create(collection);
    await started.service.vectors.upsert(
      'c',
      story.texts.map((text, i): VectorInput => ({
        externalId: `${i}`,
        source: { vector: Float32Array.of(1, i) },
        metadata: '{}',
        text,
      })),
    );
    return story;
  }

  /** What is found, after a look at each score. */
  async ask(count: number): Promise<ScoredHit[][]> {
    const told: ScoredHit[][] = [];
    for (let i = 0; i < count; i++) {
      const text = this.written(5);
      const match = this.pick<Match | undefined>([undefined, 'any', 'all', { at_least: 0.5 }]);
      const { search } = schema.parse({
        query_text: text || '京',
        vector: [1, 1],
        alpha: 0,
        k: ITEMS,
        explain: true,
        ...(match !== undefined && { match }),
      });
      const hits = (await this.started.service.search.search('c', search)).hits.map(({ ...hit }) => hit);
      const wanted = this.scores(text || '京', match ?? 'any');
      expect({ text, match, ids: hits.map(({ externalId }) => externalId).sort() }).toEqual({
        text,
        match,
        ids: [...wanted.keys()].sort(),
      });
      for (const { externalId, explanation } of hits)
        expect(explanation![1].score).toBeCloseTo(wanted.get(externalId)!, 9);
      told.push(hits);
    }
    return told;
  }

  private scores(query: string, match: Match): Map<string, number> {
    const { terms, units, minimum } = asked(query, match);
    const documents = this.texts.map((text) => defaultAnalyser.terms(text));
    const statistics = {
      documentCount: documents.filter(({ length }) => length > 0).length,
      totalLength: documents.reduce((sum, { length }) => sum + length, 0),
      documentFrequencies: terms.map((term) => documents.filter((document) => document.includes(term)).length),
    };
    const scored = documents.flatMap((document, i): [string, number][] => {
      const score = plainPlanScore(document, terms, { units, minimum }, statistics, () => true);
      return score === null ? [] : [[`${i}`, score]];
    });
    return new Map(scored);
  }

  private written(most: number): string {
    return Array.from({ length: Math.floor(this.random() * most) }, () => this.pick(WORDS)).join('');
  }

  private pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.random() * values.length)];
  }
}

/** Of a query whose words are those of the analyser. */
function asked(query: string, match: Match): { terms: string[]; units: KeywordUnit[]; minimum: number } {
  const words = [...analyserFor('auto').queryWords!(query)].flat();
  const areFillers = words.every(({ kind }) => kind !== 'word');
  const own = words.filter(({ kind }) => kind === 'word' || (areFillers && kind === 'filler'));
  const grouped =
    match === 'any' ? own.flatMap(({ terms }) => terms.map((term) => [term])) : own.map(({ terms }) => terms);
  const parts = [...new Set(grouped.map((terms) => [...new Set(terms)].join(' ')))].map((part) => part.split(' '));
  const held = new Set(parts.flat());
  const others = [...new Set(words.flatMap(({ terms }) => terms))].filter((term) => !held.has(term));
  const terms = [...held, ...others];
  const units = [
    ...parts.map((part) => ({ terms: part.map((term) => terms.indexOf(term)), isOptional: true })),
    ...others.map((term) => ({ terms: [terms.indexOf(term)], factors: [FILLER], isOptional: false })),
  ];
  const least = typeof match === 'object' ? Math.max(1, Math.ceil(parts.length * match.at_least - 1e-9)) : parts.length;
  const minimum = match === 'any' ? (others.length > 0 ? 0 : 1) : least;
  return { terms, units, minimum: Math.min(minimum, parts.length) };
}

test('words by a dictionary are the same over 1, 2 and 5 shards, to the last digit', async () => {
  const told: ScoredHit[][][] = [];
  for (const shards of [1, 2, 5]) told.push(await (await Story.begin(shards)).ask(40));
  expect(told[1]).toEqual(told[0]);
  expect(told[2]).toEqual(told[0]);
  expect(told[0].flat().length).toBeGreaterThan(1_000);
}, 900_000);
