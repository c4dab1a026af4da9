import { createHash } from 'node:crypto';
import type { EmbeddingModel } from '../../coordinator/models/embedding-provider';
import { fusionDepth } from '../../coordinator/service/search/fusion';
import { type Example, FUSION_KINDS, type Fusing, type Leg } from '../../coordinator/service/search-request';
import type { ScoredHit, VectorInput } from '../../coordinator/service/service';
import { defaultAnalyser } from '../../shared/base/text/analyser';
import { bothFilters, type Filter } from '../../shared/contract/filter/filter';
import { compareHits } from '../../shared/contract/shard/shard-read';
import { plainlyFused } from '../support/models/plain-fusion';
import { newCollection, PlainEmbedding, type PlainService, plainService } from '../support/shards/plain-service';
import { graphFactories, openMemoryStore, openRocksStore, ShardNode } from '../support/shards/shard-node';
import { ofLegs } from '../support/stories/search-forms';
import { runSeed, seededRandom } from '../support/values/random';

/** Searches of several lists against their formulas over all items in memory, over any number of shards the same. */

const DIM = 4;
const IDS = 500;
const WORDS = ['red', 'green', 'apple', 'pear', 'stone', 'river'];
const DEFAULT: Fusing = { kind: 'rrf', constant: 60, isUnit: false };
const seed = runSeed('search-legs');

let nodes: ShardNode[] = [];

afterEach(async () => {
  for (const node of nodes) await node.destroy();
  nodes = [];
});

/** Small whole numbers, so that dot products are exact and often equal. */
function vectorOfText(text: string): Float32Array {
  return Float32Array.from(createHash('sha256').update(text).digest().subarray(0, DIM), (byte) => (byte % 5) - 2);
}

const MODEL: EmbeddingModel = { name: 'whole', dim: DIM, embed: async (texts) => texts.map(vectorOfText) };

interface Item {
  vector: Float32Array;
  text: string;
  terms: string[];
  n: number;
  m: number;
}

interface Scored {
  externalId: string;
  score: number;
}

/** The same steps for each number of shards. */
class Story {
  readonly random: () => number;
  readonly items = new Map<string, Item>();
  private readonly node: ShardNode | undefined;
  private started!: PlainService;

  private constructor(round: number, node: ShardNode | undefined) {
    this.random = seededRandom(seed + round);
    this.node = node;
  }

  static async begin(round: number, shards: number, openStore: typeof openMemoryStore | null): Promise<Story> {
    const node =
      openStore === null ? undefined : await new ShardNode({ factories: graphFactories('int8'), openStore }).start();
    if (node !== undefined) nodes.push(node);
    const story = new Story(round, node);
    await story.start();
    await story.started.service.collections.create(newCollection('c', { dim: DIM, metric: 'ip', shards }));
    return story;
  }

  private async start(): Promise<void> {
    const embedding = new PlainEmbedding([MODEL]);
    const before = this.started === undefined ? {} : { store: this.started.store };
    this.started = await plainService({ ...before, embedding, ...(this.node && { shardClient: this.node.client }) });
  }

  async restart(): Promise<void> {
    await this.node!.restart();
    await this.start();
  }

