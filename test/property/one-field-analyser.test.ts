import { hybridSearchBody } from '../../coordinator/api/schema/search-schemas';
import type { StopWords } from '../../coordinator/service/synonyms/own-stop-words';
import type { SynonymRule } from '../../coordinator/service/synonyms/synonym-rules';
import type { CollectionChange, VectorInput } from '../../coordinator/service/service';
import { readConfig } from '../../shared/base/config/config';
import type { Language } from '../../shared/base/text/language';
import type { WordsCondition } from '../../shared/contract/filter/filter';
import type { KeywordField } from '../../shared/contract/shard/keyword-fields';
import { newCollection, type PlainService, plainService } from '../support/shards/plain-service';
import { graphFactories, openRocksStore, ShardNode } from '../support/shards/shard-node';
import { runSeed, seededRandom } from '../support/values/random';

/**
 * Where all fields have one analyser as their own, whatever is asked finds what it finds in a collection of which that
 * is the language.
 */

const ITEMS = 150;
const seed = runSeed('one field analyser');
const schema = hybridSearchBody(readConfig({}, 1));
const WORDS: Record<'spaced' | 'zh' | 'ja' | 'ko', string[]> = {
  spaced: 'the house houses housing of running runs run pump pumps pimp not hard a harder big bigger who'.split(' '),
  zh: ['北京', '大学', '的', '图书馆', '我', '喜欢', '东京', '都', 'pump', '图书', '学生', '人', '很'],
  ja: ['東京', 'は', '大学', 'の', '図書館', 'カメラ', 'です', 'を', '人', 'pump', '京都', 'アニメ'],
  ko: ['서울', '서울은', '대학교', '도서관', '도서관에서', '학생', '학생이', '책', 'pump', '책을'],
};

let nodes: ShardNode[] = [];

afterEach(async () => {
  for (const node of nodes) await node.destroy();
  nodes = [];
});

class Story {
  private readonly random = seededRandom(seed);
  readonly found = { hits: 0, counted: 0, marks: 0 };

  private constructor(
    private readonly started: PlainService,
    private readonly kind: keyof typeof WORDS,
  ) {}

  static async begin(shards: number, language: Language | null): Promise<Story> {
    const node = await new ShardNode({ factories: graphFactories('int8'), openStore: openRocksStore }).start();
    nodes.push(node);
    const started = await plainService({ shardClient: node.client });
    const isSpaced = language === null || language === 'en';
    const story = new Story(started, isSpaced ? 'spaced' : (language as 'zh' | 'ja' | 'ko'));
    await story.make('plain', shards, language, {});
    await story.make('own', shards, 'de', { analyser: language ?? 'unicode' });
    const items = Array.from({ length: ITEMS }, (_, i): VectorInput => ({
      externalId: `${i}`,
      source: { vector: Float32Array.of(1, i) },
      metadata: JSON.stringify({ title: story.text(4) }),
      text: story.text(8),
    }));
    for (const name of ['plain', 'own']) await started.service.vectors.upsert(name, items);
    return story;
  }

  private async make(
    name: string,
    shards: number,
    language: Language | null,
    by: Pick<KeywordField, 'analyser'>,
  ): Promise<void> {
    const keywordFields: KeywordField[] = [
      { path: 'title', weight: 3, ...by },
      { path: 'text', weight: 1, ...by },
    ];
    const given = { dim: 2, metric: 'cosine' as const, shards, keywordFields };
    await this.started.service.collections.create(
      newCollection(name, { ...given, ...(language !== null && { language }) }),
    );
  }

