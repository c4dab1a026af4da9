import type { RunningService } from '../../coordinator/service-factory';
import type { FoundGroup, ScoredHit, VectorInput } from '../../coordinator/service/service';
import type { Grouping, Leg, SearchRequest, VectorSource } from '../../coordinator/service/search-request';
import type { IndexFactories } from '../../node/engine/shard/shard-indexes';
import type { Filter, JsonObject, JsonValue } from '../../shared/contract/filter/filter';
import { lookUpPath } from '../../shared/contract/filter/metadata-path';
import { compareHits, type SearchEffort } from '../../shared/contract/shard/shard-read';
import { newCollection, type PlainService, plainService } from '../support/shards/plain-service';
import {
  graphFactories,
  openMemoryStore,
  openRocksStore,
  quantizedDiskFactories,
  ShardNode,
} from '../support/shards/shard-node';
import { fused, like, listed, nearest, ofLegs } from '../support/stories/search-forms';
import { runSeed, seededRandom } from '../support/values/random';

/** Groups of searches, against the groups of the whole list of hits: the best of the collection. */

const DIM = 4;
const EXACT: SearchEffort = { type: 'exact' };
const WORDS = ['red', 'green', 'apple', 'pear', 'stone', 'river', 'naïve'];
const seed = runSeed('grouped-search');

let nodes: ShardNode[] = [];

afterEach(async () => {
  for (const node of nodes) await node.destroy();
  nodes = [];
});

/** The same steps for each number of shards. */
class Story {
  readonly random: () => number;

  private constructor(
    round: number,
    readonly node: ShardNode,
    private started: PlainService,
  ) {
    this.random = seededRandom(seed + round);
  }

  static async begin(round: number, factories: IndexFactories, shards: number, openStore = openMemoryStore) {
    const node = await new ShardNode({ factories, openStore }).start();
    nodes.push(node);
    const started = await plainService({ shardClient: node.client });
    await started.service.collections.create(newCollection('c', { dim: DIM, metric: 'cosine', shards }));
    return new Story(round, node, started);
  }

  get service(): RunningService {
    return this.started.service;
  }

  async restart(): Promise<void> {
    await this.node.restart();
    this.started = await plainService({ store: this.started.store, shardClient: this.node.client });
  }

  below(bound: number): number {
    return Math.floor(this.random() * bound);
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)];
  }

  /** Few distinct ones, so that scores are often equal, or many. */
  vector(): Float32Array {
    const fine = this.below(2) === 0;
    return Float32Array.from({ length: DIM }, () => (fine ? this.random() - 0.5 : this.below(3) - 1));
  }

  text(): string {
    return Array.from({ length: 1 + this.below(4) }, () => this.pick(WORDS)).join(' ');
  }

  /** Of all kinds: those that are equal as texts, that are no keys, and one that most have. */
  key(): JsonValue {
    const scalars: JsonValue[] = [0, -0, 1, '1', 2.5, true, 'true', false, '', 'é', '\ud800', 'x'.repeat(200)];
    switch (this.below(8)) {
      case 0:
        return this.pick(scalars);
      case 1:
        return Array.from({ length: this.below(4) }, () => this.pick([...scalars, null, 'most', this.below(9)]));
      case 2:
        return this.pick<JsonValue>([null, {}, [], [null], { d: 1 }]);
      case 3:
      case 4:
        return `doc-${this.below(40)}`;
      default:
        return 'most';
    }
  }

  item(): VectorInput {
    const metadata: JsonObject = { n: this.below(4) };
    if (this.below(6) > 0) metadata.g = this.key();
    if (this.below(3) > 0) metadata.few = this.pick(['a', 'b', true]);
    if (this.below(2) === 0) metadata.in = { deep: this.key() };
    if (this.below(5) === 0) metadata['in.deep'] = this.key();
    return {
      externalId: `item-${this.below(400)}`,
      source: { vector: this.vector() },
      metadata: JSON.stringify(metadata),
      text: this.text(),
    };
  }

  async write(count: number): Promise<void> {
    await this.service.vectors.upsert(
      'c',
      Array.from({ length: count }, () => this.item()),
    );
    await this.service.vectors.delete(
      'c',
      Array.from({ length: count / 10 }, () => `item-${this.below(400)}`),
    );
  }

  grouping(): Grouping {
    return {
      path: this.pick(['g', 'g', 'few', 'in.deep', 'nowhere']),
      size: this.pick([1, 1, 2, 5, 100]),
      missing: this.pick(['leave_out', 'leave_out', 'each']),
    };
  }

  filter(): Filter | null {
    return this.below(2) === 0 ? null : { type: 'in', path: 'n', values: [this.below(4), this.below(4)] };
  }

  async hits(request: SearchRequest): Promise<ScoredHit[]> {
    return (await this.service.search.search('c', request)).hits;
  }
}

function isKey(value: JsonValue | undefined): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}

/** The groups of a list of hits, in the order of their best ones. */
function groupsOf(hits: readonly ScoredHit[], { path, size, missing }: Grouping): FoundGroup[] {
  const groups: FoundGroup[] = [];
  for (const hit of hits) {
    const value = lookUpPath(JSON.parse(hit.metadata) as JsonObject, path);
    const keys = [...new Set([value].flat().filter(isKey))] as (string | number | boolean)[];
    if (keys.length === 0 && missing === 'each') groups.push({ key: null, hits: [hit] });
    for (const key of keys.map((one) => (one === 0 ? 0 : one))) {
      const group = groups.find((one) => one.key === key);
      if (group === undefined) groups.push({ key, hits: [hit] });
      else if (group.hits.length < size) group.hits.push(hit);
    }
  }
  return groups;
}

