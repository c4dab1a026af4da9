import { revocableOf, revocationOf } from '../../coordinator/service/idempotency/write-dedup';
import type { Boosts } from '../../shared/contract/shard/boosts';
import type { Filter } from '../../shared/contract/filter/filter';
import { parseFilter } from '../../shared/contract/filter/parse-filter';
import {
  NO_VERSION,
  type CallOptions,
  ANY_VERSION,
  type ShardClient,
  type ShardId,
  type PatchOperation,
  type ShardSpec,
  type UpsertOperation,
  type WriteOperation,
} from '../../shared/contract/shard/shard-client';
import type { KeywordPlan } from '../../shared/contract/shard/keyword-plan';
import type { MetadataStorage } from '../../shared/contract/shard/metadata-storage';
import type { VectorStorage } from '../../shared/contract/vector/vector-storage';
import {
  type Hit,
  LEFT_OUT,
  type ListPart,
  type RequestOf,
  type StoredItem,
  type VectorSearch,
} from '../../shared/contract/shard/shard-read';
import { sampleKey } from '../../shared/contract/shard/sample-key';
import { METRICS, type Metric, scoreOf } from '../../shared/contract/vector/metric';

/** A client under test, with no shard open. */
export interface ClientUnderTest {
  client: ShardClient;
  close(): Promise<void>;
}

const IN_TIME = (): CallOptions => ({ deadlineMs: performance.now() + 30_000 });
const DIM = 4;

function put(externalId: string, vector: number[], more: Partial<UpsertOperation> = {}): UpsertOperation {
  return {
    type: 'upsert',
    externalId,
    vector: Float32Array.from(vector),
    stamp: 1000,
    metadata: undefined,
    text: undefined,
    ...more,
  };
}

function remove(externalId: string): WriteOperation {
  return { type: 'delete', externalId };
}

function near(vector: number[], more: Partial<VectorSearch> = {}): VectorSearch {
  return {
    vector: Float32Array.from(vector),
    k: 10,
    filter: null,
    effort: { type: 'calibrated' },
    texts: false,
    ...more,
  };
}

/**
 * What every ShardClient promises (shared/contract/shard/shard-client.ts). `isBounded`: it does what a request says of
 * bytes and of writes a second, as all but the plain one do.
 */
