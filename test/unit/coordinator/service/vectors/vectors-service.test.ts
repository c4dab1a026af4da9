import type { Once } from '../../../../../coordinator/service/idempotency/write-dedup';
import { ONLY_DRIVER } from '../../../../../coordinator/jobs/driving/owned-entry';
import type { Filter } from '../../../../../shared/contract/filter/filter';
import { parseFilter } from '../../../../../shared/contract/filter/parse-filter';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { NO_VERSION, ANY_VERSION } from '../../../../../shared/contract/shard/shard-client';
import { eventually } from '../../../../support/eventually';
import {
  item,
  markingModel,
  newCollection,
  PlainEmbedding,
  plainService,
  textItem,
} from '../../../../support/shards/plain-service';
import type { Service, VectorView } from '../../../../../coordinator/service/service';
import { fetched, scrolledPage } from '../../../../support/http/whole-pages';

/** coordinator/service/vectors/sharded-vectors-service.ts over shards by brute force. */

async function setUp(given: { shards?: number; dim?: number; embedding?: PlainEmbedding } = {}) {
  const parts = await plainService({ embedding: given.embedding });
  await parts.service.collections.create(newCollection('c', { shards: given.shards ?? 3, dim: given.dim }));
  return { ...parts, vectors: parts.service.vectors };
}

const ids = (views: VectorView[]): string[] => views.map(({ externalId }) => externalId);
const numbered = (count: number) =>
  Array.from({ length: count }, (_, i) => item(`item-${i}`, [1, i], { metadata: { even: i % 2 === 0 } }));

async function exported(service: Service, limit: number): Promise<VectorView[]> {
  const all: VectorView[] = [];
  for await (const page of (await service.vectors.export('c', limit)).pages) all.push(...page);
  return all;
}

