import { hybridSearchBody } from '../../coordinator/api/schema/search-schemas';
import type { StopWords } from '../../coordinator/service/synonyms/own-stop-words';
import type { ScoredHit, VectorInput } from '../../coordinator/service/service';
import { readConfig } from '../../shared/base/config/config';
import { stopWords as ofLanguage } from '../../shared/base/text/stop-words';
import type { WordsCondition } from '../../shared/contract/filter/filter';
import { plainPlanScore } from '../support/models/plain-keyword-plan';
import { newCollection, type PlainService, plainService } from '../support/shards/plain-service';
import { graphFactories, openRocksStore, ShardNode } from '../support/shards/shard-node';
import { runSeed, seededRandom } from '../support/values/random';

/** Queries and filters of a collection with stop words of its own, against a plain reading of which words count. */

const ITEMS = 120;
const seed = runSeed('own stop words');
const schema = hybridSearchBody(readConfig({}, 1));
/** In English, the first four are stop words. */
const WORDS = ['the', 'of', 'who', 'not', 'wa', 'wb', 'wc', 'wd', 'wf'];

let nodes: ShardNode[] = [];

afterEach(async () => {
  for (const node of nodes) await node.destroy();
  nodes = [];
});

type Match = 'any' | 'all' | { at_least: number };

class Story {
  private readonly random = seededRandom(seed);
  private readonly texts: string[][] = Array.from({ length: ITEMS }, () => this.words(6));
  readonly told: unknown[] = [];
  hits = 0;

  private constructor(private readonly started: PlainService) {}

  static async begin(shards: number): Promise<Story> {
    const node = await new ShardNode({ factories: graphFactories('int8'), openStore: openRocksStore }).start();
    nodes.push(node);
    const story = new Story(await plainService({ shardClient: node.client }));
    const { service } = story.started;
    await service.collections.create(newCollection('c', { dim: 2, metric: 'cosine', shards, language: 'en' }));
    await service.vectors.upsert(
      'c',
      story.texts.map((words, i): VectorInput => ({
        externalId: `${i}`,
        source: { vector: Float32Array.of(1, i) },
        metadata: '{}',
        text: words.join(' '),
      })),
    );
    return story;
  }

  async ask(queries: number): Promise<void> {
    const own: StopWords = { add: this.words(3), remove: this.words(3) };
    await this.started.service.collections.update('c', { stopWords: this.below(5) === 0 ? null : own });
    const stop = (await this.started.service.collections.get('c')).stopWords ?? { add: [], remove: [] };
    for (let i = 0; i < queries; i++) {
      const words = [this.word(), ...this.words(4)];
      const match = this.pick<Match>(['any', 'all', { at_least: 0.5 }]);
      const hits = await this.find({ query_text: words.join(' '), match, alpha: 0 });
      const wanted = this.ranked([...new Set(counting(words, stop))], match);
      expect({ stop, words, match, ids: idsOf(hits) }).toEqual({ stop, words, match, ids: [...wanted.keys()] });
      for (const { externalId, explanation } of hits)
        expect(explanation![1].score).toBeCloseTo(wanted.get(Number(externalId))!, 9);
      this.told.push(hits);
      this.hits += hits.length;
      await this.filter(stop);
      await this.signs(stop);
    }
  }

  private async filter(stop: StopWords): Promise<void> {
    const words = [this.word(), ...this.words(3)];
    const condition: WordsCondition = { type: 'words', query: words.join(' '), match: this.pick(['any', 'all']) };
    const count = await this.started.service.search.count('c', condition);
    expect({ stop, condition, count }).toEqual({
      stop,
      condition,
      count: this.texts.filter((text) => passes(text, words, stop, condition.match)).length,
    });
  }

  /** Of a clause of several words, too, and of one that stands for others. */
  private async signs(stop: StopWords): Promise<void> {
    const [must, not] = [
      [this.word(), ...this.words(2)],
      [this.word(), ...this.words(1)],
    ];
    const sign = this.pick(['', '*']);
    const query = { query_text: `+${must.join('-')}${sign} -${not.join('-')}`, query_syntax: 'simple', exact: true };
    const last = must.at(-1)!;
    const others = counting(must, stop).filter((word) => word !== last);
    const passing = this.texts.flatMap((text, id) => {
      const has =
        sign === ''
          ? passes(text, must, stop, 'all')
          : text.some((word) => word.startsWith(last)) && others.every((word) => text.includes(word));
      return has && !passes(text, not, stop, 'all') ? [id] : [];
    });
    for (const alpha of [0, 0.5, 1]) {
      const hits = await this.find({ ...query, alpha });
      expect({ stop, query, alpha, ids: idsOf(hits) }).toEqual({ stop, query, alpha, ids: passing });
      this.told.push(hits);
    }
  }

  private ranked(words: string[], match: Match): Map<number, number> {
    const minimum = match === 'any' ? 1 : match === 'all' ? words.length : Math.ceil(words.length * match.at_least);
    const statistics = {
      documentCount: this.texts.filter(({ length }) => length > 0).length,
      totalLength: this.texts.flat().length,
      documentFrequencies: words.map((word) => this.texts.filter((text) => text.includes(word)).length),
    };
    const units = words.map((_, i) => ({ terms: [i], isOptional: true }));
    return new Map(
      this.texts.flatMap((text, id): [number, number][] => {
        const score = plainPlanScore(text, words, { units, minimum }, statistics, () => true);
        return score === null ? [] : [[id, score]];
      }),
    );
  }

  private async find(given: object): Promise<ScoredHit[]> {
    const { search } = schema.parse({ ...given, vector: [1, 1], k: ITEMS, explain: true });
    return (await this.started.service.search.search('c', search)).hits.map(({ ...hit }) => hit);
  }

  private words(most: number): string[] {
    return Array.from({ length: this.below(most + 1) }, () => this.word());
  }

  private word(): string {
    return this.pick(WORDS);
  }

  private below(bound: number): number {
    return Math.floor(this.random() * bound);
  }

  private pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)];
  }
}

/** Without stop words, if there are others. */
function counting(words: readonly string[], { add, remove }: StopWords): string[] {
  const isStopWord = (word: string): boolean =>
    !remove.includes(word) && (ofLanguage('en').has(word) || add.includes(word));
  const others = words.filter((word) => !isStopWord(word));
  return others.length > 0 ? others : [...words];
}

function passes(text: readonly string[], words: readonly string[], stop: StopWords, match: string): boolean {
  const asked = counting(words, stop);
  return match === 'any' ? asked.some((word) => text.includes(word)) : asked.every((word) => text.includes(word));
}

function idsOf(hits: readonly ScoredHit[]): number[] {
  return hits.map(({ externalId }) => Number(externalId)).sort((a, b) => a - b);
}

test('queries and filters ask for the words that count, the same over 1, 2 and 5 shards, to the last digit', async () => {
  const stories: Story[] = [];
  for (const shards of [1, 2, 5]) {
    const story = await Story.begin(shards);
    for (let i = 0; i < 20; i++) await story.ask(5);
    stories.push(story);
  }
  const [one, ...others] = stories;
  for (const { told } of others) expect(told).toEqual(one.told);
  expect(one.hits).toBeGreaterThan(1_000);
}, 900_000);