  below(bound: number): number {
    return Math.floor(this.random() * bound);
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)];
  }

  vector(): Float32Array {
    return Float32Array.from({ length: DIM }, () => this.below(5) - 2);
  }

  text(words: number): string {
    return Array.from({ length: words }, () => this.pick(WORDS)).join(' ');
  }

  async write(count: number): Promise<void> {
    const inputs = Array.from({ length: count }, (): VectorInput => {
      const words = this.text(this.below(6));
      const item: Item = {
        vector: this.vector(),
        text: words,
        terms: defaultAnalyser.terms(words),
        n: this.below(5),
        m: this.below(3),
      };
      const externalId = `i-${this.below(IDS)}`;
      this.items.set(externalId, item);
      const { vector, text, n, m } = item;
      return { externalId, source: { vector }, text, metadata: JSON.stringify({ n, m }) };
    });
    await this.started.service.vectors.upsert('c', inputs);
    const gone = Array.from({ length: count / 10 }, () => `i-${this.below(IDS)}`);
    await this.started.service.vectors.delete('c', gone);
    for (const id of gone) this.items.delete(id);
  }

  id(): string {
    return this.pick([...this.items.keys()]);
  }

  example(): Example {
    return this.pick<() => Example>([
      () => ({ externalId: this.id() }),
      () => ({ vector: this.vector() }),
      () => ({ text: this.text(2) }),
    ])();
  }

  filter(path: 'n' | 'm'): Filter | null {
    return this.below(2) === 0 ? null : { type: 'in', path, values: [this.below(4), this.below(4)] };
  }

  source(): Leg['of'] {
    const examples = (count: number): Example[] => Array.from({ length: count }, () => this.example());
    return this.pick<() => Leg['of']>([
      () => ({ type: 'nearest', to: { vector: this.vector() } }),
      () => ({ type: 'nearest', to: { text: this.text(3) } }),
      () => ({ type: 'keywords', text: this.pick([this.text(1), this.text(2), 'nowhere', ' – ']) }),
      () => ({ type: 'keywords', text: this.text(2) }),
      () => ({ type: 'like', externalId: this.id() }),
      () => ({
        type: 'examples',
        // Of one, two or four, the mean is exact.
        positives: examples(this.pick([1, 2, 4])),
        negatives: examples(this.pick([0, 1, 2])),
        strategy: this.pick(['average', 'best_score']),
      }),
    ])();
  }

  leg(leftOut: ReadonlySet<string>, own: Filter | null): Leg {
    const leg: Leg = {
      of: this.source(),
      weight: this.pick([0, 0.25, 1, 1, 3]),
      // Now and then of nothing.
      filter: this.below(8) === 0 ? { type: 'in', path: 'n', values: [9] } : this.filter('n'),
    };
    if (this.below(3) > 0) return leg;
    const list = this.list(leg, leftOut, own);
    // Between two scores of words, as the last bit of theirs is nobody's business; of numbers, the score itself.
    const { score } = list.length === 0 ? { score: 1 } : this.pick(list);
    return { ...leg, leastScore: leg.of.type === 'keywords' ? score - 1e-6 : score };
  }

  passes({ n, m }: Item, filter: Filter | null): boolean {
    if (filter === null) return true;
    if (filter.type === 'and') return filter.filters.every((one) => this.passes({ n, m } as Item, one));
    const { path, values } = filter as { path: string; values: readonly unknown[] };
    return values.includes(path === 'n' ? n : m);
  }

  /** The whole list of a leg. */
  list({ of, filter, leastScore }: Leg, leftOut: ReadonlySet<string>, own: Filter | null): Scored[] {
    const scoreOf = this.scores(of);
    return [...this.items]
      .filter(([id, item]) => !leftOut.has(id) && this.passes(item, bothFilters(own, filter)))
      .flatMap(([externalId, item]) => {
        const score = scoreOf(item);
        return score === null || (leastScore !== undefined && score < leastScore) ? [] : [{ externalId, score }];
      })
      .sort(compareHits);
  }

  private scores(of: Leg['of']): (item: Item) => number | null {
    switch (of.type) {
      case 'keywords':
        return this.wordScores(of.text);
      case 'nearest': {
        const vector = of.to.vector ?? vectorOfText(of.to.text!);
        return (item) => dot(vector, item.vector);
      }
      case 'like': {
        const { vector } = this.items.get(of.externalId)!;
        return (item) => dot(vector, item.vector);
      }
      case 'examples': {
        const [positives, negatives] = [of.positives, of.negatives].map((all) => all.map((one) => this.vectorOf(one)));
        const isOne = positives.length === 1 && negatives.length === 0;
        if (of.strategy === 'best_score' && !isOne)
          return (item) => {
            const best = Math.max(...positives.map((vector) => dot(vector, item.vector)));
            return negatives.some((vector) => dot(vector, item.vector) >= best) ? null : best;
          };
        const p = mean(positives);
        const vector = negatives.length === 0 ? p : p.map((x, i) => x + (x - mean(negatives)[i]));
        return (item) => dot(vector, item.vector);
      }
    }
  }

  private vectorOf({ externalId, vector, text }: Example): Float32Array {
    return externalId !== undefined ? this.items.get(externalId)!.vector : (vector ?? vectorOfText(text!));
  }

  /** BM25 as the textbooks have it. */
  private wordScores(text: string): (item: Item) => number | null {
    const documents = [...this.items.values()].map(({ terms }) => terms).filter((terms) => terms.length > 0);
    const average = documents.reduce((sum, document) => sum + document.length, 0) / documents.length;
    const terms = [...new Set(defaultAnalyser.terms(text))].map((term) => {
      const containing = documents.filter((one) => one.includes(term)).length;
      return { term, idf: Math.log(1 + (documents.length - containing + 0.5) / (containing + 0.5)) };
    });
    return ({ terms: document }) => {
      let score = 0;
      for (const { term, idf } of terms) {
        const frequency = document.filter((one) => one === term).length;
        score += (idf * 2.2 * frequency) / (frequency + 1.2 * (0.25 + (0.75 * document.length) / average));
      }
      return score > 0 ? score : null;
    };
  }

  async search(request: Parameters<typeof ofLegs>[0]): Promise<ScoredHit[]> {
    const { hits } = await this.started.service.search.search('c', ofLegs({ ...request, effort: { type: 'exact' } }));
    return hits;
  }
}