describe('upsert', () => {
  test('answers in the order of the items, an id given twice in order', async () => {
    const { vectors } = await setUp();
    const { statuses } = await vectors.upsert('c', [item('a', [1, 0]), item('b', [0, 1]), item('a', [2, 0])]);
    expect(statuses).toEqual(['inserted', 'inserted', 'updated']);
    const [a] = await fetched(vectors.fetch('c', ['a'], { vectors: true }));
    expect([...(a.vector as Float32Array)]).toEqual([2, 0]);
    expect((await vectors.upsert('c', [])).statuses).toEqual([]);
  });

  test('keeps metadata and text that are left out, and stores a text that comes with a vector', async () => {
    const { vectors } = await setUp();
    await vectors.upsert('c', [
      { ...item('a', [1, 0], { metadata: { n: 1 } }), source: { vector: Float32Array.of(1, 0), text: 'hello' } },
    ]);
    await vectors.upsert('c', [item('a', [0, 1])]);
    expect(await fetched(vectors.fetch('c', ['a'], { vectors: false }))).toEqual([
      { externalId: 'a', metadata: '{"n":1}', text: 'hello', version: expect.any(Number) },
    ]);
    await vectors.upsert('c', [item('a', [0, 1], { metadata: {}, text: '' })]);
    expect(await fetched(vectors.fetch('c', ['a'], { vectors: false }))).toEqual([
      { externalId: 'a', metadata: '{}', text: '', version: expect.any(Number) },
    ]);
  });

  test('refuses the whole batch for one vector of another dimension, before anything is embedded or written', async () => {
    const { vectors, embedding, shards } = await setUp();
    let writes = 0;
    shards.intercept = (call) => void (call === 'write' && (writes += 1));
    const batch = [item('a', [1, 0]), textItem('t', 'text'), item('b "quoted"', [1, 2, 3])];
    await expect(vectors.upsert('c', batch)).rejects.toMatchObject({
      kind: 'dimension_mismatch',
      code: 400,
      message:
        'dimension mismatch: the vector of items[2] (external_id "b \\"quoted\\"") has dimension 3, but collection "c" has dimension 2',
    });
    expect([writes, embedding.calls.length]).toEqual([0, 0]);
  });

  test('embeds nothing for a write of texts that was done before under its Idempotency-Key', async () => {
    const { vectors, embedding } = await setUp({ embedding: new PlainEmbedding([markingModel('m', null, 7)]) });
    let repetitions = 0;
    const onceOf = (token: string): Once => ({
      token: token.repeat(32),
      digest: 'd'.repeat(32),
      sealingKey: 'e'.repeat(64),
      repeated: () => void (repetitions += 1),
    });
    const batch = ['a', 'b', 'c', 'd', 'a'].map((id) => textItem(id, `text of ${id}`));
    const { timing: _then, ...first } = await vectors.upsert('c', batch, { once: onceOf('1') });
    await vectors.upsert('c', [item('b', [9, 9])]);
    const patch = { externalId: 'c', vector: undefined, text: 'another', embeds: true, metadata: undefined };
    const patched = await vectors.patch('c', patch, { once: onceOf('2') });
    expect([embedding.calls.length, repetitions]).toEqual([2, 0]);
    const { timing: now, ...again } = await vectors.upsert('c', batch, { once: onceOf('1') });
    expect([again, now.embeddingMs]).toEqual([first, 0]);
    expect(await vectors.patch('c', patch, { once: onceOf('2') })).toEqual(patched);
    expect([embedding.calls.length, repetitions]).toEqual([2, 2]);
    const [b] = await fetched(vectors.fetch('c', ['b'], { vectors: true }));
    expect([...(b.vector as Float32Array)]).toEqual([9, 9]);
    // A refusal is known as well, and another request under the same key.
    const bound = [
      { ...textItem('new', 'one'), expected: NO_VERSION },
      { ...textItem('d', 'two'), expected: NO_VERSION },
    ];
    const refused = vectors.upsert('c', bound, { once: onceOf('3') });
    await expect(refused).rejects.toMatchObject({ kind: 'conflict' });
    const calls = embedding.calls.length;
    await expect(vectors.upsert('c', bound, { once: onceOf('3') })).rejects.toMatchObject({
      kind: 'conflict',
      message: (await refused.catch((error: Error) => error.message)) as string,
    });
    await expect(
      vectors.upsert('c', batch, { once: { ...onceOf('1'), digest: 'f'.repeat(32) } }),
    ).rejects.toMatchObject({ kind: 'key_reused' });
    expect([embedding.calls.length, repetitions]).toEqual([calls, 3]);
  });

  test('embeds all texts of a batch in one call, and none that a vector wins over', async () => {
    const { vectors, embedding } = await setUp({ embedding: new PlainEmbedding([markingModel('m', null, 7)]) });
    await vectors.upsert('c', [
      textItem('t1', 'one'),
      { ...item('v', [1, 2]), source: { vector: Float32Array.of(1, 2), text: 'given' } },
      textItem('t2', 'two'),
    ]);
    expect(embedding.calls).toEqual([{ model: 'm', kind: 'passage', texts: ['one', 'two'] }]);
    const stored = await fetched(vectors.fetch('c', ['t1', 'v', 't2'], { vectors: true }));
    expect(stored.map(({ vector, text }) => [...(vector as Float32Array), text])).toEqual([
      [7, 7, 'one'],
      [1, 2, 'given'],
      [7, 7, 'two'],
    ]);
  });

  test('refuses text where the model has another dimension, and names both and the model', async () => {
    const { vectors } = await setUp({ dim: 3, embedding: new PlainEmbedding([markingModel('mini', 384, 1)]) });
    await expect(vectors.upsert('c', [item('v', [1, 2, 3]), textItem('a', 'text')])).rejects.toMatchObject({
      kind: 'dimension_mismatch',
      message:
        'dimension mismatch: collection "c" has dimension 3, but the embedding model mini makes vectors of dimension 384; give vectors, or make a collection with dim 384 for texts',
    });
    expect(await fetched(vectors.fetch('c', ['v'], { vectors: false }))).toEqual([]);
  });

  test('tells how long it took', async () => {
    const { vectors } = await setUp();
    const { timing } = await vectors.upsert('c', [textItem('a', 'text')]);
    expect(timing.embeddingMs).toBeGreaterThanOrEqual(0);
    expect(timing.storageMs).toBeGreaterThan(0);
    expect(timing.totalMs).toBeCloseTo(timing.embeddingMs + timing.storageMs, 6);
  });

  test('names the shard that failed, and says that the write may have been applied in part', async () => {
    const { vectors, shards } = await setUp();
    shards.intercept = (call, id) => {
      if (call === 'write' && id.shard === 1) throw new QuiverError('unavailable', 'down');
    };
    await expect(vectors.upsert('c', numbered(30))).rejects.toMatchObject({
      kind: 'commit_unknown',
      message:
        'shard 1 of 3 of collection "c" is unavailable; the write may have been applied in part, and the call may be retried',
    });
    shards.intercept = undefined;
    const { statuses } = await vectors.upsert('c', numbered(30));
    expect(new Set(statuses)).toEqual(new Set(['inserted', 'updated']));
    expect(ids(await exported({ vectors } as Service, 100))).toHaveLength(30);
  });
});

