import { hybridSearchBody } from '../../coordinator/api/schema/search-schemas';
import type { SynonymRule } from '../../coordinator/service/synonyms/synonym-rules';
import type { ScoredHit, VectorInput } from '../../coordinator/service/service';
import { readConfig } from '../../shared/base/config/config';
import type { WordsCondition } from '../../shared/contract/filter/filter';
import { plainHasPhrase } from '../support/models/plain-phrase';
import { newCollection, type PlainService, plainService } from '../support/shards/plain-service';
import { graphFactories, openRocksStore, ShardNode } from '../support/shards/shard-node';
import { runSeed, seededRandom } from '../support/values/random';

/** Queries and filters of a collection with synonyms through the whole service, against a plain reading. */

const ITEMS = 160;
const seed = runSeed('synonyms');
const schema = hybridSearchBody(readConfig({}, 1));
const WORDS = Array.from('abcdefghijkl', (letter) => `w${letter}`);

let nodes: ShardNode[] = [];

afterEach(async () => {
  for (const node of nodes) await node.destroy();
  nodes = [];
});

type Match = 'any' | 'all' | { at_least: number };

/** One word of a query, or several that a rule has, with what they mean besides. */
interface Part {
  words: string[];
  meanings: string[][];
  isMust: boolean;
}

/** A part as it is looked for: any of these is enough; `isTyped`: wherever its words are. */
interface Unit {
  ways: { words: string[]; isTyped: boolean }[];
  isOptional: boolean;
}

class Story {
  private readonly random = seededRandom(seed);
  private readonly texts: string[][] = Array.from({ length: ITEMS }, () => this.words(8));
  readonly told: unknown[] = [];
  readonly found = { rules: 0, hits: 0, more: 0 };

  private constructor(
    private readonly node: ShardNode,
    private started: PlainService,
  ) {}