  async ask(queries: number): Promise<void> {
    const change = {
      synonyms: this.below(2) === 0 ? null : this.rules(),
      stopWords: this.below(2) === 0 ? null : this.stopWords(),
    };
    for (const name of ['plain', 'own']) await this.started.service.collections.update(name, change);
    for (let i = 0; i < queries; i++) {
      const isSimple = this.below(2) === 0;
      const clauses = Array.from({ length: 1 + this.below(4) }, () => (isSimple ? this.clause() : this.word()));
      const match = this.pick(['any', 'any', 'all', { at_least: 0.5 }]);
      const body = {
        query_text: clauses.join(' '),
        query_syntax: isSimple ? 'simple' : 'plain',
        match,
        vector: [1, 1],
        k: ITEMS,
        fuzzy: this.pick([0, 0, 1, 'auto']),
        prefix_last: this.below(4) === 0,
        ...(this.below(3) === 0 && { field_weights: { title: 1 + this.below(3), text: this.below(3) } }),
        highlight: { fields: ['title', 'text'], pre: '[', post: ']' },
      };
      for (const alpha of [0, 0.5]) {
        const [plain, own] = [await this.hits('plain', { ...body, alpha }), await this.hits('own', { ...body, alpha })];
        expect({ change, body, hits: own }).toEqual({ change, body, hits: plain });
        this.found.hits += plain.length;
      }
      const condition: WordsCondition = {
        type: 'words',
        query: [this.word(), this.word(), this.word()].slice(this.below(3)).join(' '),
        match: this.pick(['any', 'all']),
        ...(this.below(3) === 0 && { paths: ['title'] }),
      };
      const count = await this.started.service.search.count('plain', condition);
      const own = await this.started.service.search.count('own', condition);
      expect({ change, condition, count: own }).toEqual({ change, condition, count });
      this.found.counted += count;
    }
  }

  /** Scores but for what the order of a sum changes. */
  private async hits(name: string, given: object): Promise<unknown[]> {
    const { search } = schema.parse({ ...given, explain: true, exact: true });
    const found = await this.started.service.search.search(name, search);
    const hits: { externalId: string; score: string | null; highlights: unknown }[] = [];
    for await (const page of found.later!.pagesOf(found.hits))
      for (const { externalId, explanation, highlights } of page) {
        hits.push({ externalId, score: explanation?.[1].score?.toFixed(9) ?? null, highlights });
        this.found.marks += highlights?.length ?? 0;
      }
    return hits.sort((a, b) => Number(a.externalId) - Number(b.externalId));
  }

  private clause(): string {
    const sign = this.pick(['', '', '+', '-']);
    const path = this.below(4) === 0 ? 'title:' : '';
    const kind = this.below(6);
    if (kind === 0) return `${sign}${path}"${this.word()} ${this.word()}"${this.pick(['', '~2'])}`;
    if (kind === 1) return `${sign}${path}${this.word().slice(0, 3)}*`;
    if (kind === 2) return `${sign}${path}${this.word()}~1`;
    if (kind === 3) return `${sign}${path}${this.word()}-${this.word()}`;
    return `${sign}${path}${this.word()}`;
  }

  private rules(): SynonymRule[] {
    return Array.from({ length: 1 + this.below(3) }, () => {
      const texts = Array.from({ length: 2 + this.below(2) }, () =>
        this.below(2) === 0 ? this.word() : this.twoWords(),
      );
      return this.below(2) === 0 ? texts : { from: texts.slice(0, 1), to: texts.slice(1) };
    });
  }

  /** Two different ones: a rule counts a word that it has twice once. */
  private twoWords(): string {
    const first = this.word();
    const second = this.pick(WORDS[this.kind].filter((word) => word !== first));
    return `${first} ${second}`;
  }

  private stopWords(): StopWords {
    return { add: [this.word()], remove: [this.word()] };
  }

  private text(most: number): string {
    const words = Array.from({ length: this.below(most + 1) }, () => this.word());
    return words.join(this.kind === 'zh' || this.kind === 'ja' ? this.pick(['', ' ']) : ' ');
  }

  private word(): string {
    return this.pick(WORDS[this.kind]);
  }

  private below(bound: number): number {
    return Math.floor(this.random() * bound);
  }

  private pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)];
  }
}

test.each<[Language | null, number]>([
  [null, 1],
  ['en', 2],
  ['zh', 2],
  ['ja', 1],
  ['ko', 5],
])(
  'as a collection of the language %s, over %d shards',
  async (language, shards) => {
    const story = await Story.begin(shards, language);
    for (let i = 0; i < 12; i++) await story.ask(8);
    expect(story.found.hits).toBeGreaterThan(1_000);
    expect(story.found.counted).toBeGreaterThan(500);
    expect(story.found.marks).toBeGreaterThan(1_000);
  },
  900_000,
);

