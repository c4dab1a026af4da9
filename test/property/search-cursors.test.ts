import { NO_REEMBEDDING } from '../support/shards/no-reembedding';
import { createHash } from 'node:crypto';
import type { RunningService } from '../../coordinator/service-factory';
import { StoredRestores } from '../../coordinator/jobs/restore/stored-restores';
import { ONLY_DRIVER } from '../../coordinator/jobs/driving/owned-entry';
import { Resharder } from '../../coordinator/jobs/reshard/resharder';
import type { RerankProvider } from '../../coordinator/models/rerank/reranker';
import { CursorSeal, SEAL_LENGTH } from '../../coordinator/service/search/cursor-seal';
import type { Diversity, Fusing, Grouping, PageCursor, SearchRequest } from '../../coordinator/service/search-request';
import type { FoundGroup, ScoredHit, VectorInput } from '../../coordinator/service/service';
import type { IndexFactories } from '../../node/engine/shard/shard-indexes';
import type { Filter } from '../../shared/contract/filter/filter';
import type { ShardClient, ShardId } from '../../shared/contract/shard/shard-client';
import type { Boost, Boosts } from '../../shared/contract/shard/boosts';
import { compareHits, type SearchEffort } from '../../shared/contract/shard/shard-read';
import { silentLogger } from '../../shared/base/logs/logger';
import { type Clock, systemClock } from '../../shared/base/time/clock';
import { eventually } from '../support/eventually';
import { ManualClock } from '../support/manual-clock';
import { takenPlainly } from '../support/models/plain-diversity';
import { newCollection, type PlainService, plainService } from '../support/shards/plain-service';
import {
  graphFactories,
  openMemoryStore,
  openRocksStore,
  plainFactories,
  quantizedDiskFactories,
  ShardNode,
} from '../support/shards/shard-node';
import { byExamples, fused, type GivenSearch, like, nearest } from '../support/stories/search-forms';
import { runSeed, seededRandom } from '../support/values/random';

/**
 * Lists that are read page by page, while items are written and deleted, replicas take turns and are started anew,
 * against what was there all the time.
 */

const DIM = 4;
const EXACT: SearchEffort = { type: 'exact' };
const ITEMS = 300;
const seed = runSeed('search-cursors');

let nodes: ShardNode[] = [];

afterEach(async () => {
  for (const node of nodes) await node.destroy();
  nodes = [];
});

/** Replicas that have the same writes; any of them answers a read. */
function replicated(replicas: readonly ShardNode[], next: () => number): ShardClient {
  const each = async <Result>(run: (client: ShardClient) => Promise<Result>): Promise<Result> => {
    const results: Result[] = [];
    for (const { client } of replicas) results.push(await run(client));
    return results[0];
  };
  return {
    make: (spec) => each((client) => client.make(spec)),
    open: (spec) => each((client) => client.open(spec)),
    drop: (id) => each((client) => client.drop(id)),
    write: (id, operations, call) => each((client) => client.write(id, operations, call)),
    read: (id: ShardId, kind, request, call) => replicas[next()].client.read(id, kind, request, call),
  };
}

/** The same steps for each number of shards. */
class Story {
  readonly random: () => number;
  /** By id: how often it was written or deleted. */
  readonly changes = new Map<string, number>();

  private constructor(
    round: number,
    private readonly replicas: readonly ShardNode[],
    private started: PlainService,
    readonly client: ShardClient,
    readonly clock: Clock,
    private readonly canRestart: boolean,
  ) {
    this.random = seededRandom(seed + round);
  }

  static async begin(
    round: number,
    {
      factories,
      shards,
      openStore = openMemoryStore,
      count = 1,
    }: {
      factories: IndexFactories;
      shards: number;
      openStore?: typeof openMemoryStore;
      count?: number;
    },
    clock: Clock = new ManualClock(),
  ): Promise<Story> {
    const replicas: ShardNode[] = [];
    for (let i = 0; i < count; i += 1) replicas.push(await new ShardNode({ factories, openStore, clock }).start());
    nodes.push(...replicas);
    const turns = seededRandom(seed + round);
    const client = replicated(replicas, () => Math.floor(turns() * replicas.length));
    const started = await plainService({ shardClient: client, clock, reranker: RERANKER });
    await started.service.collections.create(newCollection('c', { dim: DIM, metric: 'cosine', shards }));
    return new Story(round, replicas, started, client, clock, openStore === openRocksStore);
  }