function legsOf(source: VectorSource, text: string): Leg[] {
  return [
    { of: { type: 'nearest', to: source }, weight: 1, filter: { type: 'in', path: 'n', values: [0, 1] } },
    { of: { type: 'keywords', text }, weight: 0.5, filter: null },
    { of: { type: 'like', externalId: 'always' }, weight: 1, filter: null, leastScore: 0 },
  ];
}

const KINDS = ['boolean', 'number', 'string'];

function inOrder(groups: FoundGroup[]): FoundGroup[] {
  return groups.sort((a, b) => {
    const [kindA, kindB] = [KINDS.indexOf(typeof a.key), KINDS.indexOf(typeof b.key)];
    return compareHits(a.hits[0], b.hits[0]) || kindA - kindB || (a.key! < b.key! ? -1 : 1);
  });
}

/** Asks for groups in several ways; answers all of them. */
async function asked(story: Story, effort: SearchEffort): Promise<unknown[]> {
  const told: unknown[] = [];
  for (let i = 0; i < 12; i += 1) {
    const groups = story.grouping();
    const [k, offset] = [1 + story.below(12), story.pick([0, 0, 3, 20])];
    const minScore = story.pick([undefined, undefined, 0.2, 0.9]);
    const given = { filter: story.filter(), effort, minScore };
    const text = story.text();
    const ids = Array.from({ length: 30 }, () => `item-${story.below(400)}`);
    const source = { vector: story.vector() };
    const form = story.pick(['nearest', 'nearest', 'like', 'listed', 'fused', 'legs'] as const);
    const request = (page: { k: number; offset?: number; groups?: Grouping }): SearchRequest => {
      switch (form) {
        case 'nearest':
          return nearest({ source, ...given, ...page });
        case 'like':
          return like(told.length === 0 ? 'always' : 'item-of-all', { ...given, ...page });
        case 'listed':
          return listed({ source, candidates: ids, minScore, ...page });
        case 'fused':
          return fused({ queryText: text, ...source, alpha: 0.4, ...given, minScore: undefined, ...page });
        case 'legs':
          return ofLegs({ legs: legsOf(source, text), ...given, minScore: undefined, ...page });
      }
    };
    const found = await story.service.search.search('c', request({ k, offset, groups }));
    const expected: FoundGroup[] = [];
    if (form === 'fused' || form === 'legs') {
      for (const places of [40, 200, 1_000]) {
        const next = inOrder(groupsOf(await story.hits(request({ k: places })), groups));
        const known = new Set(expected.map((one) => one.key ?? one.hits[0].externalId));
        expected.push(...next.filter((one) => !known.has(one.key ?? one.hits[0].externalId)));
        if (expected.length >= offset + k) break;
      }
    } else expected.push(...inOrder(groupsOf(await story.hits(request({ k: 5_000 })), groups)));
    expect(found.groups).toEqual(expected.slice(offset, offset + k));
    expect(found.hits).toEqual(found.groups!.flatMap(({ hits }) => hits));
    told.push(found.groups);
  }
  return told;
}

async function run(round: number, factories: IndexFactories, shards: number, openStore = openMemoryStore) {
  const story = await Story.begin(round, factories, shards, openStore);
  await story.service.vectors.upsert('c', [
    { externalId: 'always', source: { vector: story.vector() }, metadata: '{"g":"most"}', text: 'stone' },
    { externalId: 'item-of-all', source: { vector: story.vector() }, metadata: '{"g":["most",7]}', text: 'river' },
  ]);
  await story.write(300);
  const told = await asked(story, EXACT);
  await story.write(60);
  if (openStore === openRocksStore) await story.restart();
  return [...told, ...(await asked(story, EXACT))];
}

test.each([
  { name: 'bytes', factories: graphFactories('int8') },
  { name: 'signs', factories: graphFactories('binary') },
  {
    name: 'segments on the disk, after a restart',
    factories: quantizedDiskFactories('int4'),
    openStore: openRocksStore,
  },
])('groups are the best of the collection over 1, 2 and 5 shards ($name)', async ({ factories, openStore }) => {
  const [one, two, five] = [
    await run(1, factories, 1, openStore),
    await run(1, factories, 2, openStore),
    await run(1, factories, 5, openStore),
  ];
  expect(two).toEqual(one);
  expect(five).toEqual(one);
  expect(JSON.stringify(one).length).toBeGreaterThan(10_000);
});

test('a calibrated search passes over a group of most items, and finds the others', async () => {
  const story = await Story.begin(9, graphFactories('int8'), 2);
  const items = Array.from({ length: 3_000 }, (_, i): VectorInput => ({
    externalId: `i-${i}`,
    source: { vector: Float32Array.from([1, story.random() / 100, story.random() / 100, i < 2_900 ? 0 : 1]) },
    metadata: JSON.stringify({ g: i < 2_900 ? 'most' : i % 7, tags: i < 2_900 ? ['a', 'b'] : ['b', 'c'] }),
    text: undefined,
  }));
  await story.service.vectors.upsert('c', items);
  const source = { vector: Float32Array.from([1, 0, 0, 0]) };
  const groups: Grouping = { path: 'g', size: 3, missing: 'leave_out' };
  const found = await story.service.search.search('c', nearest({ source, k: 20, groups }));
  const expected = inOrder(groupsOf(await story.hits(nearest({ source, k: 5_000, effort: EXACT })), groups));
  expect(found.groups).toHaveLength(8);
  expect(found.groups).toEqual(expected);
  const tags = await story.service.search.search('c', nearest({ source, k: 5, groups: { ...groups, path: 'tags' } }));
  expect(tags.groups!.map(({ key }) => key)).toEqual(['a', 'b', 'c']);
});