/** Of different stems in every language, so that what one analyser has as one word is not two of another. */
const DISTINCT = 'the house pump pimp pumpkin run hard of who not a big bigot harbour'.split(' ');

test.each([1, 3])(
  'what analysers without a text would find changes nothing, over %d shards',
  async (shards) => {
    const node = await new ShardNode({ factories: graphFactories('int8'), openStore: openRocksStore }).start();
    nodes.push(node);
    const { service } = await plainService({ shardClient: node.client });
    const random = seededRandom(seed);
    const below = (bound: number): number => Math.floor(random() * bound);
    const word = (): string => DISTINCT[below(DISTINCT.length)];
    const given = { dim: 2, metric: 'cosine' as const, shards, language: 'en' as const };
    const title: KeywordField = { path: 'title', weight: 2 };
    const empty = (['de', 'zh', 'unicode'] as const).map((analyser) => ({
      path: `in.${analyser}`,
      weight: 3,
      analyser,
    }));
    await service.collections.create(newCollection('plain', { ...given, keywordFields: [title] }));
    await service.collections.create(
      newCollection('many', { ...given, keywordFields: [empty[0], title, ...empty.slice(1)] }),
    );
    const items = Array.from({ length: ITEMS }, (_, i): VectorInput => ({
      externalId: `${i}`,
      source: { vector: Float32Array.of(1, i) },
      metadata: JSON.stringify({ title: Array.from({ length: below(6) }, word).join(' ') }),
      text: undefined,
    }));
    for (const name of ['plain', 'many']) await service.vectors.upsert(name, items);
    let change: Pick<CollectionChange, 'synonyms' | 'stopWords'> = {};
    let count = 0;
    for (let i = 0; i < 200; i++) {
      if (i % 20 === 0) {
        const synonyms =
          below(2) === 0 ? null : [{ from: [word()], to: [`${word()} x`, word()] }, [`${word()} big`, word()]];
        const stopWords = below(2) === 0 ? null : { add: [word()], remove: [word()] };
        change = { synonyms, stopWords };
        for (const name of ['plain', 'many']) await service.collections.update(name, change);
      }
      const words = [...new Set(Array.from({ length: 1 + below(4) }, word))];
      const signs = words.map((one) => `${['', '', '+', '-'][below(4)]}${one}${['', '', '*', '~1'][below(4)]}`);
      const isSimple = below(2) === 0;
      const match = ['any', 'all', { at_least: 0.5 }, { at_least: 1 }][below(4)];
      // A word is not counted that any analyser leaves out, and own stop words have other stems in each.
      const isCounted = change.stopWords === undefined || change.stopWords === null;
      const body = {
        query_text: (isSimple ? signs : words).join(' '),
        query_syntax: isSimple ? 'simple' : 'plain',
        match: typeof match === 'object' && !isCounted ? 'any' : match,
        fuzzy: [0, 1, 'auto'][below(3)],
        prefix_last: below(3) === 0,
      };
      const found = async (name: string): Promise<unknown> => {
        const { search } = schema.parse({ ...body, vector: [1, 1], k: ITEMS, alpha: 0, explain: true });
        return (await service.search.search(name, search)).hits
          .map(({ externalId, explanation }) => [Number(externalId), explanation?.[1].score?.toFixed(9)])
          .sort(([a], [b]) => Number(a) - Number(b));
      };
      const plain = (await found('plain')) as unknown[];

      expect({ change, body, hits: await found('many') }).toEqual({ change, body, hits: plain });
      count += plain.length;
      const condition: WordsCondition = {
        type: 'words',
        query: words.join(' '),
        match: below(2) === 0 ? 'any' : 'all',
      };
      const [ofMany, ofPlain] = [
        await service.search.count('many', condition),
        await service.search.count('plain', condition),
      ];
      expect({ change, condition, count: ofMany }).toEqual({ change, condition, count: ofPlain });
    }
    expect(count).toBeGreaterThan(1_000);
  },
  900_000,
);