describe('conditions over several shards', () => {
  test('nothing is written anywhere while one item is not as expected', async () => {
    const { vectors, shards } = await setUp();
    await vectors.upsert('c', numbered(5));
    const [{ version }] = await fetched(vectors.fetch('c', ['item-3'], { vectors: false }));
    let writes = 0;
    shards.intercept = (call) => void (call === 'write' && (writes += 1));
    const batch = numbered(20).map((one, i) => ({ ...one, expected: i < 3 || i === 4 ? ANY_VERSION : NO_VERSION }));
    await expect(vectors.upsert('c', batch)).rejects.toMatchObject({
      kind: 'conflict',
      shown: { conflicts: [{ external_id: 'item-3', version }] },
    });
    expect(writes).toBe(0);
    const { statuses, versions } = await vectors.upsert('c', batch, { skips: true });
    expect(statuses.filter((status) => status === 'conflict')).toEqual(['conflict']);
    expect(versions[3]).toBe(version);
  });

  test('a change that comes in between is told, with what was written', async () => {
    const { vectors, shards } = await setUp();
    await vectors.upsert('c', numbered(5));
    const batch = numbered(10).map((one, i) => ({ ...one, expected: i < 5 ? ANY_VERSION : NO_VERSION }));
    let isFirst = true;
    shards.intercept = async (call) => {
      if (call !== 'write' || !isFirst) return;
      isFirst = false;
      await vectors.delete('c', ['item-0']);
    };
    const error = await vectors.upsert('c', batch).catch((failure: unknown) => failure);
    expect(error).toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('external_id "item-0" does not exist; another change came between'),
    });
    const { written } = (error as QuiverError).shown as { written: string[] };
    shards.intercept = undefined;
    expect(
      (
        await fetched(
          vectors.fetch(
            'c',
            ids(
              (await scrolledPage(vectors.scroll('c', { cursor: null, limit: 100, filter: null, vectors: false })))
                .vectors,
            ),
            { vectors: false },
          ),
        )
      ).map(({ externalId }) => externalId),
    ).toEqual(expect.arrayContaining(written));
    expect(written.length).toBeGreaterThan(0);
  });

  test('an id that comes twice is judged as the first one leaves it', async () => {
    const { vectors } = await setUp();
    const twice = [
      { ...item('a', [1, 0]), expected: NO_VERSION },
      { ...item('a', [2, 0]), expected: ANY_VERSION },
      item('b', [1, 1]),
    ];
    expect((await vectors.upsert('c', twice)).statuses).toEqual(['inserted', 'updated', 'inserted']);
    await expect(
      vectors.upsert('c', [item('d', [1, 1]), { ...item('d', [1, 1]), expected: NO_VERSION }, item('e', [1, 1])]),
    ).rejects.toMatchObject({ kind: 'conflict' });
  });
});

