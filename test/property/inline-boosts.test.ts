import { ShardViews } from '../../node/engine/shard/reading/shard-views';
import type { IndexFactories } from '../../node/engine/shard/shard-indexes';
import type { ShardMessage } from '../../node/engine/shard/shard-publisher';
import type { Filter } from '../../shared/contract/filter/filter';
import type { Boost, Boosts, DecayOrigin } from '../../shared/contract/shard/boosts';
import type { ShardSpec, WriteOperation } from '../../shared/contract/shard/shard-client';
import type { SearchEffort, VectorSearch } from '../../shared/contract/shard/shard-read';
import { hitsFromBytes } from '../../shared/wire/codecs/hit-codec';
import { nativeBinding } from '../../node/engine/vector/native-binding';
import { METRICS } from '../../shared/contract/vector/metric';
import { eventually } from '../support/eventually';
import { graphFactories, nativeFactories, NO_HURRY, openMemoryStore, ShardNode } from '../support/shards/shard-node';
import { runSeed, seededRandom } from '../support/values/random';
import { RandomBoosts } from '../support/values/random-boosts';

/**
 * Searches with boosts as another thread finds them, in columns of numbers by slot, against those of the shard's own
 * thread, which reads metadata and compares all items; while items come, change and go.
 */

const DIM = 4;
const ITEMS = 500;
const ROUNDS = 12;
const SEARCHES = 25;
const EXACT: SearchEffort = { type: 'exact' };
const seed = runSeed('inline-boosts');

let node: ShardNode;

afterEach(() => node.destroy());

class Story {
  readonly random: () => number;
  readonly made: RandomBoosts;
  private readonly views = new ShardViews();
  private stamp = 0;

  constructor(
    private readonly spec: ShardSpec,
    of: number,
  ) {
    this.random = seededRandom(seed + of);
    this.made = new RandomBoosts(this.random);
    node.host.follow((message) => this.views.take(structuredClone(message) as ShardMessage));
  }

  vector(): Float32Array {
    const fine = this.made.below(2) === 0;
    return Float32Array.from({ length: DIM }, () => (fine ? this.random() - 0.5 : this.made.below(3) - 1));
  }

  async write(count: number): Promise<void> {
    const operations = new Map<string, WriteOperation>();
    for (let i = 0; i < count; i += 1) {
      const externalId = `i-${this.made.below(ITEMS)}`;
      const metadata = JSON.stringify(this.made.metadata());
      const upsert = { externalId, vector: this.vector(), stamp: ++this.stamp, metadata, text: undefined };
      operations.set(
        externalId,
        this.made.below(6) === 0 ? { type: 'delete', externalId } : { type: 'upsert', ...upsert },
      );
    }
    await node.client.write(this.spec, [...operations.values()], NO_HURRY);
  }

  request(boosts: Boosts, filter: Filter | null = null): VectorSearch {
    const k = this.made.pick([1, 3, 10, 40]);
    return { vector: this.vector(), k, filter, effort: { type: 'calibrated' }, texts: false, boosts };
  }

  found(request: VectorSearch) {
    return this.views.search(this.spec, request);
  }

  /** Of an answer that is to be sent, as it arrives. */
  sent(request: VectorSearch) {
    const answer = this.views.search(this.spec, request, true);
    return answer?.wireHits === undefined ? answer?.hits : hitsFromBytes(answer.wireHits);
  }

  asked(request: VectorSearch) {
    return node.client.read(this.spec, 'search', request, NO_HURRY);
  }

  /** Columns are made after the first searches that could use them. */
  async prepared(): Promise<void> {
    const request = this.request({ mode: 'multiply', parts: EVERYTHING });
    await this.asked(request);
    await eventually('boosts are prepared', () => this.found(request) !== null);
  }
}

/** Looks at all that boosts look at. */
const EVERYTHING: Boost[] = [
  { type: 'field', path: 'deep.likes', modifier: 'none', weight: 0.1, missing: null },
  ...(['n', 'when', 'at'] as const).map((path): Boost => {
    const origins: Record<string, DecayOrigin> = { n: 1, when: { time: 0 }, at: { lat: 48, lon: 11 } };
    return {
      type: 'decay',
      path,
      shape: 'exp',
      origin: origins[path],
      scale: 1,
      offset: 0,
      at: 0.5,
      weight: 0.1,
      missing: null,
    };
  }),
];

