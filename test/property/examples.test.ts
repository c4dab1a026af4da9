import type { Example } from '../../coordinator/service/search-request';
import type { ScoredHit, VectorInput } from '../../coordinator/service/service';
import type { RunningService } from '../../coordinator/service-factory';
import type { Filter } from '../../shared/contract/filter/filter';
import { compareHits } from '../../shared/contract/shard/shard-read';
import { METRICS, type Metric } from '../../shared/contract/vector/metric';
import { newCollection, plainService } from '../support/shards/plain-service';
import { graphFactories, openMemoryStore, ShardNode } from '../support/shards/shard-node';
import { byExamples, listed, nearest } from '../support/stories/search-forms';
import { runSeed, seededRandom } from '../support/values/random';

/**
 * Searches by positives and negatives, against the scores of all items: of an index and of a plain scan, over any
 * number of shards the same.
 */

const DIM = 3;
const ITEMS = 250;
const seed = runSeed('examples');

let nodes: ShardNode[] = [];

afterEach(async () => {
  for (const node of nodes) await node.destroy();
  nodes = [];
});

type Examples = Parameters<typeof byExamples>[0];

class Story {
  readonly random: () => number;
  readonly items = new Map<string, Float32Array>();

  private constructor(
    round: number,
    private readonly metric: Metric,
    readonly service: RunningService,
  ) {
    this.random = seededRandom(seed + round);
  }

  static async begin(round: number, metric: Metric, shards: number, isPlain: boolean): Promise<Story> {
    const node = isPlain
      ? undefined
      : await new ShardNode({ factories: graphFactories('int8'), openStore: openMemoryStore }).start();
    if (node !== undefined) nodes.push(node);
    const { service } = await plainService(node && { shardClient: node.client });
    await service.collections.create(newCollection('c', { dim: DIM, metric, shards }));
    const story = new Story(round, metric, service);
    await service.vectors.upsert(
      'c',
      Array.from({ length: ITEMS }, (_, i) => story.item(i)),
    );
    return story;
  }

  below(bound: number): number {
    return Math.floor(this.random() * bound);
  }

  /** Few distinct ones, so that scores are often equal, or many. */
  vector(): Float32Array {
    const fine = this.below(3) === 0;
    return Float32Array.from({ length: DIM }, () => (fine ? this.random() - 0.5 : this.below(3) - 1));
  }

  item(i: number): VectorInput {
    const vector = this.vector();
    this.items.set(`i-${i}`, vector);
    return { externalId: `i-${i}`, source: { vector }, metadata: JSON.stringify({ n: i % 3 }), text: undefined };
  }

  example(): Example {
    return this.below(2) === 0 ? { externalId: `i-${this.below(ITEMS)}` } : { vector: this.vector() };
  }

  vectorOf({ externalId, vector }: Example): Float32Array {
    return externalId === undefined ? vector! : this.items.get(externalId)!;
  }

  /** The exact scores of all items that pass, as the service has them. */
  async scores(vector: Float32Array, filter: Filter | null): Promise<Map<string, ScoredHit>> {
    const candidates = [...this.items.keys()].filter((id) => filter === null || Number(id.slice(2)) % 3 === 1);
    const { hits } = await this.service.search.search('c', listed({ source: { vector }, candidates }));
    return new Map(hits.map((hit) => [hit.externalId, hit]));
  }

  async expected({ positives, negatives, strategy }: Examples, filter: Filter | null): Promise<ScoredHit[]> {
    const leftOut = new Set([...positives, ...negatives].map(({ externalId }) => externalId));
    const all =
      strategy === 'average' || (positives.length === 1 && negatives.length === 0)
        ? [...(await this.scores(this.middle(positives, negatives), filter)).values()]
        : await this.best(positives, negatives, filter);
    return all.filter(({ externalId }) => !leftOut.has(externalId)).sort(compareHits);
  }

  private async best(
    positives: readonly Example[],
    negatives: readonly Example[],
    filter: Filter | null,
  ): Promise<ScoredHit[]> {
    const [near, far] = await Promise.all(
      [positives, negatives].map(async (examples) =>
        Promise.all(examples.map(async (one) => this.scores(this.vectorOf(one), filter))),
      ),
    );
    return [...near[0].values()].flatMap((hit) => {
      const score = Math.max(...near.map((of) => of.get(hit.externalId)!.score));
      const isFar = far.some((of) => of.get(hit.externalId)!.score >= score);
      return isFar ? [] : [{ ...hit, score }];
    });
  }