describe('delete', () => {
  test('tells what was there and what was not, each id once, in the order given', async () => {
    const { vectors } = await setUp();
    await vectors.upsert('c', numbered(5));
    expect(await vectors.delete('c', ['item-4', 'nope', 'item-0', 'item-4', 'nope', 'item-2'])).toEqual({
      deleted: ['item-4', 'item-0', 'item-2'],
      notFound: ['nope'],
    });
    expect(await vectors.delete('c', ['item-4'])).toEqual({ deleted: [], notFound: ['item-4'] });
    expect(await vectors.delete('c', [])).toEqual({ deleted: [], notFound: [] });
  });
});

describe('delete by filter', () => {
  const even = parseFilter({ even: true })!;
  const rest = async (service: Service) => ids(await exported(service, 10_000));

  test('deletes every match, however many pages of a shard they fill, and counts them', async () => {
    const { vectors, service } = await setUp({ shards: 2 });
    await vectors.upsert('c', numbered(5000));
    expect(await vectors.deleteByFilter('c', even)).toEqual({ deletedCount: 2500 });
    expect(await rest(service)).toEqual(
      ids(await exported(service, 10_000)).filter((id) => Number(id.slice(5)) % 2 === 1),
    );
    expect((await rest(service)).length).toBe(2500);
    expect(await vectors.deleteByFilter('c', even)).toEqual({ deletedCount: 0 });
  });

  test('spares what stopped matching before its turn', async () => {
    const { vectors, service, shards } = await setUp({ shards: 1 });
    await vectors.upsert('c', numbered(4));
    let isOvertaken = false;
    shards.intercept = async (call) => {
      if (call !== 'write' || isOvertaken) return;
      isOvertaken = true;
      await vectors.upsert('c', [item('item-2', [1, 1], { metadata: { even: 'no more' } })]);
    };
    expect(await vectors.deleteByFilter('c', even)).toEqual({ deletedCount: 1 });
    expect(await rest(service)).toEqual(['item-1', 'item-2', 'item-3']);
  });

  test('deletes nothing when a shard cannot be read', async () => {
    const { vectors, service, shards } = await setUp();
    await vectors.upsert('c', numbered(60));
    shards.intercept = (call, { shard }) => {
      if (call === 'scan' && shard === 2) throw new QuiverError('unavailable', 'gone');
    };
    await expect(vectors.deleteByFilter('c', even)).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('shard 2 of 3'),
    });
    shards.intercept = undefined;
    expect(await rest(service)).toHaveLength(60);
  });

  test('says what was deleted when a shard fails half-way, and goes on from there when repeated', async () => {
    const { vectors, service, shards } = await setUp();
    await vectors.upsert('c', numbered(60));
    shards.intercept = (call, { shard }) => {
      if (call === 'write' && shard === 2) throw new QuiverError('unavailable', 'gone');
    };
    const error = await vectors.deleteByFilter('c', even).catch((caught: QuiverError) => caught as QuiverError);
    shards.intercept = undefined;
    const left = (await rest(service)).length;
    expect(left).toBeGreaterThan(30);
    expect(left).toBeLessThan(60);
    expect(error).toMatchObject({
      kind: 'commit_unknown',
      code: 500,
      message: expect.stringMatching(
        new RegExp(`^${60 - left} vectors were deleted, then: shard 2 of 3.*repeat the call`),
      ),
    });
    expect(await vectors.deleteByFilter('c', even)).toEqual({ deletedCount: left - 30 });
    expect(await rest(service)).toHaveLength(30);
  });

  test('names a collection that is not there', async () => {
    const { vectors } = await setUp();
    await expect(vectors.deleteByFilter('none', even)).rejects.toMatchObject({
      kind: 'not_found',
      message: expect.stringContaining('none'),
    });
  });
});