export function describeShardClient(
  name: string,
  make: () => Promise<ClientUnderTest>,
  {
    isBounded = true,
    metadata,
    vectors,
  }: { isBounded?: boolean; metadata?: MetadataStorage; vectors?: VectorStorage } = {},
): void {
  describe(`ShardClient: ${name}`, () => {
    let under: ClientUnderTest;
    let client: ShardClient;
    let specs = 0;

    beforeEach(async () => {
      under = await make();
      client = under.client;
    });
    afterEach(() => under.close());

    async function opened(options: { dim?: number; metric?: Metric } = {}): Promise<ShardSpec> {
      const spec: ShardSpec = {
        collectionUid: `uid-${++specs}`,
        shard: 0,
        dim: options.dim ?? DIM,
        metric: options.metric ?? 'cosine',
        ...(metadata && { metadata }),
        ...(vectors && { vectors }),
      };
      await client.make(spec);
      return spec;
    }

    const write = (id: ShardId, ...operations: WriteOperation[]) =>
      client.write(id, operations, IN_TIME()).then(({ outcomes }) => outcomes);
    const fetchOne = async (id: ShardId, externalId: string): Promise<StoredItem | null> =>
      (await client.read(id, 'fetch', { externalIds: [externalId], vectors: true }, IN_TIME()))[0];
    const searchIds = async (id: ShardId, request: VectorSearch) =>
      (await client.read(id, 'search', request, IN_TIME())).hits.map((hit) => hit.externalId);
    const scanned = (id: ShardId, request: Partial<RequestOf<'scan'>> = {}) =>
      client.read(id, 'scan', { after: null, limit: 1000, filter: null, vectors: false, ...request }, IN_TIME());

    describe('writes', () => {
      test('answer one outcome per operation, in order, as if applied one by one', async () => {
        const id = await opened();
        expect(await write(id, put('a', [1, 0, 0, 0]), put('b', [0, 1, 0, 0]))).toEqual(['inserted', 'inserted']);
        expect(await write(id, remove('b'), put('a', [0, 0, 1, 0]), remove('nobody'))).toEqual([
          'deleted',
          'updated',
          'absent',
        ]);
        expect(
          await write(
            id,
            put('c', [1, 1, 0, 0]),
            put('c', [0, 1, 1, 0]),
            remove('c'),
            remove('c'),
            put('c', [0, 0, 1, 1]),
          ),
        ).toEqual(['inserted', 'updated', 'deleted', 'absent', 'inserted']);
        expect((await fetchOne(id, 'c'))?.vector).toEqual(Float32Array.of(0, 0, 1, 1));
        expect(await write(id)).toEqual([]);
        expect(await client.read(id, 'count', null, IN_TIME())).toBe(2);
      });

      test('can be revoked by their token, until they are made, in every shard by itself', async () => {
        const [token, other] = ['a1', 'b2'].map((pair) => pair.repeat(16));
        const id = await opened();
        const nowMs = Date.now();
        const first = [put('a', [1, 0, 0, 0], { expected: NO_VERSION }), put('b', [0, 1, 0, 0])];
        expect(await write(id, revocationOf(token, nowMs))).toEqual(['inserted']);
        expect(await write(id, revocableOf(token, nowMs), ...first)).toEqual(['absent', 'withheld', 'withheld']);
        expect(await client.read(id, 'count', null, IN_TIME())).toBe(0);
        expect(await write(id, revocableOf(other, nowMs), ...first)).toEqual(['inserted', 'inserted', 'inserted']);
        expect(await write(id, revocationOf(other, nowMs))).toEqual(['updated']);
        expect(await write(id, remove('a'), remove('b'))).toEqual(['deleted', 'deleted']);
        // It comes again, late.
        expect(await write(id, revocableOf(other, nowMs), ...first)).toEqual(['outdated', 'outdated', 'outdated']);
        expect(await client.read(id, 'count', null, IN_TIME())).toBe(0);
        // Of each, the shard keeps that it was made, and not what became of its items.
        const [mark] = await client.read(id, 'marks', { token: other, after: 0, limit: 1 }, IN_TIME());
        expect(mark).toMatchObject({ entries: [], verdict: null });
      });

      test('an update keeps the stamp, and the metadata and text that it leaves out', async () => {
        const id = await opened();
        await write(id, put('a', [1, 0, 0, 0], { stamp: 7, metadata: '{"n":1}', text: 'first words' }));
        await write(id, put('a', [0, 1, 0, 0], { stamp: 9 }));
        expect(await fetchOne(id, 'a')).toEqual({
          externalId: 'a',
          stamp: 7,
          metadata: '{"n":1}',
          text: 'first words',
          vector: Float32Array.of(0, 1, 0, 0),
        });
        await write(id, put('a', [0, 1, 0, 0], { stamp: 9, metadata: '{}' }));
        expect(await fetchOne(id, 'a')).toMatchObject({ stamp: 7, metadata: '{}', text: 'first words' });
        await write(id, put('a', [0, 1, 0, 0], { stamp: 9, text: '' }));
        expect(await fetchOne(id, 'a')).toMatchObject({ stamp: 7, metadata: '{}', text: '' });
      });

      test('within one batch too; an item deleted and put again is a new one', async () => {
        const id = await opened();
        await write(id, put('a', [1, 0, 0, 0], { stamp: 7, metadata: '{"n":1}', text: 'words' }));
        await write(
          id,
          put('a', [0, 1, 0, 0], { stamp: 8, metadata: '{"n":2}' }),
          put('a', [0, 0, 1, 0], { stamp: 9, text: 'other' }),
        );
        expect(await fetchOne(id, 'a')).toMatchObject({ stamp: 7, metadata: '{"n":2}', text: 'other' });
        await write(id, remove('a'), put('a', [0, 0, 0, 1], { stamp: 11 }));
        expect(await fetchOne(id, 'a')).toMatchObject({ stamp: 11, metadata: '{}', text: null });
        expect(await scanned(id)).toHaveLength(1);
      });

      test('delete what matches a filter, as it is when its turn comes', async () => {
        const id = await opened();
        const filter = parseFilter({ n: 1 }) ?? undefined;
        const removeMatching = (externalId: string): WriteOperation => ({ type: 'delete', externalId, filter });
        await write(
          id,
          put('a', [1, 0, 0, 0], { metadata: '{"n":1}', text: 'kept' }),
          put('b', [0, 1, 0, 0], { metadata: '{"n":2}' }),
          put('c', [0, 0, 1, 0], { metadata: '{"n":1}' }),
        );
        expect(await write(id, removeMatching('a'), removeMatching('b'), removeMatching('nobody'))).toEqual([
          'deleted',
          'absent',
          'absent',
        ]);
        expect(
          await write(
            id,
            put('b', [0, 1, 0, 0], { metadata: '{"n":1}' }),
            put('c', [0, 0, 1, 0], { metadata: '{}' }),
            removeMatching('b'),
            removeMatching('c'),
          ),
        ).toEqual(['updated', 'updated', 'deleted', 'absent']);
        expect((await scanned(id)).map((item) => [item.externalId, item.metadata])).toEqual([['c', '{}']]);
      });

      test('give versions that rise with each change and never come back, not even with a new item of the id', async () => {
        const id = await opened();
        // Above the first of the moment, from which a shard's versions may begin.
        const base = 2 ** 52;
        const version = async (externalId: string): Promise<number | undefined> =>
          (await client.read(id, 'fetch', { externalIds: [externalId], vectors: false, versions: true }, IN_TIME()))[0]
            ?.version;
        const first = await client.write(
          id,
          [put('a', [1, 0, 0, 0], { stamp: base }), put('b', [0, 1, 0, 0], { stamp: base + 1 })],
          IN_TIME(),
        );
        expect(first).toEqual({ outcomes: ['inserted', 'inserted'], firstVersion: base, present: [] });
        expect([await version('a'), await version('b')]).toEqual([base, base + 1]);
        // Of a coordinator whose clock is behind.
        const second = await client.write(id, [remove('b'), put('a', [0, 0, 1, 0], { stamp: 7 })], IN_TIME());
        expect(second.firstVersion).toBe(base + 2);
        expect(await version('a')).toBe(base + 3);
        expect((await client.write(id, [put('b', [0, 1, 0, 0], { stamp: 8 })], IN_TIME())).firstVersion).toBe(base + 4);
        expect((await scanned(id, { versions: true })).map((item) => [item.externalId, item.version])).toEqual([
          ['b', base + 4],
          ['a', base + 3],
        ]);
        expect((await scanned(id))[0]).not.toHaveProperty('version');
        expect(await client.read(id, 'transfer', { after: 0, limit: 1 }, IN_TIME())).toMatchObject({
          lastVersion: base + 4,
        });
      });

      test('with a condition are done only if the item is as expected, as a whole or not at all', async () => {
        const id = await opened();
        const { firstVersion } = await client.write(id, [put('a', [1, 0, 0, 0]), put('b', [0, 1, 0, 0])], IN_TIME());
        const attempt = (...operations: WriteOperation[]) => client.write(id, operations, IN_TIME());
        expect(
          await attempt(put('c', [0, 0, 0, 1]), put('a', [9, 0, 0, 0], { expected: firstVersion + 1 })),
        ).toMatchObject({ outcomes: ['withheld', 'conflict'], present: [firstVersion] });
        expect(
          await attempt(
            put('a', [9, 0, 0, 0], { expected: NO_VERSION }),
            put('nobody', [1, 0, 0, 0], { expected: ANY_VERSION }),
          ),
        ).toMatchObject({
          outcomes: ['conflict', 'conflict'],
          present: [firstVersion, NO_VERSION],
        });
        expect(await attempt({ ...remove('b'), expected: firstVersion } as WriteOperation)).toMatchObject({
          outcomes: ['conflict'],
          present: [firstVersion + 1],
        });
        // What is taken back of a write is taken back as a whole, and its operations see each other.
        expect(
          await attempt(
            put('d', [1, 1, 0, 0]),
            remove('a'),
            put('d', [1, 1, 0, 0], { expected: ANY_VERSION }),
            put('d', [1, 1, 0, 0], { expected: 3 }),
          ),
        ).toMatchObject({
          outcomes: ['withheld', 'withheld', 'withheld', 'conflict'],
        });
        expect(await client.read(id, 'count', null, IN_TIME())).toBe(2);
        expect((await fetchOne(id, 'a'))?.vector).toEqual(Float32Array.of(1, 0, 0, 0));
        expect(
          (
            await attempt(
              put('c', [0, 0, 0, 1], { expected: NO_VERSION }),
              put('a', [2, 0, 0, 0], { expected: firstVersion }),
              { ...remove('b'), expected: ANY_VERSION } as WriteOperation,
            )
          ).outcomes,
        ).toEqual(['inserted', 'updated', 'deleted']);
        // One that is alone keeps no other from being done.
        expect(
          await attempt(put('a', [3, 0, 0, 0], { expected: 1, alone: true }), put('e', [1, 0, 0, 0])),
        ).toMatchObject({ outcomes: ['conflict', 'inserted'] });
      });

      test('patch parts of an item, in the same batch too', async () => {
        const id = await opened();
        const patch = (externalId: string, more: Partial<PatchOperation> = {}, json?: string): PatchOperation => ({
          type: 'patch',
          externalId,
          vector: undefined,
          text: undefined,
          metadata: json === undefined ? undefined : { json, replaces: false, bytesMax: 100, fieldsMax: 10 },
          ...more,
        });
        await write(id, put('a', [1, 2, 0, 0], { stamp: 7, metadata: '{"n":1,"deep":{"x":1}}', text: 'words' }));
        expect(await write(id, patch('a', {}, '{"n":null,"deep":{"y":2}}'), patch('nobody', {}, '{"n":1}'))).toEqual([
          'updated',
          'absent',
        ]);
        expect(await fetchOne(id, 'a')).toEqual({
          externalId: 'a',
          stamp: 7,
          metadata: '{"deep":{"x":1,"y":2}}',
          text: 'words',
          vector: Float32Array.of(1, 2, 0, 0),
        });
        const filter = parseFilter({ 'deep.y': 2 }) ?? undefined;
        expect(
          await write(
            id,
            put('b', [0, 1, 0, 0]),
            patch('b', { text: 'other', vector: Float32Array.of(0, 0, 3, 0) }),
            patch('b', { filter }, '{"n":1}'),
            patch('a', { filter }, '{"n":1}'),
          ),
        ).toEqual(['inserted', 'updated', 'absent', 'updated']);
        expect(await fetchOne(id, 'b')).toMatchObject({
          text: 'other',
          metadata: '{}',
          vector: Float32Array.of(0, 0, 3, 0),
        });
        expect(await fetchOne(id, 'a')).toMatchObject({ metadata: '{"deep":{"x":1,"y":2},"n":1}' });
        expect(
          await write(
            id,
            patch('a', {}, JSON.stringify({ more: 'x'.repeat(99) })),
            patch('a', { metadata: { json: '{"new":1}', replaces: true, bytesMax: 100, fieldsMax: 10 } }),
          ),
        ).toEqual(['excess', 'updated']);
        expect((await fetchOne(id, 'a'))?.metadata).toBe('{"new":1}');
        expect(await searchIds(id, near([0, 0, 1, 0], { filter: parseFilter({ new: 1 }), k: 5 }))).toEqual(['a']);
        const { firstVersion, present } = await client.write(id, [patch('a', { expected: 1 }, '{}')], IN_TIME());
        expect([firstVersion > 7, present.length]).toEqual([true, 1]);
      });

      test('by many that expect the same version succeed once', async () => {
        const id = await opened();
        let expected = (await client.write(id, [put('a', [1, 0, 0, 0])], IN_TIME())).firstVersion;
        for (let round = 0; round < 5; round++) {
          const results = await Promise.all(
            Array.from({ length: 8 }, (_, i) => client.write(id, [put('a', [i, 1, 0, 0], { expected })], IN_TIME())),
          );
          const done = results.filter(({ outcomes }) => outcomes[0] === 'updated');
          expect(done).toHaveLength(1);
          for (const { outcomes, present } of results)
            if (outcomes[0] === 'conflict') expect(present).toEqual([done[0].firstVersion]);
          expected = done[0].firstVersion;
        }
      });

      test('by many at once are each applied once and seen by every later read', async () => {
        const id = await opened();
        await Promise.all(
          Array.from({ length: 60 }, async (_, i) => {
            expect(await write(id, put(`w${i}`, [i, 1, 0, 0], { stamp: i }))).toEqual(['inserted']);
            expect(await fetchOne(id, `w${i}`)).toMatchObject({ stamp: i });
            if (i % 3 === 0) expect(await write(id, remove(`w${i}`))).toEqual(['deleted']);
          }),
        );
        expect(await client.read(id, 'count', null, IN_TIME())).toBe(40);
        expect((await scanned(id)).map((item) => item.stamp)).toEqual(
          Array.from({ length: 60 }, (_, i) => i).filter((i) => i % 3 !== 0),
        );
      });

      test('keep ids, texts and metadata of every kind, to the last code unit', async () => {
        const id = await opened();
        const ids = [
          '__proto__',
          'constructor',
          'é',
          'e\u0301',
          '\ud83d\ude00',
          '\ud83d',
          '\ude00',
          ' ',
          'a\u0000b',
          '中文/..',
          'x'.repeat(512),
        ];
        const metadata = '{"__proto__":{"a":1},"s":"\\ud83d","n":1e300,"deep":[[{"k":[null]}]]}';
        await write(
          id,
          ...ids.map((externalId, i) =>
            put(externalId, [i + 1, 1, 0, 0], { stamp: i, metadata, text: `${externalId} \ud83d` }),
          ),
        );
        const found = await client.read(id, 'fetch', { externalIds: ids, vectors: false }, IN_TIME());
        expect(found).toEqual(
          ids.map((externalId, i) => ({ externalId, stamp: i, metadata, text: `${externalId} \ud83d` })),
        );
        expect((await searchIds(id, near([1, 1, 0, 0], { k: 100 }))).sort()).toEqual([...ids].sort());
      });
    });

    describe('search', () => {
      test.each(METRICS)('by %s answers the best k with the scores of the metric', async (metric) => {
        const id = await opened({ metric });
        const vectors = Array.from({ length: 40 }, (_, i) => [Math.sin(i), Math.cos(3 * i), Math.sin(7 * i), i / 40]);
        await write(id, ...vectors.map((vector, i) => put(`v${i}`, vector)));
        const query = [0.3, -0.2, 0.9, 0.5];
        const expected = vectors
          .map((vector, i) => ({
            externalId: `v${i}`,
            score: scoreOf(metric, Float32Array.from(query), Float32Array.from(vector)),
          }))
          .sort((a, b) => b.score - a.score)
          .slice(0, 10);
        for (const effort of [{ type: 'calibrated' }, { type: 'exact' }, { type: 'ef', ef: 64 }] as const) {
          const { hits } = await client.read(id, 'search', near(query, { effort }), IN_TIME());
          expect(hits.map((hit) => hit.externalId)).toEqual(expected.map((hit) => hit.externalId));
          hits.forEach((hit, i) => expect(hit.score).toBeCloseTo(expected[i].score, 4));
        }
      });

      test('orders equal scores by external id in code units, also where k cuts them', async () => {
        const id = await opened();
        const ids = ['b', 'a', 'B', '\ud83d\ude00', '\uffee', 'aa', 'é'];
        await write(id, ...ids.map((externalId) => put(externalId, [1, 0, 0, 0])), put('far', [0, 1, 0, 0]));
        const sorted = [...ids].sort();
        expect(await searchIds(id, near([1, 0, 0, 0], { k: 100 }))).toEqual([...sorted, 'far']);
        expect(await searchIds(id, near([1, 0, 0, 0], { k: 4 }))).toEqual(sorted.slice(0, 4));
      });

      test('finds exactly what the filter lets pass, and fewer than k only if fewer match', async () => {
        const id = await opened();
        await write(
          id,
          ...Array.from({ length: 30 }, (_, i) =>
            put(`v${i}`, [1, i, 0, 0], { metadata: `{"n":${i},"even":${i % 2 === 0}}` }),
          ),
        );
        const filter = parseFilter({ even: true, n: { $gte: 10 } });
        expect(await searchIds(id, near([1, 0, 0, 0], { k: 4, filter }))).toEqual(['v10', 'v12', 'v14', 'v16']);
        expect(await searchIds(id, near([1, 0, 0, 0], { k: 40, filter }))).toHaveLength(10);
        expect(await searchIds(id, near([1, 0, 0, 0], { filter: parseFilter({ n: 'none' }) }))).toEqual([]);
        const counted = async (given: Filter): Promise<number> =>
          client.read(id, 'matches', { filter: given }, IN_TIME());
        expect([await counted(filter!), await counted(parseFilter({ n: 'none' })!)]).toEqual([10, 0]);
      });

      test('go on behind a place, with what has not changed since a version', async () => {
        const id = await opened();
        const ids = Array.from({ length: 40 }, (_, i) => `v${String(i).padStart(2, '0')}`);
        await write(id, ...ids.map((externalId, i) => put(externalId, [1, i >> 1, 0, 0], { text: 'word' })));
        const versionMax = await client.read(id, 'lastVersion', null, IN_TIME());
        expect(versionMax).toBeGreaterThan(0);
        await write(id, put('v04', [1, 30, 0, 0], { text: 'word' }), put('new', [1, 1, 0, 0], { text: 'word' }));
        await write(id, remove('v07'));
        expect(await client.read(id, 'lastVersion', null, IN_TIME())).toBeGreaterThan(versionMax);
        const stayed = ids.filter((externalId) => externalId !== 'v04' && externalId !== 'v07');
        const statistics = { documentCount: 40, totalLength: 40, documentFrequencies: [40] };
        const filter = parseFilter({ $id: ids });
        const reads = [
          async (part: ListPart) =>
            (await client.read(id, 'search', { ...near([1, 0, 0, 0], { k: 5, filter }), part }, IN_TIME())).hits,
          (part: ListPart) =>
            client.read(id, 'keywordSearch', { terms: ['word'], statistics, k: 5, filter: null, part }, IN_TIME()),
        ];
        for (const read of reads) {
          const found: Hit[] = [];
          for (let hits: Hit[] = []; ; found.push(...hits)) {
            hits = await read({ versionMax, after: found.at(-1) ?? null, passed: found.length });
            if (hits.length === 0) break;
          }
          expect(found.map(({ externalId }) => externalId)).toEqual(stayed);
          const again = await read({ versionMax, after: found[4], passed: 5 });
          expect(again).toEqual(found.slice(5, 10));
        }
      });

      test('tell how many vectors the shard has, whatever k, the filter and the matches', async () => {
        const id = await opened();
        const countIn = async (request: VectorSearch) =>
          (await client.read(id, 'search', request, IN_TIME())).vectorCount;
        expect(await countIn(near([1, 0, 0, 0]))).toBe(0);
        await write(
          id,
          ...Array.from({ length: 12 }, (_, i) => put(`v${i}`, [1, i, 0, 0], { metadata: `{"n":${i}}` })),
        );
        expect(await countIn(near([1, 0, 0, 0], { k: 3 }))).toBe(12);
        expect(await countIn(near([1, 0, 0, 0], { filter: parseFilter({ n: { $lt: 2 } }) }))).toBe(12);
        expect(await countIn(near([1, 0, 0, 0], { filter: parseFilter({ n: 'none' }) }))).toBe(12);
        await write(id, remove('v0'));
        expect(await countIn(near([1, 0, 0, 0]))).toBe(11);
      });

      test('say what they took when that is asked for', async () => {
        const id = await opened();
        await write(id, ...Array.from({ length: 12 }, (_, i) => put(`v${i}`, [1, i, 0, 0])));
        const request = near([1, 0, 0, 0], { k: 3 });
        expect(await client.read(id, 'search', request, IN_TIME())).not.toHaveProperty('cost');
        const { cost } = await client.read(id, 'search', { ...request, counted: true }, IN_TIME());
        expect(cost!.scored + cost!.rescored).toBeGreaterThanOrEqual(12);
        const exact = await client.read(
          id,
          'search',
          { ...request, counted: true, effort: { type: 'exact' } },
          IN_TIME(),
        );
        expect(exact.cost).toMatchObject({ scored: 0, rescored: 12 });
      });

      test('hits carry their metadata, and their text when asked for', async () => {
        const id = await opened();
        await write(id, put('a', [1, 0, 0, 0], { metadata: '{"n":1}', text: 'words' }), put('b', [1, 1, 0, 0]));
        expect((await client.read(id, 'search', near([1, 0, 0, 0]), IN_TIME())).hits).toEqual([
          { externalId: 'a', score: expect.closeTo(1), metadata: '{"n":1}' },
          { externalId: 'b', score: expect.closeTo(Math.SQRT1_2), metadata: '{}' },
        ]);
        const { hits: withTexts } = await client.read(id, 'search', near([1, 0, 0, 0], { texts: true }), IN_TIME());
        expect(withTexts.map((hit) => hit.text)).toEqual(['words', '']);
      });

      test('sees neither deleted items nor replaced vectors', async () => {
        const id = await opened();
        await write(id, put('a', [1, 0, 0, 0]), put('b', [0.9, 0.1, 0, 0]), put('c', [0, 0, 0, 1]));
        await write(id, remove('a'), put('b', [0, 1, 0, 0]));
        expect(await searchIds(id, near([1, 0, 0, 0], { k: 5 }))).toEqual(['b', 'c']);
        expect(await searchIds(id, near([0, 1, 0, 0], { k: 1 }))).toEqual(['b']);
      });

      test('an empty shard answers nothing', async () => {
        const id = await opened();
        expect(await searchIds(id, near([1, 0, 0, 0]))).toEqual([]);
        expect(await scanned(id)).toEqual([]);
      });
    });

    test('score answers known items in the order asked, with the exact score', async () => {
      const id = await opened({ metric: 'ip' });
      await write(id, put('a', [1, 0, 0, 0], { metadata: '{"n":1}' }), put('b', [2, 0, 0, 0]), put('c', [3, 0, 0, 0]));
      await write(id, remove('b'));
      const request = { vector: Float32Array.of(2, 0, 0, 0), externalIds: ['c', 'nobody', 'b', 'a', 'c'] };
      expect(await client.read(id, 'score', request, IN_TIME())).toEqual([
        { externalId: 'c', score: 6, metadata: '{}' },
        { externalId: 'a', score: 2, metadata: '{"n":1}' },
        { externalId: 'c', score: 6, metadata: '{}' },
      ]);
      expect(await client.read(id, 'score', { ...request, externalIds: [] }, IN_TIME())).toEqual([]);
    });

    test('boosts change the scores of searches, and are told one by one', async () => {
      const id = await opened();
      await write(
        id,
        put('a', [1, 0, 0, 0], { metadata: '{"n":1}', text: 'pear' }),
        put('b', [0.6, 0.8, 0, 0], { metadata: '{"n":3}', text: 'pear pear' }),
        put('c', [-1, 0, 0, 0], { text: 'pear' }),
      );
      const boosts: Boosts = {
        mode: 'multiply',
        parts: [
          { type: 'filter', filter: { type: 'range', path: 'n', operator: 'gt', bound: 2 }, weight: 2 },
          { type: 'field', path: 'n', modifier: 'none', weight: 1, missing: null },
        ],
      };
      const { hits } = await client.read(id, 'search', near([1, 0, 0, 0], { boosts }), IN_TIME());
      expect(hits.map(({ externalId }) => externalId)).toEqual(['b', 'a', 'c']);
      expect(hits.map(({ score }) => score)).toEqual([4.8, 2, -1].map((score) => expect.closeTo(score, 5)));
      const asked = { vector: Float32Array.of(1, 0, 0, 0), externalIds: ['c', 'b', 'nobody'] };
      const scored = await client.read(id, 'score', { ...asked, boosts }, IN_TIME());
      expect(scored.map(({ score }) => score)).toEqual([-1, 4.8].map((score) => expect.closeTo(score, 5)));
      expect(await client.read(id, 'boostNumbers', { externalIds: asked.externalIds, boosts }, IN_TIME())).toEqual([
        [1, 1],
        [2, 4],
        null,
      ]);
      const statistics = await client.read(id, 'keywordStatistics', { terms: ['pear'] }, IN_TIME());
      const words = { terms: ['pear'], statistics, k: 2, filter: null };
      const plain = await client.read(id, 'keywordSearch', { ...words, k: 3 }, IN_TIME());
      const scoreOfId = (externalId: string): number => plain.find((hit) => hit.externalId === externalId)!.score;
      const found = await client.read(id, 'keywordSearch', { ...words, boosts }, IN_TIME());
      expect(found.map(({ externalId, score }) => [externalId, score])).toEqual([
        ['b', 8 * scoreOfId('b')],
        ['a', 2 * scoreOfId('a')],
      ]);
    });

    describe('keyword search', () => {
      const TERMS = ['fox', 'hen'];

      async function withDocuments(): Promise<ShardSpec> {
        const id = await opened();
        await write(
          id,
          put('one', [1, 0, 0, 0], { text: 'fox and hen', metadata: '{"kind":"tale"}' }),
          put('two', [1, 0, 0, 0], { text: 'fox fox fox and the long tale of it' }),
          put('meta', [1, 0, 0, 0], { metadata: '{"title":"a hen","kind":"tale"}' }),
          put('none', [1, 0, 0, 0]),
        );
        return id;
      }

      test('statistics count texts and string metadata of live items', async () => {
        const id = await withDocuments();
        const statistics = await client.read(id, 'keywordStatistics', { terms: TERMS }, IN_TIME());
        expect(statistics).toMatchObject({ documentCount: 3, documentFrequencies: [2, 2] });
        await write(id, remove('two'), put('meta', [1, 0, 0, 0], { metadata: '{}' }));
        const after = await client.read(id, 'keywordStatistics', { terms: TERMS }, IN_TIME());
        expect(after).toMatchObject({ documentCount: 1, documentFrequencies: [1, 1] });
        expect(after.totalLength).toBeLessThan(statistics.totalLength);
      });

      test('ranks by BM25 under the statistics given, leaving out items without a term', async () => {
        const id = await withDocuments();
        const statistics = await client.read(id, 'keywordStatistics', { terms: TERMS }, IN_TIME());
        const hits = await client.read(
          id,
          'keywordSearch',
          { terms: TERMS, statistics, k: 10, filter: null },
          IN_TIME(),
        );
        expect(hits.map((hit) => hit.externalId).sort()).toEqual(['meta', 'one', 'two']);
        expect(hits[0].externalId).toBe('one');
        expect(hits.map((hit) => hit.score)).toEqual([...hits.map((hit) => hit.score)].sort((a, b) => b - a));
        const rarer = { ...statistics, documentFrequencies: [3, 1] };
        const reweighed = await client.read(
          id,
          'keywordSearch',
          { terms: TERMS, statistics: rarer, k: 10, filter: null },
          IN_TIME(),
        );
        expect(reweighed.find((hit) => hit.externalId === 'meta')?.score).toBeGreaterThan(
          hits.find((hit) => hit.externalId === 'meta')?.score as number,
        );
      });

      test('terms that begin with one, or are near to it, come page by page', async () => {
        const id = await withDocuments();
        const found = (term: string, by: 'prefix' | 1 | 2, after = '', limit = 9) =>
          client.read(id, 'keywordExpansions', { term, by, after, limit }, IN_TIME());
        expect(await found('ta', 'prefix')).toEqual({ terms: ['tale'], frequencies: [3] });
        expect(await found('xf', 1)).toEqual({ terms: ['of'], frequencies: [1] });
        expect(await found('han', 2, '', 2)).toEqual({ terms: ['a', 'and'], frequencies: [1, 2] });
        expect(await found('han', 2, 'and', 2)).toEqual({ terms: ['hen'], frequencies: [2] });
        await write(id, remove('two'), put('new', [1, 0, 0, 0], { text: 'tables' }));
        expect(await found('ta', 'prefix')).toEqual({ terms: ['tables', 'tale'], frequencies: [1, 2] });
        expect(await found('nothing', 1)).toEqual({ terms: [], frequencies: [] });
      });

      test('a plan says how many units a hit has, and of which terms and items they are', async () => {
        const id = await withDocuments();
        const terms = [...TERMS, 'tale'];
        const statistics = await client.read(id, 'keywordStatistics', { terms }, IN_TIME());
        const found = async (plan: KeywordPlan) =>
          (await client.read(id, 'keywordSearch', { terms, statistics, plan, k: 9, filter: null }, IN_TIME()))
            .map((hit) => hit.externalId)
            .sort();
        const [first, second] = [0, 1].map((place) => ({ terms: [place], isOptional: true }));
        const tale = { terms: [2], isOptional: true, filter: parseFilter({ kind: 'tale' })! };
        expect(await found({ units: [first, second], minimum: 1 })).toEqual(['meta', 'one', 'two']);
        expect(await found({ units: [first, second], minimum: 2 })).toEqual(['one']);
        expect(await found({ units: [{ terms: [0, 2], isOptional: true }], minimum: 1 })).toEqual(['one', 'two']);
        expect(await found({ units: [first, tale], minimum: 2 })).toEqual(['one']);
        expect(await found({ units: [{ ...first, isOptional: false }, second], minimum: 1 })).toEqual(['meta', 'one']);
      });

      test('obeys filters, and orders ties by id where k cuts them', async () => {
        const id = await withDocuments();
        await write(id, ...['z', 'y', 'x'].map((externalId) => put(externalId, [1, 0, 0, 0], { text: 'owl' })));
        const statistics = await client.read(id, 'keywordStatistics', { terms: ['owl'] }, IN_TIME());
        const owls = await client.read(
          id,
          'keywordSearch',
          { terms: ['owl'], statistics, k: 2, filter: null },
          IN_TIME(),
        );
        expect(owls.map((hit) => hit.externalId)).toEqual(['x', 'y']);
        const ofAll = await client.read(id, 'keywordStatistics', { terms: TERMS }, IN_TIME());
        const tales = await client.read(
          id,
          'keywordSearch',
          { terms: TERMS, statistics: ofAll, k: 10, filter: parseFilter({ kind: 'tale' }) },
          IN_TIME(),
        );
        expect(tales.map((hit) => hit.externalId)).toEqual(['one', 'meta']);
      });
    });

    test('fetch answers in the order asked, null where absent, with vectors only when asked', async () => {
      const id = await opened();
      await write(id, put('a', [1, 2, 3, 4], { stamp: 5, text: 't' }), put('b', [4, 3, 2, 1], { stamp: 6 }));
      expect(
        await client.read(id, 'fetch', { externalIds: ['b', 'nobody', 'a', 'b'], vectors: false }, IN_TIME()),
      ).toEqual([
        { externalId: 'b', stamp: 6, metadata: '{}', text: null },
        null,
        { externalId: 'a', stamp: 5, metadata: '{}', text: 't' },
        { externalId: 'b', stamp: 6, metadata: '{}', text: null },
      ]);
      expect((await fetchOne(id, 'a'))?.vector).toEqual(Float32Array.of(1, 2, 3, 4));
      expect(await client.read(id, 'fetch', { externalIds: [], vectors: true }, IN_TIME())).toEqual([]);
    });

    describe('scan', () => {
      test('goes through the items by stamp, then id, page by page', async () => {
        const id = await opened();
        await write(
          id,
          put('late', [1, 0, 0, 0], { stamp: 30 }),
          put('b', [1, 0, 0, 0], { stamp: 20 }),
          put('a', [1, 0, 0, 0], { stamp: 20 }),
        );
        await write(id, put('early', [1, 0, 0, 0], { stamp: 10 }), put('b', [0, 1, 0, 0], { stamp: 99 }));
        const order = ['early', 'a', 'b', 'late'];
        expect((await scanned(id)).map((item) => item.externalId)).toEqual(order);
        const walked: string[] = [];
        let after: { stamp: number; externalId: string } | null = null;
        for (;;) {
          const page: StoredItem[] = await scanned(id, { after, limit: 1, vectors: true });
          if (page.length === 0) break;
          expect(page).toHaveLength(1);
          expect(page[0].vector).toHaveLength(DIM);
          walked.push(page[0].externalId);
          after = page[0];
        }
        expect(walked).toEqual(order);
      });

      test('goes on after a cursor whose item is gone', async () => {
        const id = await opened();
        await write(id, ...['a', 'b', 'c', 'd'].map((externalId, i) => put(externalId, [1, 0, 0, 0], { stamp: i })));
        await write(id, remove('b'), remove('c'), put('c', [1, 0, 0, 0], { stamp: 100 }));
        expect((await scanned(id, { after: { stamp: 1, externalId: 'b' } })).map((item) => item.externalId)).toEqual([
          'd',
          'c',
        ]);
      });

      test('with a filter fills each page with matches', async () => {
        const id = await opened();
        const operations = Array.from({ length: 2500 }, (_, i) =>
          put(`i${i}`, [1, 0, 0, 0], { stamp: i, metadata: `{"rare":${i % 100 === 7}}` }),
        );
        await write(id, ...operations);
        const filter = parseFilter({ rare: true });
        const first = await scanned(id, { filter, limit: 20 });
        expect(first.map((item) => item.stamp)).toEqual(Array.from({ length: 20 }, (_, i) => i * 100 + 7));
        const rest = await scanned(id, { filter, limit: 20, after: first[19] });
        expect(rest.map((item) => item.stamp)).toEqual([2007, 2107, 2207, 2307, 2407]);
        const common = await scanned(id, {
          filter: parseFilter({ rare: false }),
          limit: 2400,
          after: { stamp: 1000, externalId: 'i1000' },
        });
        expect(common).toHaveLength(2500 - 1001 - 15);
      });
    });

    if (isBounded) {
      test('scan and fetch end soon after as many bytes as asked for, with one item at least', async () => {
        const id = await opened();
        const names = Array.from({ length: 300 }, (_, i) => `i${i}`);
        await write(id, ...names.map((name, stamp) => put(name, [1, 0, 0, 0], { stamp, text: 'x'.repeat(1000) })));
        const bytesMax = 100_000;
        const page = await scanned(id, { vectors: true, bytesMax });
        expect(page.length).toBeGreaterThanOrEqual(90);
        expect(page.length).toBeLessThan(200);
        expect(page.map((item) => item.externalId)).toEqual(names.slice(0, page.length));
        expect(await scanned(id, { vectors: true, bytesMax, after: page.at(-1)! })).toMatchObject([
          { externalId: `i${page.length}` },
          ...page.slice(1).map(() => ({})),
        ]);
        const fetched = await client.read(
          id,
          'fetch',
          { externalIds: ['nobody', ...names], vectors: true, bytesMax },
          IN_TIME(),
        );
        expect(fetched.length).toBeLessThan(200);
        expect(fetched.map((item) => item?.externalId)).toEqual([undefined, ...names.slice(0, fetched.length - 1)]);
        expect(
          await client.read(id, 'fetch', { externalIds: ['i0'], vectors: true, bytesMax: 1 }, IN_TIME()),
        ).toHaveLength(1);
      });

      test('hits behind so many bytes have neither metadata nor texts, and are the same otherwise', async () => {
        const id = await opened();
        const names = Array.from({ length: 300 }, (_, i) => `i${i}`);
        await write(
          id,
          ...names.map((name, i) =>
            put(name, [1, i / 1000, 0, 0], {
              metadata: JSON.stringify({ long: 'y'.repeat(1000) }),
              text: `word ${'x'.repeat(1000)}`,
            }),
          ),
        );
        const bytesMax = 64 * 1024;
        const leftOut = ({ metadata, text = '' }: Hit): boolean => metadata === LEFT_OUT && text === '';
        const contents = (hits: Hit[]): number =>
          hits.reduce((sum, { metadata, text = '' }) => sum + metadata.length + text.length, 0);
        const terms = ['word'];
        const statistics = await client.read(id, 'keywordStatistics', { terms }, IN_TIME());
        const lists: [Hit[], Hit[]][] = [];
        for (const texts of [false, true]) {
          for (const k of [200, 300]) {
            const request = near([1, 0, 0, 0], { k, texts });
            lists.push([
              (await client.read(id, 'search', { ...request, bytesMax }, IN_TIME())).hits,
              (await client.read(id, 'search', request, IN_TIME())).hits,
            ]);
          }
        }
        const asked = { vector: Float32Array.of(1, 0, 0, 0), externalIds: names };
        lists.push([
          await client.read(id, 'score', { ...asked, bytesMax }, IN_TIME()),
          await client.read(id, 'score', asked, IN_TIME()),
        ]);
        const keywords = { terms, statistics, k: 300, filter: null };
        lists.push([
          await client.read(id, 'keywordSearch', { ...keywords, bytesMax }, IN_TIME()),
          await client.read(id, 'keywordSearch', keywords, IN_TIME()),
        ]);
        for (const [bounded, whole] of lists) {
          const first = bounded.findIndex(leftOut);
          expect(first).toBeGreaterThan(10);
          expect(bounded.slice(0, first)).toEqual(whole.slice(0, first));
          expect(bounded.slice(first).every(leftOut)).toBe(true);
          expect(bounded.map(({ externalId, score }) => [externalId, score])).toEqual(
            whole.map(({ externalId, score }) => [externalId, score]),
          );
          expect(contents(bounded)).toBeLessThan(bytesMax + 10_000);
        }
        // Few hits come whole, whatever the bound.
        expect(
          (await client.read(id, 'search', near([1, 0, 0, 0], { k: 20, bytesMax }), IN_TIME())).hits.some(leftOut),
        ).toBe(false);
      });

      test('a fetch with a filter answers no item that does not pass it', async () => {
        const id = await opened();
        await write(
          id,
          put('a', [1, 0, 0, 0], { metadata: '{"n":1}' }),
          put('b', [1, 0, 0, 0], { metadata: '{"n":2}' }),
        );
        const fetched = await client.read(
          id,
          'fetch',
          { externalIds: ['a', 'b', 'c'], vectors: false, filter: parseFilter({ n: 2 })! },
          IN_TIME(),
        );
        expect(fetched.map((item) => item?.externalId)).toEqual([undefined, 'b', undefined]);
      });

      test('a shard that is asked to take fewer writes a second has clients wait, but nobody who copies', async () => {
        const id = await opened();
        await write(id, { type: 'stage', term: 1, reshard: 'r', stage: 'tracking', forget: 0 });
        await client.read(id, 'transfer', { after: 0, limit: 10, writesPerSecond: 20 }, IN_TIME());
        const startMs = performance.now();
        await write(id, ...Array.from({ length: 10 }, (_, i) => put(`a${i}`, [1, 0, 0, 0])));
        await write(id, put('b', [1, 0, 0, 0]));
        // Half a second for the ten.
        expect(performance.now() - startMs).toBeGreaterThanOrEqual(490);
        const order: string[] = [];
        const client1 = write(id, put('c', [1, 0, 0, 0]), put('d', [1, 0, 0, 0]), put('e', [1, 0, 0, 0])).then(() =>
          write(id, put('f', [1, 0, 0, 0])).then(() => order.push('client')),
        );
        const driver = write(id, { type: 'stage', term: 1, reshard: 'r', stage: 'tracking', forget: 1 }).then(() =>
          order.push('driver'),
        );
        await Promise.all([client1, driver]);
        expect(order).toEqual(['driver', 'client']);
      });
    }

    test('scan leaves texts out when they are not asked for', async () => {
      const id = await opened();
      await write(id, put('a', [1, 0, 0, 0], { metadata: '{"n":1}', text: 'words' }));
      for (const filter of [null, parseFilter({ n: 1 })]) {
        expect(await scanned(id, { filter, texts: false })).toEqual([
          { externalId: 'a', stamp: 1000, metadata: '{"n":1}', text: null },
        ]);
        expect(await scanned(id, { filter })).toMatchObject([{ text: 'words' }]);
      }
    });

    test('fields tell which paths items have, how dates are written there, and the names that there are where one is missing', async () => {
      const id = await opened();
      const empty = { items: 0, present: [false], forms: [], names: [] };
      expect(await client.read(id, 'fields', { paths: ['a'], dates: [] }, IN_TIME())).toEqual(empty);
      const kinds = [
        { a: null, 'x.y': 1, o: { in: { er: [1] } } },
        { when: '2024-01-01' },
        { when: ['2024-01-01T00:00:00+02:00', 3], list: [{ z: 1 }], '\ud800': 1 },
      ];
      await write(
        id,
        ...kinds.map((metadata, i) => put(`i${i}`, [1, i, 0, 0], { metadata: JSON.stringify(metadata) })),
      );
      const paths = ['a', 'x.y', 'x', 'o', 'o.in.er', 'o.er', 'when', 'list.z', '\ud800'];
      const answer = await client.read(id, 'fields', { paths, dates: ['when', 'a', 'none'] }, IN_TIME());
      expect(answer).toMatchObject({ items: 3, present: [true, true, false, true, true, false, true, false, true] });
      expect(answer.forms.map((forms) => forms.toSorted())).toEqual([['+02:00', 'no time'], [], []]);
      expect(answer.names.toSorted()).toEqual(['a', 'list', 'o', 'o.in', 'o.in.er', 'when', 'x.y', '\ud800']);
      expect(await client.read(id, 'fields', { paths: ['a', 'when'], dates: [] }, IN_TIME())).toEqual({
        items: 3,
        present: [true, true],
        forms: [],
        names: [],
      });
      await write(id, remove('i0'));
      expect(await client.read(id, 'fields', { paths: ['a', 'o.in'], dates: [] }, IN_TIME())).toMatchObject({
        items: 2,
        present: [false, false],
      });
    });

    test('sample draws the least keys among the matches, and tells how many match', async () => {
      const id = await opened();
      await write(
        id,
        ...Array.from({ length: 300 }, (_, i) =>
          put(i % 7 === 0 ? `ünï-${i}\ud83d` : `item-${i}`, [1, i, 0, 0], {
            metadata: JSON.stringify({ odd: i % 2 === 1 }),
          }),
        ),
      );
      await write(id, ...Array.from({ length: 100 }, (_, i) => remove(`item-${i}`)), put('item-150', [0, 0, 1, 0]));
      const all = await scanned(id);
      for (const { size, odd } of [{ size: 1 }, { size: 40 }, { size: 1000 }, { size: 25, odd: true }]) {
        const matching = all.filter(
          ({ metadata }) => odd === undefined || (JSON.parse(metadata) as { odd?: boolean }).odd === odd,
        );
        const filter = odd === undefined ? null : parseFilter({ odd });
        const { population, externalIds, keys } = await client.read(id, 'sample', { size, seed: 3, filter }, IN_TIME());
        const drawn = externalIds.map((externalId, i) => ({ externalId, key: keys[i] }));
        expect(population).toBe(matching.length);
        const least = matching
          .map(({ externalId }) => ({ externalId, key: sampleKey(3, externalId) }))
          .sort((a, b) => a.key - b.key);
        expect(drawn.sort((a, b) => a.key - b.key)).toEqual(least.slice(0, drawn.length));
        expect(drawn.length).toBeGreaterThanOrEqual(Math.min(size, matching.length));
      }
    });

    test('a sample of an empty shard is empty', async () => {
      expect(await client.read(await opened(), 'sample', { size: 5, seed: 0, filter: null }, IN_TIME())).toEqual({
        population: 0,
        externalIds: [],
        keys: new Float64Array(0),
      });
    });

    test('fetch leaves texts out when they are not asked for', async () => {
      const id = await opened();
      await write(id, put('a', [1, 0, 0, 0], { text: 'words' }));
      expect(
        (await client.read(id, 'fetch', { externalIds: ['a'], vectors: false, texts: false }, IN_TIME()))[0]?.text,
      ).toBeNull();
    });

    test('status tells counts and the highest stamp, and count agrees', async () => {
      const id = await opened();
      expect(await client.read(id, 'status', null, IN_TIME())).toMatchObject({ vectorCount: 0, lastStamp: 0 });
      await write(id, put('a', [1, 0, 0, 0], { stamp: 50 }), put('b', [1, 0, 0, 0], { stamp: 40 }));
      await write(id, remove('a'));
      const status = await client.read(id, 'status', null, IN_TIME());
      expect(status).toMatchObject({ vectorCount: 1, lastStamp: 50 });
      expect(status.lastOperation).toBeGreaterThan(0);
      expect(status.segments.reduce((sum, segment) => sum + segment.rows - segment.deletedRows, 0)).toBe(1);
      expect(await client.read(id, 'count', null, IN_TIME())).toBe(1);
    });

    describe('shards', () => {
      test('opening twice does nothing the second time; shards and collections are separate', async () => {
        const first = await opened();
        const second = { ...first, shard: 1 };
        await Promise.all([client.make(first), client.make(second), client.make(second)]);
        await write(first, put('a', [1, 0, 0, 0]));
        await client.make(first);
        expect(await client.read(first, 'count', null, IN_TIME())).toBe(1);
        expect(await client.read(second, 'count', null, IN_TIME())).toBe(0);
        await client.drop(second);
        expect(await client.read(first, 'count', null, IN_TIME())).toBe(1);
      });

      test('a dropped shard is gone for good, and dropping it again does nothing', async () => {
        const id = await opened();
        await write(id, put('a', [1, 0, 0, 0]));
        await Promise.all([client.drop(id), client.drop(id)]);
        await client.drop(id);
        await expect(client.read(id, 'count', null, IN_TIME())).rejects.toMatchObject({ kind: 'not_found' });
        await client.make(id);
        expect(await scanned(id)).toEqual([]);
      });

      test('every call for a shard that does not exist fails not_found', async () => {
        const id = { collectionUid: 'nowhere', shard: 3 };
        const calls: (() => Promise<unknown>)[] = [
          () => write(id, put('a', [1, 0, 0, 0])),
          () => client.read(id, 'search', near([1, 0, 0, 0]), IN_TIME()),
          () => client.read(id, 'score', { vector: Float32Array.of(1, 0, 0, 0), externalIds: ['a'] }, IN_TIME()),
          () => client.read(id, 'keywordStatistics', { terms: ['a'] }, IN_TIME()),
          () =>
            client.read(
              id,
              'keywordSearch',
              {
                terms: ['a'],
                statistics: { documentCount: 1, totalLength: 1, documentFrequencies: [1] },
                k: 1,
                filter: null,
              },
              IN_TIME(),
            ),
          () => client.read(id, 'fetch', { externalIds: ['a'], vectors: false }, IN_TIME()),
          () => scanned(id),
          () => client.read(id, 'count', null, IN_TIME()),
          () => client.read(id, 'status', null, IN_TIME()),
        ];
        for (const call of calls) await expect(call()).rejects.toMatchObject({ kind: 'not_found' });
        await client.drop(id);
      });

      test('a call whose deadline has passed fails unavailable and does nothing', async () => {
        const id = await opened();
        const late = { deadlineMs: performance.now() - 1 };
        await expect(client.write(id, [put('a', [1, 0, 0, 0])], late)).rejects.toMatchObject({ kind: 'unavailable' });
        await expect(client.read(id, 'search', near([1, 0, 0, 0]), late)).rejects.toMatchObject({
          kind: 'unavailable',
        });
        await expect(client.read(id, 'count', null, late)).rejects.toMatchObject({ kind: 'unavailable' });
        expect(await client.read(id, 'count', null, IN_TIME())).toBe(0);
      });

      test('calls that run while their shard is dropped answer or fail not_found', async () => {
        const id = await opened();
        await write(
          id,
          ...Array.from({ length: 200 }, (_, i) => put(`v${i}`, [1, i, 0, 0], { stamp: i, text: `text ${i}` })),
        );
        const running = Array.from({ length: 10 }, (_, i) => [
          client.read(id, 'search', near([1, 0, 0, 0], { texts: true }), IN_TIME()),
          client.read(id, 'fetch', { externalIds: ['v1', 'v2'], vectors: true }, IN_TIME()),
          scanned(id, { vectors: true }),
          client.read(id, 'score', { vector: Float32Array.of(1, 0, 0, 0), externalIds: ['v1'] }, IN_TIME()),
          client.read(id, 'status', null, IN_TIME()),
          write(id, put(`late${i}`, [1, 0, 0, 0])),
        ]).flat();
        const outcomes = Promise.allSettled<unknown>(running);
        await client.drop(id);
        for (const outcome of await outcomes) {
          if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ kind: 'not_found' });
        }
        await expect(client.read(id, 'count', null, IN_TIME())).rejects.toMatchObject({ kind: 'not_found' });
      });

      test('opening and dropping one shard at the same time never fails, and leaves one or the other', async () => {
        const spec = await opened();
        await Promise.all([client.drop(spec), client.make(spec), client.drop(spec), client.make(spec)]);
        await client.drop(spec);
        await expect(client.read(spec, 'count', null, IN_TIME())).rejects.toMatchObject({ kind: 'not_found' });
        await client.make(spec);
        expect(await client.read(spec, 'count', null, IN_TIME())).toBe(0);
      });
    });
  });
}