  static async begin(shards: number): Promise<Story> {
    const node = await new ShardNode({ factories: graphFactories('int8'), openStore: openRocksStore }).start();
    nodes.push(node);
    const story = new Story(node, await plainService({ shardClient: node.client }));
    await story.started.service.collections.create(newCollection('c', { dim: 2, metric: 'cosine', shards }));
    await story.started.service.vectors.upsert(
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

  async restart(): Promise<void> {
    await this.node.restart();
    this.started = await plainService({ store: this.started.store, shardClient: this.node.client });
  }

  async ask(queries: number): Promise<void> {
    const rules = this.rules();
    await this.started.service.collections.update('c', { synonyms: rules });
    if (this.below(3) === 0) await this.restart();
    for (let i = 0; i < queries; i++) {
      const match = this.pick<Match>(['any', 'all', { at_least: 0.5 }]);
      const isSimple = this.below(2) === 0;
      const clauses = Array.from({ length: 1 + this.below(5) }, () => ({
        occurs: isSimple ? this.pick(['may', 'may', 'must', 'not'] as const) : ('may' as const),
        words: Array.from({ length: isSimple && this.below(3) === 0 ? 2 : 1 }, () => this.word()),
      }));
      if (clauses.every(({ occurs }) => occurs === 'not')) continue;
      const sign = { may: '', must: '+', not: '-' };
      const text = clauses.map(({ occurs, words }) => `${sign[occurs]}${words.join('-')}`).join(' ');
      const body = { query_text: text, query_syntax: isSimple ? 'simple' : 'plain', match, vector: [1, 1], k: ITEMS };
      const passing = this.texts.flatMap((words, id) =>
        clauses.every(
          ({ occurs, words: own }) => occurs === 'may' || this.passes(words, own, 'all', rules) === (occurs === 'must'),
        )
          ? [id]
          : [],
      );
      const wanted = this.ranked(clauses, match, rules, passing);
      const hits = await this.hits({ ...body, alpha: 0 });
      expect({ rules, body, ids: idsOf(hits) }).toEqual({ rules, body, ids: [...wanted.keys()].sort(byNumber) });
      for (const { externalId, explanation } of hits)
        if (!(Math.abs(explanation![1].score! - wanted.get(Number(externalId))!) < 1e-9))
          throw new Error(
            `${JSON.stringify({ rules, body })}: ${externalId} ${explanation![1].score}: ${wanted.get(Number(externalId))}`,
          );
      const both = await this.hits({ ...body, alpha: 0.5, exact: true });
      expect(idsOf(both)).toEqual(passing);
      // No rule takes a hit away, but where a word must not be there, or words that count as one are a share of fewer.
      if (clauses.every(({ occurs }) => occurs !== 'not')) {
        const before = this.ranked(
          clauses,
          match,
          [],
          this.texts.flatMap((words, id) =>
            clauses.every(({ occurs, words: own }) => occurs === 'may' || this.passes(words, own, 'all', []))
              ? [id]
              : [],
          ),
        );
        if (typeof match === 'string') expect([...before.keys()].filter((id) => !wanted.has(id))).toEqual([]);
        this.found.more += wanted.size - before.size;
      }
      await this.count(rules);
      this.told.push(hits, both);
      this.found.hits += hits.length;
    }
  }

  /** `$text` of a filter. */
  private async count(rules: readonly SynonymRule[]): Promise<void> {
    const words = Array.from({ length: 1 + this.below(3) }, () => this.word());
    const condition: WordsCondition = { type: 'words', query: words.join(' '), match: this.pick(['any', 'all']) };
    const count = this.texts.filter((text) => this.passes(text, words, condition.match as 'any' | 'all', rules)).length;
    expect({ rules, condition, count: await this.started.service.search.count('c', condition) }).toEqual({
      rules,
      condition,
      count,
    });
    const inverse = { type: 'not' as const, filter: condition };
    expect(await this.started.service.search.count('c', inverse)).toBe(ITEMS - count);
  }

  private passes(text: readonly string[], words: string[], match: 'any' | 'all', rules: readonly SynonymRule[]) {
    const parts = partsOf(words, false, rules);
    this.found.rules += parts.filter(({ meanings }) => meanings.length > 0).length;
    const isMeant = ({ meanings }: Part) => meanings.some((meaning) => plainHasPhrase(meaning, 0, [...text]));
    return match === 'all'
      ? parts.every((part) => part.words.every((word) => text.includes(word)) || isMeant(part))
      : words.some((word) => text.includes(word)) || parts.some(isMeant);
  }

  private ranked(
    clauses: readonly { occurs: 'may' | 'must' | 'not'; words: string[] }[],
    match: Match,
    rules: readonly SynonymRule[],
    passing: readonly number[],
  ): Map<number, number> {
    const units = unitsOf(clauses, match, rules);
    const optional = units.filter(({ isOptional }) => isOptional).length;
    const byDefault = Math.min(optional, units.length > optional ? 0 : 1);
    const minimum = match === 'all' ? optional : match === 'any' ? byDefault : Math.ceil(optional * match.at_least);
    const documents = this.texts.filter(({ length }) => length > 0).length;
    const average = this.texts.reduce((sum, { length }) => sum + length, 0) / documents;
    const idf = (word: string): number => {
      const having = this.texts.filter((text) => text.includes(word)).length;
      return Math.log(1 + (documents - having + 0.5) / (having + 0.5));
    };
    const scores = new Map<number, number>();
    for (const id of passing) {
      const text = this.texts[id];
      const times = (word: string): number => text.filter((one) => one === word).length;
      let [score, has] = [0, 0];
      let isIn = false;
      for (const { ways, isOptional } of units) {
        const weight = Math.min(...ways.map(({ words }) => Math.max(...words.map(idf))));
        const frequency = ways.reduce((sum, { words, isTyped }) => {
          const isThere = isTyped || words.length === 1 || plainHasPhrase(words, 0, text);
          return isThere ? sum + Math.min(...words.map(times)) : sum;
        }, 0);
        if (frequency === 0) continue;
        isIn = true;
        if (isOptional) has += 1;
        score += (weight * frequency * 2.2) / (frequency + 1.2 * (0.25 + (0.75 * text.length) / average));
      }
      if (isIn && has >= minimum) scores.set(id, score);
    }
    return scores;
  }

  private async hits(given: object): Promise<ScoredHit[]> {
    const { search } = schema.parse({ ...given, explain: true });
    return (await this.started.service.search.search('c', search)).hits.map(({ ...hit }) => hit);
  }

  private rules(): SynonymRule[] {
    const texts = (): string[] => [
      ...new Set(Array.from({ length: 2 + this.below(2) }, () => this.words(1 + this.below(3), 1).join(' '))),
    ];
    return Array.from({ length: 1 + this.below(4) }, () => {
      const [first, ...others] = texts();
      if (others.length === 0) return { from: [first], to: [this.word()] };
      return this.below(3) === 0 ? { from: [first], to: others } : [first, ...others];
    });
  }

  private words(most: number, least = 0): string[] {
    return Array.from({ length: least + this.below(most - least + 1) }, () => this.word());
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

/** The longest words with a rule first, from the beginning on. */
function partsOf(words: readonly string[], isMust: boolean, rules: readonly SynonymRule[]): Part[] {
  const parts: Part[] = [];
  for (let at = 0; at < words.length;) {
    let count = words.length - at;
    let meanings: string[][] = [];
    for (; count > 0; count--) {
      meanings = meaningsOf(words.slice(at, at + count), rules);
      if (meanings.length > 0) break;
    }
    count = Math.max(count, 1);
    parts.push({ words: words.slice(at, at + count), meanings, isMust });
    at += count;
  }
  return parts;
}

/** Different texts of the same words in another order count as one. */
function meaningsOf(words: readonly string[], rules: readonly SynonymRule[]): string[][] {
  const text = words.join(' ');
  const meanings = rules.flatMap((rule) => {
    const [from, to] = 'from' in rule ? [rule.from, rule.to] : [rule, rule];
    return from.includes(text) ? to.filter((one) => one !== text) : [];
  });
  return [...new Set(meanings)].map((meaning) => meaning.split(' '));
}

function unitsOf(
  clauses: readonly { occurs: 'may' | 'must' | 'not'; words: string[] }[],
  match: Match,
  rules: readonly SynonymRule[],
): Unit[] {
  const runs: { words: string[]; isMust: boolean }[] = [];
  for (const { occurs, words } of clauses) {
    if (occurs === 'not') continue;
    const last = runs.at(-1);
    if (occurs === 'may' && last?.isMust === false) last.words.push(...words);
    else runs.push({ words: [...words], isMust: occurs === 'must' });
  }
  const parts = runs.flatMap(({ words, isMust }) => partsOf(words, isMust, rules));
  const groups = new Map<string, Part>();
  for (const part of parts) {
    if (part.meanings.length === 0) continue;
    const name = part.words.join(' ');
    groups.set(name, { ...part, isMust: part.isMust || groups.get(name)?.isMust === true });
  }
  const units = [...groups.values()].map(({ words, meanings, isMust }): Unit => {
    const ways = [
      { words: [...new Set(words)], isTyped: true },
      ...meanings.map((one) => ({ words: one, isTyped: false })),
    ];
    return { ways, isOptional: !isMust };
  });
  const all = [...new Set(runs.flatMap(({ words }) => words))];
  const must = new Set(runs.flatMap(({ words, isMust }) => (isMust ? words : [])));
  const alone = new Set(parts.flatMap(({ words, meanings }) => (meanings.length === 0 ? words : [])));
  const taken = new Set(parts.flatMap(({ words, meanings }) => (meanings.length === 0 ? [] : words)));
  const single = new Set(units.flatMap(({ ways }) => ways.flatMap(({ words }) => (words.length === 1 ? words : []))));
  const left = all.filter((word) => (match === 'any' ? !single.has(word) : alone.has(word) || !taken.has(word)));
  return [
    ...units,
    ...left.map((word): Unit => ({ ways: [{ words: [word], isTyped: true }], isOptional: !must.has(word) })),
  ];
}

function idsOf(hits: readonly ScoredHit[]): number[] {
  return hits.map(({ externalId }) => Number(externalId)).sort(byNumber);
}

function byNumber(a: number, b: number): number {
  return a - b;
}

test('words with synonyms find what the rules say, the same over 1, 2 and 5 shards, to the last digit', async () => {
  const stories: Story[] = [];
  for (const shards of [1, 2, 5]) {
    const story = await Story.begin(shards);
    for (let i = 0; i < 12; i++) await story.ask(10);
    stories.push(story);
  }
  const [one, ...others] = stories;
  for (const { told } of others) expect(told).toEqual(one.told);
  expect(one.found.hits).toBeGreaterThan(1_000);
  expect(one.found.more).toBeGreaterThan(200);
  expect(one.found.rules).toBeGreaterThan(200);
}, 900_000);

describe('a rule takes away', () => {
  /** What of these texts is found, by its place. */
  async function found(texts: string[], synonyms: SynonymRule[], bodies: object[]): Promise<number[][]> {
    const node = await new ShardNode({ factories: graphFactories('int8'), openStore: openRocksStore }).start();
    nodes.push(node);
    const { service } = await plainService({ shardClient: node.client });
    await service.collections.create(newCollection('c', { dim: 2, metric: 'cosine', shards: 2, synonyms }));
    await service.vectors.upsert(
      'c',
      texts.map((text, i): VectorInput => ({
        externalId: `${i}`,
        source: { vector: Float32Array.of(1, i) },
        metadata: '{}',
        text,
      })),
    );
    const answers: number[][] = [];
    for (const body of bodies) {
      const { search } = schema.parse({ ...body, vector: [1, 1], alpha: 0, k: texts.length });
      answers.push(idsOf((await service.search.search('c', search)).hits));
    }
    return answers;
  }

  test('no word of a query, though the others have more meanings than there is room for', async () => {
    const typed = Array.from({ length: 40 }, (_, i) => `q${i}`);
    const meanings = (word: string): string[] => Array.from({ length: 31 }, (_, i) => `${word}m${i}`);
    const texts = [typed.join(' '), typed.slice(0, 39).join(' '), 'q39', 'q0m30', 'other'];
    const query = typed.join(' ');
    const bodies = [
      { query_text: query, match: 'all' },
      { query_text: query, match: 'any' },
      { query_text: `${query} +other`, query_syntax: 'simple', match: { at_least: 0.01 } },
    ];
    const rules = typed.map((word) => [word, ...meanings(word)]);
    expect(await found(texts, rules, bodies)).toEqual([[0], [0, 1, 2, 3], []]);
    expect(await found([...texts, 'q39 other'], rules, bodies.slice(2))).toEqual([[5]]);
  });

  test('nothing that begins like the last word, of a rule of several words', async () => {
    const texts = ['drive units', 'drive unit', 'motor', 'drive', 'units', 'drive unit units', 'old drive units'];
    const bodies = [
      { query_text: 'drive unit', match: 'all' },
      { query_text: 'drive unit', match: { at_least: 1 } },
      { query_text: 'old drive unit', match: 'all' },
      { query_text: 'drive unit old unit', match: 'all' },
      { query_text: 'drive unit', match: 'any' },
    ].map((body) => ({ ...body, prefix_last: true }));
    const wanted = [[0, 1, 5, 6], [0, 1, 5, 6], [6], [6], [0, 1, 3, 4, 5, 6]];
    expect(await found(texts, [['other', 'words']], bodies)).toEqual(wanted);
    const more = wanted.map((ids, i) => (i === 2 || i === 3 ? ids : [...ids, 2].sort(byNumber)));
    expect(await found(texts, [['motor', 'drive unit']], bodies)).toEqual(more);
  });

  test('nothing that is near to a word of its own', async () => {
    const texts = ['moter pump', 'engine pump', 'motors', 'pump'];
    const bodies = [1, 0].map((fuzzy) => ({ query_text: 'motor pump', match: 'all', fuzzy }));
    expect(await found(texts, [['other', 'words']], bodies)).toEqual([[0], []]);
    expect(await found(texts, [['motor', 'engine']], bodies)).toEqual([[0, 1], [1]]);
  });
});