describe('fetch', () => {
  test('answers in the order asked and leaves out what is missing', async () => {
    const { vectors } = await setUp();
    await vectors.upsert('c', numbered(10));
    expect(ids(await fetched(vectors.fetch('c', ['item-7', 'nope', 'item-1', 'item-9'], { vectors: false })))).toEqual([
      'item-7',
      'item-1',
      'item-9',
    ]);
    const [withVector] = await fetched(vectors.fetch('c', ['item-3'], { vectors: true }));
    expect(withVector.vector).toEqual(Float32Array.of(1, 3));
    expect(await fetched(vectors.fetch('c', ['item-3'], { vectors: false }))).toEqual([
      { externalId: 'item-3', metadata: '{"even":false}', text: null, version: expect.any(Number) },
    ]);
  });
});

describe('scroll', () => {
  async function scrolled(
    service: Service,
    limit: number,
    given: { filters?: object; between?: () => Promise<unknown> } = {},
  ): Promise<string[][]> {
    const pages: string[][] = [];
    let cursor: string | null = null;
    do {
      const page: { vectors: VectorView[]; nextCursor: string | null } = await scrolledPage(
        service.vectors.scroll('c', {
          cursor,
          limit,
          filter: parseFilter(given.filters),
          vectors: false,
        }),
      );
      pages.push(ids(page.vectors));
      cursor = page.nextCursor;
      await given.between?.();
    } while (cursor !== null);
    return pages;
  }

  test('pages through everything in insertion order and says null at the end', async () => {
    const { service, vectors } = await setUp();
    expect(await scrolled(service, 4)).toEqual([[]]);
    await vectors.upsert('c', numbered(10));
    await vectors.upsert('c', [item('item-2', [5, 5])]);
    expect(await scrolled(service, 4)).toEqual([
      ['item-0', 'item-1', 'item-2', 'item-3'],
      ['item-4', 'item-5', 'item-6', 'item-7'],
      ['item-8', 'item-9'],
    ]);
    expect(await scrolled(service, 5)).toHaveLength(2);
    expect(await scrolled(service, 2, { filters: { even: true } })).toEqual([
      ['item-0', 'item-2'],
      ['item-4', 'item-6'],
      ['item-8'],
    ]);
  });

  test('goes on where it was while the collection changes, its last item included', async () => {
    const { service, vectors } = await setUp();
    await vectors.upsert('c', numbered(40));
    let round = 0;
    const between = async (): Promise<void> => {
      round += 1;
      await vectors.delete('c', [`item-${round * 5 - 1}`, `item-${round * 5 + 2}`]);
      if (round <= 3) await vectors.upsert('c', [item(`new-${round}`, [1, 1])]);
    };
    const seen = (await scrolled(service, 5, { between })).flat();
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.slice(-3)).toEqual(['new-1', 'new-2', 'new-3']);
    // Every item that was never deleted is there, in its order.
    const kept = numbered(40).map(({ externalId }) => externalId);
    const { deleted } = await vectors.delete('c', kept);
    expect(seen.filter((id) => deleted.includes(id))).toEqual(deleted);
  });

  test('refuses a cursor that is broken, of another collection, or of one deleted under this name', async () => {
    const { service, vectors } = await setUp();
    await vectors.upsert('c', numbered(5));
    const { nextCursor } = await scrolledPage(
      vectors.scroll('c', { cursor: null, limit: 2, filter: null, vectors: false }),
    );
    const cursor = nextCursor as string;
    const encoded = (json: unknown): string => Buffer.from(JSON.stringify(json)).toString('base64url');
    const [, uid] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as [number, string];
    const broken = [
      '',
      ' ',
      'x',
      cursor.slice(1),
      `${cursor}=`,
      cursor.slice(0, -2),
      encoded(null),
      encoded({}),
      encoded([1]),
      encoded([2, uid, 1, 'a']),
    ];
    broken.push(
      encoded([1, uid, 1.5, 'a']),
      encoded([1, uid, 1, 2]),
      encoded([1, uid, 1, 'a', 0]),
      encoded([1, 'else', 1, 'a']),
      'A'.repeat(10_000),
      '漢',
    );
    for (const one of broken) {
      const refusal = scrolledPage(vectors.scroll('c', { cursor: one, limit: 2, filter: null, vectors: false }));
      await expect(refusal).rejects.toMatchObject({
        kind: 'invalid_parameter',
        message: expect.stringContaining('cursor'),
      });
    }
    await service.collections.delete('c');
    await service.collections.create(newCollection('c'));
    await expect(
      scrolledPage(vectors.scroll('c', { cursor, limit: 2, filter: null, vectors: false })),
    ).rejects.toMatchObject({ kind: 'invalid_parameter' });
  });

  test('cursors carry any id', async () => {
    const { service, vectors } = await setUp();
    const odd = ['漢字/..', '🙂'.repeat(256), '"\\', '%2F', ' '];
    await vectors.upsert(
      'c',
      odd.map((id) => item(id, [1, 0])),
    );
    expect((await scrolled(service, 1)).flat()).toEqual(odd);
  });
});