function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += a[i] * b[i];
  return sum;
}

function mean(vectors: readonly Float32Array[]): Float64Array {
  return Float64Array.from(
    { length: DIM },
    (_, i) => vectors.reduce((sum, vector) => sum + vector[i], 0) / vectors.length,
  );
}

/** Asks for the pages of some searches, and holds them against the lists in memory; answers all hits. */
async function asked(story: Story, searches: number): Promise<unknown[]> {
  const told: unknown[] = [];
  for (let i = 0; i < searches; i += 1) {
    const filter = story.filter('m');
    const sources = Array.from({ length: 2 + story.below(6) }, () => story.leg(new Set(), filter));
    const leftOut = new Set(
      sources.flatMap(({ of }) =>
        of.type === 'like'
          ? [of.externalId]
          : of.type === 'examples'
            ? [...of.positives, ...of.negatives].flatMap(({ externalId }) => externalId ?? [])
            : [],
      ),
    );
    const legs = sources.some(({ weight }) => weight > 0) ? sources : sources.map((leg) => ({ ...leg, weight: 1 }));
    const kind = story.pick(FUSION_KINDS);
    const fusing = story.pick([
      undefined,
      { kind, constant: story.pick([1, 60]), isUnit: kind !== 'linear' && story.below(2) === 0 },
    ]);
    const k = story.pick([3, 10, 45, 110]);
    const lists = legs.map((leg) => ({ weight: leg.weight, hits: story.list(leg, leftOut, filter) }));
    const answered = new Set<string>();
    for (let page = 0; page < 3; page += 1) {
      const offset = page * k;
      const depth = fusionDepth(offset + k);
      const cut = lists.map(({ weight, hits }) => ({ weight, hits: hits.slice(0, depth) }));
      const isOne = (fusing ?? DEFAULT).kind === 'rrf' && cut.filter(({ weight }) => weight > 0).length === 1;
      const best = plainlyFused(isOne ? lists : cut, fusing ?? DEFAULT).filter(
        ({ externalId }) => !answered.has(externalId),
      );
      const hits = await story.search({ legs, fusing, filter, k, offset, explain: true });
      const wanted = best.slice(0, k);
      expect(hits.map(({ externalId }) => externalId)).toEqual(wanted.map(({ externalId }) => externalId));
      for (const [at, { externalId, score, explanation, metadata }] of hits.entries()) {
        expect(score).toBeCloseTo(wanted[at].score, 9);
        const { n, m } = story.items.get(externalId)!;
        expect(JSON.parse(metadata)).toEqual({ n, m });
        for (const [leg, place] of explanation!.entries()) {
          const own = legs[leg].weight > 0 ? (isOne ? lists : cut)[leg].hits : [];
          const found = own.findIndex((hit) => hit.externalId === externalId);
          expect(place.rank).toBe(found < 0 ? null : found + 1);
          if (found < 0) expect(place).toMatchObject({ score: null, part: 0 });
          else expect(place.score).toBeCloseTo(own[found].score, 9);
        }
        answered.add(externalId);
      }
      told.push(hits);
    }
  }
  return told;
}

async function run(shards: number, openStore: typeof openMemoryStore | null): Promise<unknown[]> {
  const story = await Story.begin(1, shards, openStore);
  await story.write(600);
  const told = await asked(story, 14);
  await story.write(60);
  if (openStore === openRocksStore) await story.restart();
  return [...told, ...(await asked(story, 6))];
}

test.each([
  { name: 'plain shards', openStore: null },
  { name: 'in memory', openStore: openMemoryStore },
  { name: 'on the disk, after a restart', openStore: openRocksStore },
])('lists of all kinds become one over 1, 2 and 5 shards alike ($name)', async ({ openStore }) => {
  const one = await run(1, openStore);
  expect(await run(2, openStore)).toEqual(one);
  expect(await run(5, openStore)).toEqual(one);
  expect(JSON.stringify(one).length).toBeGreaterThan(10_000);
});
