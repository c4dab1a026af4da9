import type { Diversity, SearchRequest } from '../../coordinator/service/search-request';
import type { ScoredHit, VectorInput } from '../../coordinator/service/service';
import type { RunningService } from '../../coordinator/service-factory';
import type { Filter, JsonValue } from '../../shared/contract/filter/filter';
import type { SearchEffort } from '../../shared/contract/shard/shard-read';
import { METRICS, type Metric } from '../../shared/contract/vector/metric';
import { chosenPlainly, relativePlainly, takenPlainly } from '../support/models/plain-diversity';
import { newCollection, plainService } from '../support/shards/plain-service';
import { graphFactories, openMemoryStore, ShardNode } from '../support/shards/shard-node';
import { byExamples, fused, like, nearest } from '../support/stories/search-forms';
import { runSeed, seededRandom } from '../support/values/random';

/**
 * Hits that differ by their vectors or by a value, against the same choice made plainly of the whole list; of an index
 * and of a plain scan, over any number of shards the same.
 */

const DIM = 4;
const ITEMS = 300;
const EXACT: SearchEffort = { type: 'exact' };
const WORDS = ['red', 'green', 'apple', 'pear', 'stone', 'river'];
const seed = runSeed('diversity');

let nodes: ShardNode[] = [];

afterEach(async () => {
  for (const node of nodes) await node.destroy();
  nodes = [];
});

class Story {
  readonly random: () => number;
  readonly vectors = new Map<string, Float32Array>();

  private constructor(
    round: number,
    readonly metric: Metric,
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

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)];
  }

  vector(): Float32Array {
    const fine = this.below(2) === 0;
    return Float32Array.from({ length: DIM }, () => (fine ? this.random() - 0.5 : this.below(3) - 1));
  }

  text(): string {
    return Array.from({ length: 1 + this.below(3) }, () => this.pick(WORDS)).join(' ');
  }

  /** Most items have one value; others have few, several, none, or what is no value. */
  value(): JsonValue | undefined {
    return this.pick<() => JsonValue | undefined>([
      () => 'most',
      () => 'most',
      () => 'most',
      () => this.below(30),
      () => String(this.below(4)),
      () => [this.below(6), 'most', null],
      () => [this.below(40), String(this.below(40))],
      () => ({ d: 1 }),
      () => undefined,
    ])();
  }

  item(i: number): VectorInput {
    const vector = this.vector();
    this.vectors.set(`i-${i}`, vector);
    const value = this.value();
    const metadata = JSON.stringify({ n: i % 3, ...(value !== undefined && { by: { v: value } }) });
    return { externalId: `i-${i}`, source: { vector }, metadata, text: this.text() };
  }

  async hits(request: SearchRequest): Promise<ScoredHit[]> {
    return (await this.service.search.search('c', request)).hits;
  }
}

/** Searches of all forms, with what their pages are made of. */
function searchOf(story: Story, i: number): { isFused: boolean; request: (page: object) => SearchRequest } {
  const filter: Filter | null = story.below(3) === 0 ? { type: 'in', path: 'n', values: [1, 2] } : null;
  const given = { filter, effort: EXACT };
  const [source, queryText, id] = [{ vector: story.vector() }, story.text(), `i-${story.below(ITEMS)}`];
  const negatives = [{ vector: story.vector() }];
  const strategy = story.pick(['average', 'best_score'] as const);
  const explain = true;
  switch (i % 4) {
    case 0:
      return { isFused: true, request: (page) => fused({ queryText, ...source, ...given, ...page }) };
    case 1:
      return { isFused: false, request: (page) => explained(like(id, { ...given, ...page })) };
    case 2:
      return {
        isFused: false,
        request: (page) =>
          explained(
            byExamples({ positives: [{ externalId: id }, source], negatives, strategy }, { ...given, ...page }),
          ),
      };
    default:
      return { isFused: false, request: (page) => explained(nearest({ source, ...given, ...page })) };
  }

  function explained(request: SearchRequest): SearchRequest {
    return { ...request, output: { ...request.output, explain } };
  }
}

async function asked(story: Story): Promise<unknown[]> {
  const told: unknown[] = [];
  for (let i = 0; i < 32; i += 1) {
    const { isFused, request } = searchOf(story, i);
    const withExplained = (page: object): SearchRequest => {
      const made = request(page);
      return isFused ? { ...made, output: { ...made.output, explain: true } } : made;
    };
    const [k, offset] = [1 + story.below(12), story.pick([0, 0, 3, 20])];
    const candidates = story.pick([32, 60, 1000]);
    const lambda = story.pick([0, 0.3, 0.7, 1]);
    const byVectors: Diversity = { type: 'mmr', lambda, candidates };
    const found = await story.hits(withExplained({ k, offset, diversity: byVectors }));
    const list = await story.hits(withExplained({ k: candidates }));
    const isCosine = story.metric === 'cosine' && !isFused;
    const scores = list.map(({ score }) => score);
    const relevances = isCosine ? scores : relativePlainly(scores);
    const expected = chosenPlainly(
      list.map((hit, at) => ({ hit, relevance: relevances[at] })),
      { vectors: story.vectors, lambda, count: offset + k },
    );
    expect(found).toEqual(expected.slice(offset).map(({ hit, ...choice }) => ({ ...hit, choice })));
    const atMost = story.pick([1, 2, 5]);
    const byValue: Diversity = { type: 'field', path: 'by.v', atMost };
    const differing = await story.hits(request({ k, offset, diversity: byValue }));
    const whole: ScoredHit[] = [];
    for (const places of isFused ? [40, 200, 1_000] : [ITEMS])
      for (const hit of await story.hits(request({ k: places })))
        if (whole.every(({ externalId }) => externalId !== hit.externalId)) whole.push(hit);
    expect(differing).toEqual(takenPlainly(whole, 'by.v', atMost).slice(offset, offset + k));
    told.push(found, differing);
  }
  return told;
}

test.each(METRICS.flatMap((metric) => [true, false].map((isPlain) => ({ metric, isPlain }))))(
  'hits differ alike over 1, 2 and 5 shards ($metric, plain: $isPlain)',
  async ({ metric, isPlain }) => {
    const answers: unknown[][] = [];
    for (const shards of [1, 2, 5]) answers.push(await asked(await Story.begin(3, metric, shards, isPlain)));
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
    expect(JSON.stringify(answers[0]).length).toBeGreaterThan(5_000);
  },
);

test('more hits without a value may be asked for than are read at once otherwise', async () => {
  const { service } = await plainService();
  await service.collections.create(newCollection('c', { dim: 1, metric: 'l2', shards: 2 }));
  const items = Array.from({ length: 10_020 }, (_, i) => ({ externalId: `i-${i}`, source: { vector: [i] } }));
  for (let i = 0; i < items.length; i += 1_000)
    await service.vectors.upsert(
      'c',
      items
        .slice(i, i + 1_000)
        .map(
          ({ externalId, source: { vector } }): VectorInput =>
            ({ externalId, source: { vector: Float32Array.from(vector) } }) as VectorInput,
        ),
    );
  const diversity: Diversity = { type: 'field', path: 'by', atMost: 1 };
  const source = { vector: Float32Array.of(0) };
  const { hits } = await service.search.search('c', nearest({ source, k: 10_010, effort: EXACT, diversity }));
  expect(hits.map(({ externalId }) => externalId)).toEqual(items.slice(0, 10_010).map(({ externalId }) => externalId));
});