describe('export', () => {
  test('gives the first `limit` in insertion order, vectors and metadata with them', async () => {
    const { service, vectors } = await setUp();
    await vectors.upsert('c', numbered(2500));
    const all = await exported(service, 100_000);
    expect(ids(all)).toEqual(numbered(2500).map(({ externalId }) => externalId));
    expect(all[7]).toEqual({
      externalId: 'item-7',
      vector: Float32Array.of(1, 7),
      metadata: '{"even":false}',
      text: null,
      version: expect.any(Number),
    });
    expect(ids(await exported(service, 7))).toEqual(ids(all).slice(0, 7));
    expect((await service.vectors.export('c', 1)).collection.dim).toBe(2);
  });

  test('never gives more than `limit`, nor one twice, while items come and go', async () => {
    const { vectors } = await setUp();
    await vectors.upsert('c', numbered(1500));
    const { pages } = await vectors.export('c', 1400);
    const seen: string[] = [];
    for await (const page of pages) {
      seen.push(...ids(page));
      await vectors.delete('c', ['item-1200', 'item-1201']);
      await vectors.upsert('c', [item(`new-${seen.length}`, [0, 0])]);
    }
    expect(seen.length).toBe(1400);
    expect(new Set(seen).size).toBe(1400);
  });

  test('is of one model: its head and first page of the same, and it ends at a switch', async () => {
    const embedding = new PlainEmbedding([markingModel('old', 2, 1), markingModel('new', 3, 2)]);
    const { service, vectors, shards } = await setUp({ embedding, dim: 2 });
    for (let from = 0; from < 1500; from += 500)
      await vectors.upsert(
        'c',
        Array.from({ length: 500 }, (_, i) => textItem(`t${from + i}`, `text ${from + i}`)),
      );
    const resharder = await service.driveReshards(ONLY_DRIVER, 0);
    const reembedded = (model: string): Promise<unknown> =>
      service.collections.reembed('c', {
        embedding: { model: `local:${model}` },
        onNoText: 'fail',
        compare: { sample: 1 },
        switch: 'auto',
        keepHours: 0,
      });
    const isOfDim = (dim: number): Promise<void> =>
      eventually(`it has vectors of ${dim}`, async () => (await service.collections.get('c')).dim === dim);
    // It switches between the look at the collection and the first page.
    let looked: (() => Promise<void>) | null = async () => {
      looked = null;
      await reembedded('new');
      await isOfDim(3);
    };
    shards.intercept = async (call) => {
      if (call === 'scan' && looked !== null) await looked();
    };
    const { collection, pages } = await vectors.export('c', 10_000);
    expect(collection.dim).toBe(3);
    for await (const page of pages) for (const { vector } of page) expect(vector).toHaveLength(3);
    const second = await vectors.export('c', 10_000);
    await reembedded('old');
    await isOfDim(2);
    const read = async (): Promise<void> => {
      for await (const page of second.pages) for (const { vector } of page) expect(vector).toHaveLength(3);
    };
    await expect(read()).rejects.toMatchObject({ kind: 'remodelled' });
    await resharder.close();
  });

  test('fails while it is read when a shard is lost, instead of ending early', async () => {
    const { shards, vectors } = await setUp();
    await vectors.upsert('c', numbered(3000));
    const { pages } = await vectors.export('c', 3000);
    const read = async (): Promise<void> => {
      for await (const _page of pages) shards.intercept = () => Promise.reject(new QuiverError('unavailable', 'down'));
    };
    await expect(read()).rejects.toMatchObject({ kind: 'unavailable' });
  });
});