async function begun(factories: IndexFactories, spec: ShardSpec, of: number): Promise<Story> {
  node = await new ShardNode({ factories, openStore: openMemoryStore }).start();
  const story = new Story(spec, of);
  await node.client.make(spec);
  await story.write(ITEMS);
  return story;
}

const specOf = (metric: ShardSpec['metric']): ShardSpec => ({ collectionUid: 'c', shard: 0, dim: DIM, metric });

test.each(METRICS)('are those of all items, compared one by one (%s)', async (metric) => {
  const story = await begun(nativeFactories, specOf(metric), 1);
  await story.prepared();
  const { made } = story;
  let told = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    await story.write(60);
    for (let i = 0; i < SEARCHES; i += 1) {
      const filter: Filter | null = made.pick([null, null, { type: 'range', path: 'n', operator: 'lt', bound: 50 }]);
      const request = story.request(made.boosts(), filter);
      const answer = story.found(request);
      const expected = await story.asked({ ...request, effort: EXACT });
      // The shard's own thread takes the same way, or that of lists.
      expect({ boosts: request.boosts, ...(await story.asked(request)) }).toEqual({
        boosts: request.boosts,
        ...expected,
      });
      if (answer === null) continue;
      told += 1;
      expect({ boosts: request.boosts, ...answer }).toEqual({ boosts: request.boosts, ...expected });
      expect(story.sent(request)).toEqual(expected.hits);
    }
  }
  // What is left to the shard's own thread: where scores are lost in the rounding of great numbers.
  expect(told).toBeGreaterThan(0.9 * ROUNDS * SEARCHES);
});

test.each(METRICS)(
  'of a graph have the scores and the order of all items, and miss hardly any (%s)',
  async (metric) => {
    const story = await begun(graphFactories('int8'), specOf(metric), 2);
    await story.prepared();
    await eventually('a graph', async () => {
      const { index } = await node.client.read(specOf(metric), 'status', null, NO_HURRY);
      return index !== null && index.state === 'ready' && index.indexedRows > 0;
    });
    const { made } = story;
    let [told, wanted, right] = [0, 0, 0];
    for (let i = 0; i < ROUNDS * SEARCHES; i += 1) {
      const request = story.request(made.boosts());
      const answer = story.found(request);
      if (answer === null) continue;
      const all = await story.asked({ ...request, k: ITEMS, effort: EXACT });
      const places = new Map(all.hits.map((hit, place) => [hit.externalId, { hit, place }]));
      for (const hit of answer.hits) expect(hit).toEqual(places.get(hit.externalId)!.hit);
      const order = answer.hits.map(({ externalId }) => places.get(externalId)!.place);
      expect(order).toEqual([...order].sort((a, b) => a - b));
      told += 1;
      wanted += Math.min(request.k, all.hits.length);
      right += order.filter((place) => place < request.k).length;
    }
    expect(told).toBeGreaterThan((ROUNDS * SEARCHES) / 4);
    expect(right).toBeGreaterThan(0.98 * wanted);
  },
);

test('a search that is looked at in detail takes the same one search, and says what that took', async () => {
  const story = await begun(graphFactories('int8'), specOf('cosine'), 3);
  await story.prepared();
  await eventually('a graph', async () => {
    const { index } = await node.client.read(specOf('cosine'), 'status', null, NO_HURRY);
    return index !== null && index.state === 'ready' && index.indexedRows > 0;
  });
  const one = jest.spyOn(nativeBinding(), 'searchBoosted');
  const listed = jest.spyOn(nativeBinding(), 'boostValues');
  try {
    const request = { ...story.request({ mode: 'multiply', parts: EVERYTHING }), k: 3 };
    const plain = story.found(request);
    for (const ask of [story.found.bind(story), story.asked.bind(story)]) {
      one.mockClear();
      const { cost, ...found } = (await ask({ ...request, counted: true }))!;
      expect(found).toEqual(plain);
      expect(one).toHaveBeenCalledTimes(1);
      expect(cost!.rescored).toBeGreaterThanOrEqual(3);
      expect(cost!.scored).toBeGreaterThanOrEqual(cost!.rescored);
      expect(cost!.detail).toMatchObject({ allowed: plain!.vectorCount, plan: expect.stringMatching(/^(walk|scan)$/) });
    }
    expect(listed).not.toHaveBeenCalled();
  } finally {
    jest.restoreAllMocks();
  }
});