  get service(): RunningService {
    return this.started.service;
  }

  get store(): PlainService['store'] {
    return this.started.store;
  }

  async restart(): Promise<void> {
    if (!this.canRestart) return;
    const replica = this.replicas[this.below(this.replicas.length)];
    await replica.restart();
    this.started = await plainService({
      store: this.store,
      shardClient: this.client,
      clock: this.clock,
      reranker: RERANKER,
    });
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

  item(): VectorInput {
    return {
      externalId: `item-${this.below(ITEMS)}`,
      source: { vector: this.vector() },
      metadata: JSON.stringify({
        n: this.below(4),
        g: this.pick([`doc-${this.below(40)}`, 'most', ['most', 7], null]),
      }),
      text: this.pick(['red stone', 'green river', undefined]),
    };
  }

  async write(count: number): Promise<void> {
    const items = Array.from({ length: count }, () => this.item());
    const deleted = Array.from({ length: Math.ceil(count / 4) }, () => `item-${this.below(ITEMS)}`);
    for (const id of [...items.map(({ externalId }) => externalId), ...deleted])
      this.changes.set(id, (this.changes.get(id) ?? 0) + 1);
    await this.service.vectors.upsert('c', items);
    await this.service.vectors.delete('c', deleted);
  }

  filter(): Filter | null {
    return this.below(2) === 0 ? null : { type: 'in', path: 'n', values: [this.below(4), this.below(4)] };
  }

  boosts(): Boosts | undefined {
    if (this.below(2) === 0) return undefined;
    const parts: Boost[] = [
      { type: 'filter', filter: { type: 'in', path: 'g', values: ['most', 'doc-3'] }, weight: this.pick([0.5, 3]) },
      { type: 'field', path: 'n', modifier: 'log1p', weight: this.pick([-0.2, 0.4]), missing: null },
    ];
    return { mode: this.pick(['multiply', 'add'] as const), parts: parts.slice(0, 1 + this.below(2)) };
  }

  /** The same search at any page. */
  form(effort: SearchEffort): (page: Pick<GivenSearch, 'k' | 'cursor' | 'diversity'>) => SearchRequest {
    const given = { filter: this.filter(), effort, boosts: this.boosts() };
    const vector = this.vector();
    const text = this.pick(['red', 'green river']);
    switch (this.pick(['nearest', 'nearest', 'text', 'like', 'examples'] as const)) {
      case 'nearest':
        return (page) => nearest({ source: { vector }, ...given, ...page });
      case 'text':
        return (page) => nearest({ source: { text }, ...given, ...page });
      case 'like':
        return (page) => like('always', { ...given, ...page });
      case 'examples':
        return (page) =>
          byExamples(
            { positives: [{ externalId: 'always' }, { vector }], negatives: [{ text }], strategy: 'average' },
            { ...given, ...page },
          );
    }
  }

  async page(
    request: SearchRequest,
  ): Promise<{ hits: ScoredHit[]; groups: readonly FoundGroup[]; next: string | null }> {
    const { hits, groups = [], nextCursor } = await this.service.search.search('c', request);
    return { hits, groups, next: nextCursor! };
  }

  /** Whether an item has not changed since now. */
  unchanged(): (hit: ScoredHit) => boolean {
    const before = new Map(this.changes);
    return ({ externalId }) => this.changes.get(externalId) === before.get(externalId);
  }

  /** Something changes, most of the time. */
  async goesOn(): Promise<void> {
    if (this.clock instanceof ManualClock) this.clock.advance(500);
    if (this.below(2) === 0) await this.write(1 + this.below(4));
    if (this.below(8) === 0) await this.restart();
  }
}

const cursorOf = (text: string | null): PageCursor => ({ text, secondsMax: 300 });

/** Reads a list to its end while things change, and compares it with what was there. */
async function walked(story: Story, effort: SearchEffort): Promise<ScoredHit[]> {
  const request = story.form(effort);
  const { hits: all } = await story.service.search.search('c', request({ k: 2_000 }));
  const before = new Map(story.changes);
  const isUnchanged = (id: string): boolean => story.changes.get(id) === before.get(id);
  const hits: ScoredHit[] = [];
  let cursor: string | null = null;
  for (;;) {
    const k = story.pick([1, 3, 10, 40]);
    const unchanged = new Set(all.map(({ externalId }) => externalId).filter(isUnchanged));
    const found = await story.page(request({ k, cursor: cursorOf(cursor) }));
    // Asked for again, as after a lost answer.
    if (story.below(4) === 0) expect(await story.page(request({ k, cursor: cursorOf(cursor) }))).toEqual(found);
    expect(found.hits.filter(({ externalId }) => !unchanged.has(externalId))).toEqual([]);
    expect(found.hits.length).toBe(found.next === null ? Math.min(k, found.hits.length) : k);
    hits.push(...found.hits);
    cursor = found.next;
    if (cursor === null) break;
    await story.goesOn();
  }
  expect(hits).toEqual([...hits].sort(compareHits));
  const ids = hits.map(({ externalId }) => externalId);
  expect(new Set(ids).size).toBe(ids.length);
  const stayed = all.filter(({ externalId }) => isUnchanged(externalId));
  const found = new Map(hits.map((hit) => [hit.externalId, hit]));
  if (effort.type === 'exact') expect(stayed.map(({ externalId }) => found.get(externalId))).toEqual(stayed);
  return hits;
}

/** The same of groups. */
async function walkedGroups(story: Story): Promise<unknown> {
  const form = story.form(EXACT);
  const groups: Grouping = {
    path: 'g',
    size: story.pick([1, 2, 5]),
    missing: story.pick(['leave_out', 'each'] as const),
  };
  const request = (page: Pick<GivenSearch, 'k' | 'cursor'>): SearchRequest => {
    const search = form(page);
    return { ...search, page: { ...search.page, groups } };
  };
  const { groups: all = [] } = await story.service.search.search('c', request({ k: 2_000 }));
  const isUnchanged = story.unchanged();
  const found: FoundGroup[] = [];
  for (let cursor: string | null = null; ; await story.goesOn()) {
    const k = story.pick([1, 3, 10]);
    const page = await story.page(request({ k, cursor: cursorOf(cursor) }));
    expect(page.hits.filter((hit) => !isUnchanged(hit))).toEqual([]);
    expect(page.groups.length).toBe(page.next === null ? Math.min(k, page.groups.length) : k);
    found.push(...page.groups);
    cursor = page.next;
    if (cursor === null) break;
  }
  const names = found.map(({ key, hits }) => (key === null ? `alone ${hits[0].externalId}` : JSON.stringify(key)));
  expect(new Set(names).size).toBe(names.length);
  const stayed = all.filter(({ hits }) => hits.every(isUnchanged));
  const known = new Map(found.map((group, i) => [names[i], group]));
  for (const group of stayed) {
    const name = group.key === null ? `alone ${group.hits[0].externalId}` : JSON.stringify(group.key);
    expect(known.get(name)).toEqual(group);
  }
  return found;
}

/** The same of lists that are fused: the union of their items. */
async function walkedFused(story: Story): Promise<unknown> {
  const given = {
    queryText: story.pick(['red', 'green river', 'red river']),
    vector: story.pick([story.vector(), story.vector(), undefined]),
    alpha: story.pick([0, 0.3, 0.5, 1]),
    boosts: story.boosts(),
    fusing: story.pick([undefined, { kind: 'rrf' as const, constant: 7, isUnit: true }, LINEAR]),
    filter: story.filter(),
    effort: EXACT,
  };
  const ks = [1, 3, 10, 40];
  const isStill = story.below(3) === 0;
  const { hits: all } = await story.service.search.search('c', fused({ ...given, k: 2_000 }));
  const first = await story.service.search.search('c', fused({ ...given, k: 10 }));
  const isUnchanged = story.unchanged();
  const found: ScoredHit[] = [];
  for (let cursor: string | null = null; ; isStill || (await story.goesOn())) {
    const k = cursor === null ? 10 : story.pick(ks);
    const page = await story.page(fused({ ...given, k, cursor: cursorOf(cursor) }));
    if (cursor === null) expect(page.hits).toEqual(first.hits);
    expect(page.hits.filter((hit) => !isUnchanged(hit))).toEqual([]);
    expect(page.hits.length).toBe(page.next === null ? Math.min(k, page.hits.length) : k);
    found.push(...page.hits);
    cursor = page.next;
    if (cursor === null) break;
  }
  const idsOf = (hits: readonly ScoredHit[]): string[] => hits.map(({ externalId }) => externalId).sort();
  expect(idsOf(found)).toEqual([...new Set(idsOf(found))]);
  expect(idsOf(found.filter(isUnchanged))).toEqual(idsOf(all.filter(isUnchanged)));
  return found.map(({ externalId, score }) => [externalId, score]);
}

/** The same of hits that differ. */
async function walkedDiverse(story: Story): Promise<unknown> {
  const [form, vector] = [story.form(EXACT), story.vector()];
  const diversity = story.pick<Diversity>([
    { type: 'mmr', lambda: 0.4, candidates: 60 },
    { type: 'field', path: 'g', atMost: story.pick([1, 2]) },
  ]);
  const [isReranked, isStill] = [story.below(3) === 0, story.below(2) === 0];
  const rerank = { model: undefined, topN: 40, leastScore: undefined, budgetMs: undefined, field: 'text' };
  const request = (page: Pick<GivenSearch, 'k' | 'cursor'>): SearchRequest =>
    isReranked
      ? { ...nearest({ source: { vector, text: 'red' }, effort: EXACT, diversity, ...page }), rerank }
      : form({ diversity, ...page });
  const { hits: all } = await story.service.search.search('c', request({ k: 2_000 }));
  const isUnchanged = story.unchanged();
  const found: ScoredHit[] = [];
  for (let cursor: string | null = null; ; isStill || (await story.goesOn())) {
    const k = story.pick([1, 3, 10]);
    const page = await story.page(request({ k, cursor: cursorOf(cursor) }));
    expect(page.hits.filter((hit) => !isUnchanged(hit))).toEqual([]);
    expect(page.hits.length).toBe(page.next === null ? Math.min(k, page.hits.length) : k);
    found.push(...page.hits);
    cursor = page.next;
    if (cursor === null) break;
  }
  if (isStill) expect(found).toEqual(all);
  const idsOf = (hits: readonly ScoredHit[]): string[] => hits.map(({ externalId }) => externalId);
  expect(new Set(idsOf(found)).size).toBe(found.length);
  if (diversity.type === 'field') expect(takenPlainly(found, 'g', diversity.atMost)).toEqual(found);
  else expect(idsOf(found)).toEqual(expect.arrayContaining(idsOf(all.filter(isUnchanged))));
  return found.map(({ externalId, score }) => [externalId, score]);
}

const LINEAR: Fusing = { kind: 'linear', constant: 60, isUnit: false };

/** A score by the text alone, often the same. */
const RERANKER: RerankProvider = {
  modelOf: async () => 'model',
  score: async (_model, query, texts) =>
    texts.map((text) => (createHash('sha256').update(`${query}\n${text}`).digest()[0] % 9) / 8),
};

/** The same of a list of which a model reads the first. */
async function walkedReranked(story: Story): Promise<unknown> {
  const [vector, filter, topN] = [story.vector(), story.filter(), 40];
  const leastScore = story.pick([undefined, 0.3]);
  const isGrouped = story.below(2) === 0;
  const isFused = story.below(2) === 0;
  const request = (page: Pick<GivenSearch, 'k' | 'cursor'>): SearchRequest => ({
    ...(isFused
      ? fused({ queryText: 'red river', vector, filter, effort: EXACT, ...page })
      : nearest({
          source: { vector, text: 'red' },
          filter,
          effort: EXACT,
          ...(isGrouped && { groups: { path: 'g', size: 2, missing: 'leave_out' as const } }),
          ...page,
        })),
    rerank: { model: undefined, topN, leastScore, budgetMs: undefined, field: 'text' },
  });
  const { hits: all } = await story.service.search.search('c', request({ k: topN }));
  const isUnchanged = story.unchanged();
  const ids = new Set(all.map(({ externalId }) => externalId));
  const found: ScoredHit[] = [];
  const keys: unknown[] = [];
  for (let cursor: string | null = null; ; await story.goesOn()) {
    const page = await story.page(request({ k: story.pick([1, 3, 10]), cursor: cursorOf(cursor) }));
    expect(page.hits.filter((hit) => !isUnchanged(hit))).toEqual([]);
    found.push(...page.hits);
    keys.push(...page.groups.map(({ key }) => key));
    cursor = page.next;
    if (cursor === null) break;
  }
  expect(new Set(keys).size).toBe(keys.length);
  if (isGrouped && !isFused) return keys;
  const placeOf = ({ externalId, score }: ScoredHit): object => ({ externalId, score });
  expect(found.filter(({ externalId }) => !ids.has(externalId))).toEqual([]);
  const stayed = all.filter(isUnchanged);
  expect(found.filter(isUnchanged).map(placeOf)).toEqual(stayed.map(placeOf));
  return found.map(placeOf);
}

async function run(round: number, options: Parameters<typeof Story.begin>[1]): Promise<unknown[]> {
  const story = await Story.begin(round, options);
  await story.service.vectors.upsert('c', [
    { externalId: 'always', source: { vector: story.vector() }, metadata: '{"n":1}', text: 'red stone' },
  ]);
  for (let i = 0; i < 8; i += 1) await story.write(60);
  const told: unknown[] = [];
  for (let i = 0; i < 6; i += 1) told.push(await walked(story, EXACT));
  for (let i = 0; i < 4; i += 1)
    told.push(
      await walkedGroups(story),
      await walkedReranked(story),
      await walkedFused(story),
      await walkedDiverse(story),
    );
  return told;
}

test.each([
  { name: 'plainly', factories: plainFactories },
  { name: 'bytes, three replicas', factories: graphFactories('int8'), count: 3 },
  {
    name: 'segments on the disk, two replicas',
    factories: quantizedDiskFactories('int4'),
    openStore: openRocksStore,
    count: 2,
  },
])(
  'pages of 1, 2 and 5 shards continue each other while items change ($name)',
  async ({ factories, openStore, count }) => {
    const options = { factories, ...(openStore && { openStore }), ...(count && { count }) };
    const [one, two, five] = [
      await run(1, { ...options, shards: 1 }),
      await run(1, { ...options, shards: 2 }),
      await run(1, { ...options, shards: 5 }),
    ];
    expect(two).toEqual(one);
    expect(five).toEqual(one);
  },
);

test('calibrated lists are read to their end, too', async () => {
  const story = await Story.begin(7, { factories: graphFactories('int8'), shards: 2 });
  await story.service.vectors.upsert('c', [
    { externalId: 'always', source: { vector: story.vector() }, metadata: '{"n":1}', text: 'red stone' },
  ]);
  for (let i = 0; i < 8; i += 1) await story.write(60);
  for (let i = 0; i < 6; i += 1) expect((await walked(story, { type: 'calibrated' })).length).toBeGreaterThan(0);
});

test('fused lists of many blocks have each item once, whichever list had it first', async () => {
  const story = await Story.begin(10, { factories: plainFactories, shards: 2 });
  await story.service.vectors.upsert(
    'c',
    Array.from({ length: 900 }, (_, i): VectorInput => ({
      externalId: `i-${i}`,
      source: { vector: story.vector() },
      metadata: undefined,
      text: i % 4 === 0 ? undefined : `${'red '.repeat(1 + (i % 5))}${'stone '.repeat(i % 7)}`,
    })),
  );
  const search = { queryText: 'red', vector: story.vector(), effort: EXACT, explain: true };
  const found: ScoredHit[] = [];
  let cursor: string | null = null;
  do {
    const page = await story.page(fused({ ...search, k: 30, cursor: cursorOf(cursor) }));
    found.push(...page.hits);
    cursor = page.next;
    // Of what is still to come, some goes.
    if (found.length === 300) await story.service.vectors.delete('c', ['i-1', 'i-2', 'i-3']);
  } while (cursor !== null);
  const ids = found.map(({ externalId }) => externalId);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.length).toBeGreaterThanOrEqual(897);
  const ranks = found.map(({ explanation }) => Math.min(...explanation!.map(({ rank }) => rank ?? Infinity)));
  // The first block has the first 200 of both lists, the second what is in neither of those, and so on.
  const blocks = ranks.map((rank) => Math.ceil(rank / 200));
  expect(blocks).toEqual(blocks.toSorted((a, b) => a - b));
  expect(new Set(blocks)).toEqual(new Set([1, 2, 3, 4, 5]));
});