  private middle(positives: readonly Example[], negatives: readonly Example[]): Float32Array {
    const unit = (vector: Float32Array): number[] => {
      const length = this.metric === 'cosine' ? Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0)) : 1;
      return [...vector].map((x) => (length === 0 ? x : x / length));
    };
    const mean = (examples: readonly Example[]): number[] => {
      const vectors = examples.map((one) => unit(this.vectorOf(one)));
      return vectors[0].map((_, i) => vectors.reduce((sum, vector) => sum + vector[i], 0) / vectors.length);
    };
    if (positives.length === 1 && negatives.length === 0) return this.vectorOf(positives[0]);
    if (negatives.length === 0) return Float32Array.from(mean(positives));
    const [p, n] = [mean(positives), mean(negatives)];
    return Float32Array.from(p, (x, i) => x + (x - n[i]));
  }
}

/** Asks in several ways, holds the answers against all scores, and answers them. */
async function asked(story: Story): Promise<unknown[]> {
  const told: unknown[] = [];
  for (let i = 0; i < 25; i += 1) {
    const examples: Examples = {
      positives: Array.from({ length: 1 + story.below(3) }, () => story.example()),
      negatives: Array.from({ length: story.below(4) }, () => story.example()),
      strategy: story.below(3) === 0 ? 'average' : 'best_score',
    };
    const filter: Filter | null = story.below(3) === 0 ? { type: 'in', path: 'n', values: [1] } : null;
    const [k, offset] = [1 + story.below(12), [0, 0, 3, 120][story.below(4)]];
    const given = { k, offset, filter, effort: { type: 'exact' } } as const;
    const { hits } = await story.service.search.search('c', byExamples(examples, given));
    const expected = await story.expected(examples, filter);
    expect(hits).toEqual(expected.slice(offset, offset + k));
    const groups = { path: 'n', size: 2, missing: 'leave_out' } as const;
    const grouped = await story.service.search.search('c', byExamples(examples, { ...given, offset: 0, groups }));
    for (const group of grouped.groups!)
      expect(group.hits).toEqual(
        expected.filter(({ externalId }) => Number(externalId.slice(2)) % 3 === group.key).slice(0, 2),
      );
    expect(grouped.groups!.length).toBe(Math.min(k, new Set(expected.map((hit) => hit.metadata)).size));
    told.push(hits, grouped.groups);
  }
  return told;
}

test.each(METRICS.flatMap((metric) => [true, false].map((isPlain) => ({ metric, isPlain }))))(
  'examples rank all items over 1, 2 and 5 shards alike ($metric, plain: $isPlain)',
  async ({ metric, isPlain }) => {
    const answers: unknown[][] = [];
    for (const shards of [1, 2, 5]) answers.push(await asked(await Story.begin(7, metric, shards, isPlain)));
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
    expect(JSON.stringify(answers[0]).length).toBeGreaterThan(2_000);
  },
);

test.each([1, 2, 5])('of examples that are not there, the first is told, over %i shards', async (shards) => {
  const { service } = await plainService();
  await service.collections.create(newCollection('c', { dim: DIM, metric: 'cosine', shards }));
  await service.vectors.upsert('c', [{ externalId: 'a', source: { vector: Float32Array.of(1, 2, 3) } } as VectorInput]);
  for (let i = 0; i < 10; i += 1) {
    const positives = [{ externalId: 'a' }, { externalId: `gone-${i}` }, { externalId: `gone-${i + 1}` }];
    const negatives = [{ externalId: `gone-${i + 2}` }];
    for (const strategy of ['average', 'best_score'] as const)
      await expect(
        service.search.search('c', byExamples({ positives, negatives, strategy })) as Promise<unknown>,
      ).rejects.toMatchObject({ kind: 'not_found', message: expect.stringContaining(`"gone-${i}"`) as string });
  }
});

test('texts are embedded like other texts, all in one call', async () => {
  const { service, embedding } = await plainService();
  await service.collections.create(newCollection('c', { dim: DIM, metric: 'cosine', shards: 2 }));
  await service.vectors.upsert(
    'c',
    ['red apple', 'green pear', 'river stone'].map((text, i) => ({
      externalId: `t-${i}`,
      source: { text },
      text,
    })) as VectorInput[],
  );
  embedding.calls.length = 0;
  const positives = [{ text: 'apple' }, { vector: Float32Array.of(1, 0, 0) }, { text: 'pear' }];
  const requests = [
    byExamples({ positives, negatives: [{ text: 'stone' }], strategy: 'average' }),
    nearest({ source: { text: 'river' } }),
    byExamples({ positives: [{ text: 'river' }], negatives: [], strategy: 'best_score' }),
  ];
  const { results } = await service.search.searchAll('c', requests);
  expect(embedding.calls.map(({ texts }) => texts)).toEqual([['apple', 'pear', 'stone', 'river', 'river']]);
  expect(results[2].hits).toEqual(results[1].hits);
});