describe('update by filter', () => {
  const even = parseFilter({ even: true }) as Filter;
  const marked = { metadata: { json: '{"seen":true}', replaces: false, bytesMax: 1000, fieldsMax: 10 } };

  test('changes each match once, though it still matches, in pages', async () => {
    const { vectors } = await setUp();
    await vectors.upsert('c', numbered(5000));
    const before = await fetched(vectors.fetch('c', ['item-8', 'item-9'], { vectors: true }));
    expect(await vectors.updateByFilter('c', even, marked)).toEqual({ updatedCount: 2500 });
    const [changed, other] = await fetched(vectors.fetch('c', ['item-8', 'item-9'], { vectors: true }));
    expect(changed).toEqual({ ...before[0], metadata: '{"even":true,"seen":true}', version: changed.version });
    expect(other).toEqual(before[1]);
  });

  test('goes on with the shards that take the place of others, and passes over what it has changed', async () => {
    const { vectors, shards, service } = await setUp({ shards: 1 });
    await vectors.upsert('c', numbered(5000));
    const resharder = await service.driveReshards(ONLY_DRIVER, 60_000);
    let writes = 0;
    shards.intercept = async (call) => {
      if (call !== 'write' || ++writes !== 2) return;
      // Between the first page and the second.
      shards.intercept = undefined;
      await service.collections.reshard('c', 3);
      await eventually('it has its new shards', async () => (await service.collections.get('c')).shards === 3);
    };
    try {
      expect(await vectors.updateByFilter('c', even, marked)).toEqual({ updatedCount: 2500 });
      expect(
        (
          await scrolledPage(
            vectors.scroll('c', { cursor: null, limit: 5000, filter: parseFilter({ seen: true }), vectors: false }),
          )
        ).vectors,
      ).toHaveLength(2500);
    } finally {
      await resharder.close();
    }
  });

  test('says how many it changed when a shard fails half-way', async () => {
    const { vectors, shards } = await setUp();
    await vectors.upsert('c', numbered(3000));
    let writes = 0;
    shards.intercept = (call) => {
      if (call === 'write' && ++writes > 1) throw new QuiverError('unavailable', 'down');
    };
    const error = (await vectors.updateByFilter('c', even, marked).catch((caught: unknown) => caught)) as QuiverError;
    shards.intercept = undefined;
    const [count] = /^\d+/.exec(error.message)!;
    expect(error).toMatchObject({
      kind: 'commit_unknown',
      message: expect.stringContaining('vectors were updated, then: '),
    });
    expect(
      (
        await scrolledPage(
          vectors.scroll('c', { cursor: null, limit: 5000, filter: parseFilter({ seen: true }), vectors: false }),
        )
      ).vectors,
    ).toHaveLength(Number(count));
  });
});