test('pages of one score come by ids, however many there are', async () => {
  const story = await Story.begin(8, { factories: graphFactories('int8'), shards: 2 });
  const vector = Float32Array.of(1, 0, 0, 0);
  const ids = Array.from({ length: 3_000 }, (_, i) => `i-${i}`).sort();
  await story.service.vectors.upsert(
    'c',
    ids.map((externalId): VectorInput => ({ externalId, source: { vector }, metadata: undefined, text: undefined })),
  );
  const found: string[] = [];
  let cursor: string | null = null;
  do {
    const request = nearest({ source: { vector }, k: 70, cursor: cursorOf(cursor) });
    const { hits, next } = await story.page(request);
    found.push(...hits.map(({ externalId }) => externalId));
    cursor = next;
    // Of those that are still to come, some go; of those that came, some come again.
    if (found.length > 500 && found.length < 600) await story.service.vectors.delete('c', ['i-10', 'i-999', 'i-1998']);
  } while (cursor !== null);
  expect(found).toEqual(ids.filter((id) => found.includes(id)));
  expect(ids.length - found.length).toBeLessThanOrEqual(3);
});

describe('a cursor is refused', () => {
  const source = { vector: Float32Array.of(1, 0, 0, 0) };

  async function begun(clock: Clock): Promise<{ story: Story; cursor: string }> {
    const story = await Story.begin(9, { factories: plainFactories, shards: 2 }, clock);
    await story.write(60);
    const { next } = await story.page(nearest({ source, k: 3, cursor: cursorOf(null) }));
    return { story, cursor: next! };
  }

  test('of another search, that is too old, or that is none', async () => {
    const clock = new ManualClock();
    const { story, cursor } = await begun(clock);
    const page = (given: Partial<Parameters<typeof nearest>[0]>, text = cursor): Promise<unknown> =>
      story.page(nearest({ source, k: 5, cursor: cursorOf(text), ...given }));
    await expect(page({ source: { vector: Float32Array.of(1, 0, 0, 1) } })).rejects.toMatchObject({
      kind: 'schema_violation',
      message: expect.stringContaining('belongs to another search'),
    });
    await expect(page({ filter: { type: 'exists', path: 'n' } })).rejects.toMatchObject({ kind: 'schema_violation' });
    for (const none of ['x', 'first', cursor.slice(1), Buffer.from('[3,"a"]').toString('base64url')])
      await expect(page({}, none)).rejects.toMatchObject({
        kind: 'invalid_parameter',
        message: expect.stringContaining('Invalid cursor'),
      });
    // Another place than the search answered; and one that was answered without a seal.
    const text = cursor.slice(0, -SEAL_LENGTH);
    const elements = JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown[];
    const written = (version: unknown, state: unknown): string =>
      Buffer.from(JSON.stringify([version, ...elements.slice(1, 7), state])).toString('base64url');
    for (const forged of [written(elements[0], [[0.5, 'item-1'], 1e15]), text])
      for (const sealed of [forged + cursor.slice(-SEAL_LENGTH), forged])
        if (sealed !== cursor)
          await expect(page({}, sealed)).rejects.toMatchObject({
            kind: 'invalid_parameter',
            message: expect.stringContaining('Invalid cursor'),
          });
    // As one of a service that has another secret.
    await expect(page({}, new CursorSeal('0'.repeat(64)).close(text))).rejects.toMatchObject({
      kind: 'invalid_parameter',
      message: expect.stringContaining('this service did not seal it as it is'),
    });
    await expect(page({}, written(3, elements[7]))).rejects.toMatchObject({
      kind: 'invalid_parameter',
      message: expect.stringContaining('this cursor ended: an earlier version of the service answered it'),
    });
    clock.advance(300_000);
    await expect(page({})).resolves.toBeDefined();
    clock.advance(1);
    await expect(page({})).rejects.toMatchObject({
      kind: 'invalid_parameter',
      message: expect.stringContaining('this cursor ended: its first page is more than 300 seconds ago'),
    });
  });

  test('after a reshard', async () => {
    const { story, cursor } = await begun(systemClock);
    const resharder = new Resharder({
      store: story.store,
      shards: story.client,
      clock: systemClock,
      log: silentLogger,
      leadership: ONLY_DRIVER,
      retireMs: 10,
      restores: new StoredRestores(story.store),
      reembedding: NO_REEMBEDDING,
      drop: async () => undefined,
    });
    await resharder.start();
    try {
      await story.service.collections.reshard('c', 3);
      await eventually('the collection has three shards', async () => {
        return (await story.service.collections.get('c')).shards === 3;
      });
      await expect(story.page(nearest({ source, k: 3, cursor: cursorOf(cursor) }))).rejects.toMatchObject({
        kind: 'invalid_parameter',
        message: expect.stringContaining('this cursor ended: the collection was resharded'),
      });
      const again = await story.page(nearest({ source, k: 3, cursor: cursorOf(null) }));
      expect(again.hits).toHaveLength(3);
    } finally {
      await resharder.close();
    }
  });
});
