import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  BadRequestError,
  ConflictError,
  ForbiddenError,
  type Item,
  NotFoundError,
  QuiverClient,
  type StoredVector,
  UnauthorizedError,
  ValidationError,
  VersionConflictError,
} from '../../clients/typescript/src/index';
import type { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';
import { seededRandom } from '../support/values/random';

const DIM = 8;

/** A service of one of its forms, opened for the tests. */
export interface OpenedForm {
  client: QuiverClient;
  /** null: it is in this process. */
  server: EmbeddedProcess | null;
  close: () => Promise<void>;
}

/** Items whose vectors and metadata follow from their number. */
function* numbered(count: number, ids = count): Generator<Item> {
  const random = seededRandom(1);
  for (let n = 0; n < count; n++)
    yield {
      external_id: `i${n % ids}`,
      vector: Float32Array.from({ length: DIM }, () => random() - 0.5),
      metadata: { n, parity: n % 2 },
    };
}

/** Each id with what was written to it last. */
function lastOf(items: Iterable<Item>) {
  return new Map([...items].map(({ external_id, vector, metadata }) => [external_id, { vector, metadata }]));
}

async function collected(items: AsyncIterable<Pick<StoredVector, 'external_id' | 'vector' | 'metadata'>>) {
  const found = new Map<string, { vector: unknown; metadata: unknown }>();
  for await (const { external_id, vector, metadata } of items) found.set(external_id, { vector, metadata });
  return found;
}

/** What a call throws. */
async function refusal(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => expect(null).toBe('an error'),
    (error: unknown) => error,
  );
}

/** What the client does with a service, method by method, whatever its form. `open` gets settings by their names. */
export function clientSuite(
  open: (settings: Record<string, string>) => Promise<OpenedForm>,
  { isServed }: { isServed: boolean },
): void {
  let form: OpenedForm;
  let client: QuiverClient;
  let server: EmbeddedProcess | null;
  const backups = mkdtempSync(join(tmpdir(), 'quiver-client-backups-'));

  beforeAll(async () => {
    form = await open({ BACKUP_TARGET: `file:${backups}` });
    ({ client, server } = form);
  });
  afterAll(async () => {
    await form.close();
    rmSync(backups, { recursive: true, force: true });
  });

  test('a collection has a life', async () => {
    const created = await client.createCollection({
      name: 'life',
      dim: DIM,
      distance_metric: 'l2',
      description: 'short',
    });
    expect(created).toMatchObject({ name: 'life', dim: DIM, vector_count: 0 });
    await expect(client.createCollection({ name: 'life', dim: DIM })).rejects.toBeInstanceOf(ConflictError);
    const life = client.collection('life');
    expect(await life.info()).toEqual(created);
    expect(await life.update({ description: null })).toEqual({ ...created, description: null });
    const { job_id: reindex } = await life.update({ keyword_fields: [{ path: 'title', analyser: 'de' }] });
    expect(await client.jobs.wait(reindex!)).toMatchObject({ kind: 'reindex', state: 'done' });
    expect((await life.info()).keyword_fields).toEqual([{ path: 'title', weight: 1, analyser: 'de' }]);
    const { terms } = await life.analyse({ text: 'Häuser', field: 'title' });
    expect(terms).toMatchObject([{ term: 'haus' }]);
    expect((await client.listCollections()).map(({ name }) => name)).toContain('life');
    expect(await life.optimize()).toMatchObject({ name: 'life', index: { rows: 0 } });
    expect(await life.stats()).toMatchObject({ name: 'life', vector_count: 0 });
    const actions = [{ create: { alias: 'living', collection: 'life' } }];
    const [alias] = await client.changeAliases(actions);
    expect(alias).toMatchObject({ alias: 'living', collection: 'life', switched_at: null });
    expect(await client.listAliases()).toEqual([alias]);
    expect((await client.collection('living').info()).name).toBe('life');
    await expect(life.drop()).rejects.toBeInstanceOf(ConflictError);
    expect(await life.drop({ force: true })).toEqual({ deleted: 'life', name: 'life', status: 'deleted' });
    await expect(life.info()).rejects.toMatchObject({
      name: 'NotFoundError',
      code: 404,
      message: expect.stringContaining('life'),
      requestId: expect.stringMatching(/\w{8}-/),
    });
  });

  describe('items', () => {
    const COUNT = 3000;
    const IDS = 2500;

    beforeAll(async () => {
      await client.createCollection({ name: 'items', dim: DIM });
      const seen: number[] = [];
      const progress = await client
        .collection('items')
        .upsertMany(numbered(COUNT, IDS), { batchItems: 300, onProgress: ({ items }) => seen.push(items) });
      expect(progress).toMatchObject({ items: COUNT, batches: 10, rejected: 0 });
      expect(seen).toHaveLength(10);
    });

    test('come back as they were written, by scroll and by export', async () => {
      const items = client.collection('items');
      const written = lastOf(numbered(COUNT, IDS));
      expect(await collected(items.scroll())).toEqual(written);
      expect(await collected(items.export())).toEqual(written);
      expect(await collected(items.export({ limit: 3 }))).toMatchObject({ size: 3 });
      const odd = await collected(items.scroll({ filters: { parity: 1 }, limit: 100, include_vectors: false }));
      expect(odd).toEqual(
        new Map(
          [...written].flatMap(([id, { metadata }]) => (metadata?.parity === 1 ? [[id, { metadata }] as const] : [])),
        ),
      );
    });

    (isServed ? test : test.skip)('a service that answers numbers gives the same vectors', async () => {
      const { baseUrl, apiKey } = server!;
      const older = new QuiverClient({
        url: baseUrl,
        apiKey,
        fetch: async (input, init) =>
          fetch((input as string).replace('vector_format=base64', ''), {
            ...init,
            ...(typeof init?.body === 'string' ? { body: init.body.replace('"vector_format":"base64",', '') } : {}),
          }),
      });
      const [now, then] = [client, older].map((each) => each.collection('items'));
      expect(await then.get('i7')).toEqual(await now.get('i7'));
      expect(await then.fetch(['i7', 'none', 'i8'])).toEqual(await now.fetch(['i7', 'i8']));
      expect((await then.scrollPage({ limit: 5 })).vectors).toEqual((await now.scrollPage({ limit: 5 })).vectors);
      expect(await collected(then.export({ limit: 5 }))).toEqual(await collected(now.export({ limit: 5 })));
    });

    test('a consumer that had enough of an export leaves', async () => {
      // Batches are written several at a time: which of them came first is the service's to say.
      const [oldest] = (await client.collection('items').scrollPage({ limit: 1 })).vectors;
      const taken: string[] = [];
      for await (const { external_id } of client.collection('items').export()) {
        taken.push(external_id);
        break;
      }
      expect(taken).toEqual([oldest.external_id]);
      await expect(client.collection('nowhere').export().next()).rejects.toBeInstanceOf(NotFoundError);
    });

    test('are found by each kind of search', async () => {
      const items = client.collection('items');
      const { vector } = await items.get('i42');
      const first = (results: { external_id: string }[]) => results[0].external_id;
      const found = await items.search({ vector, k: 3, filters: { parity: 0 }, include_timing: true });
      expect(found).toMatchObject({ k: 3, offset: 0, total_count: IDS, timing_ms: { embedding_ms: 0 } });
      expect(first(found.results)).toBe('i42');
      const queries = Array.from({ length: 45 }, (_, i) => ({
        vector: i === 44 ? vector : new Float32Array(DIM).fill(1),
        k: 1,
      }));
      const lists = await items.bulkSearch(queries);
      const profiled = await items.bulkSearch(queries, { profile: true });
      expect(profiled.results.map((hits) => hits.map(({ external_id }) => external_id))).toEqual(
        lists.map((hits) => hits.map(({ external_id }) => external_id)),
      );
      expect(profiled.profiles.map(({ shards }) => shards.length > 0)).toEqual(profiled.profiles.map(() => true));
      expect(profiled.profiles).toHaveLength(Math.ceil(queries.length / 20));
      expect(lists).toHaveLength(45);
      expect(first(lists[44])).toBe('i42');
      expect(first((await items.hybridSearch({ query_text: 'x', vector: [...vector], alpha: 1, k: 1 })).results)).toBe(
        'i42',
      );
      expect(
        (await items.rerank({ vector, candidates: ['i1', 'i42', 'none'] })).results.map(
          ({ external_id }) => external_id,
        ),
      ).toEqual(['i42', 'i1']);
      expect(await items.recommend('i42', { k: 2 })).toMatchObject({ source_id: 'i42', k: 2, results: [{}, {}] });
      expect((await items.similarity('i42', 'i42')).similarity).toBeCloseTo(1, 5);
      expect(await items.analyse({ text: 'a ﬁne', as: 'query' })).toMatchObject({
        terms: [{ term: 'a' }, { term: 'fine', start: 2, end: 5 }],
      });
      expect(await items.recallCheck({ queries: [vector, [...vector]], k: 5 })).toMatchObject({
        queries: 2,
        recall: 1,
      });
      expect(await items.fetch(Array.from({ length: 250 }, (_, i) => `i${i}`))).toHaveLength(250);
    });

    test('come one after the other by searchAll, but for those that change meanwhile', async () => {
      await client.createCollection({ name: 'pages', dim: 2 });
      const pages = client.collection('pages');
      const idOf = (n: number): string => `p${String(n).padStart(2, '0')}`;
      const item = (n: number): Item => ({ external_id: idOf(n), vector: [1, n], metadata: { n } });
      const all = Array.from({ length: 40 }, (_, n) => item(n));
      await pages.upsertMany(all);
      const found: string[] = [];
      for await (const { external_id: id, metadata } of pages.searchAll({
        vector: [1, 0],
        k: 7,
        filters: { n: { $lt: 35 } },
      })) {
        expect(metadata).toEqual({ n: found.length < 20 ? found.length : found.length + 2 });
        found.push(id);
        if (found.length !== 10) continue;
        await pages.delete(idOf(20));
        await pages.upsert({ ...item(21), metadata: { n: 0 } });
        await pages.upsert({ ...item(5), external_id: 'new' });
      }
      expect(found).toEqual(all.map(({ external_id: id }) => id).filter((_, n) => n < 35 && n !== 20 && n !== 21));
      const refused = pages.searchAll({ vector: [1, 0], k: 7, filters: { $updated: { $lt: 'now-1d' } } });
      await expect(refused.next()).rejects.toThrow('dates from now');
    });

    test('searches are compared by judged queries', async () => {
      const items = client.collection('items');
      await items.upsert({ external_id: 'judged', text: 'an apple' });
      await items.putJudgements('fruit', [{ query: 'apple', relevant: { judged: 1 } }]);
      expect(await items.listJudgements()).toMatchObject([{ name: 'fruit', queries: 1 }]);
      expect((await items.getJudgements('fruit')).judged).toEqual([{ query: 'apple', relevant: { judged: 1 } }]);
      const { id } = await items.evaluate({ name: 'fruit', variants: [{ mode: 'keyword' }] });
      expect((await client.jobs.wait(id)).result).toMatchObject({ queries: 1, variants: [{ ndcg: { mean: 1 } }] });
      await items.deleteJudgements('fruit');
      await expect(items.getJudgements('fruit')).rejects.toThrow(NotFoundError);
      await items.delete('judged');
    });

    test('a sample has its vectors and their projection as numbers', async () => {
      const { vectors, projection, items } = await client
        .collection('items')
        .sample({ size: 10, seed: 3, include_vectors: true, projection: { method: 'pca', dimensions: 2 } });
      expect(vectors?.data).toHaveLength(10 * DIM);
      expect(projection?.data).toHaveLength(10 * 2);
      expect(vectors?.data.subarray(0, DIM)).toEqual(
        (await client.collection('items').get(items[0].external_id)).vector,
      );
    });

    test('go by id, by list and by filter', async () => {
      await client.createCollection({ name: 'gone', dim: DIM });
      const gone = client.collection('gone');
      await gone.bulkUpsert([...numbered(100)]);
      expect(await gone.delete('i0')).toMatchObject({ deleted: 'i0' });
      await expect(gone.delete('i0')).rejects.toBeInstanceOf(NotFoundError);
      expect(await gone.deleteBatch(['i1', 'i0'])).toMatchObject({ deleted_ids: ['i1'], not_found: ['i0'] });
      expect(await gone.deleteByFilter({ parity: 1 })).toEqual({ deleted_count: 49 });
      const counts: number[] = [];
      expect(
        await gone.deleteMany(
          (function* () {
            for (let n = 0; n < 100; n++) yield `i${n}`;
          })(),
          { batchItems: 30, onBatch: ({ answer }) => counts.push(answer.deleted_count) },
        ),
      ).toMatchObject({ items: 100, batches: 4 });
      expect(counts.reduce((sum, count) => sum + count)).toBe(49);
    });

    test('are changed only as long as they are what the caller saw', async () => {
      await client.createCollection({ name: 'versions', dim: 2 });
      const versions = client.collection('versions');
      const vector = [1, 0];
      const { version } = await versions.upsert({
        external_id: 'a',
        vector,
        metadata: { n: 1, tags: { x: 1 } },
        only_if: 'absent',
      });
      expect((await versions.get('a')).version).toBe(version);
      const conflict = await refusal(versions.upsert({ external_id: 'a', vector, only_if: 'absent' }));
      expect(conflict).toBeInstanceOf(VersionConflictError);
      expect(conflict).toMatchObject({
        conflicts: [{ external_id: 'a', version }],
        written: [],
        afterLostAnswer: false,
      });

      const patched = await versions.patch('a', {
        metadata: { n: null, tags: { y: 2 } },
        text: 'words',
        if_version: version,
      });
      expect(patched.version).toBeGreaterThan(version!);
      expect(await versions.get('a')).toMatchObject({
        metadata: { tags: { x: 1, y: 2 } },
        text: 'words',
        version: patched.version,
      });
      await versions.patch('a', { metadata: { n: 1 }, metadata_mode: 'replace', vector: Float32Array.of(0, 1) });
      expect(await versions.get('a')).toMatchObject({ metadata: { n: 1 }, vector: Float32Array.of(0, 1) });
      await expect(versions.patch('nobody', { text: 'x' })).rejects.toBeInstanceOf(NotFoundError);
      await expect(versions.patch('..', { text: 'x' })).rejects.toThrow(RangeError);

      const { results } = await versions.bulkUpsert(
        [
          { external_id: 'a', vector, if_version: version },
          { external_id: 'b', vector, metadata: { n: 1 } },
          { external_id: 'c', vector: [1] },
        ],
        { on_error: 'skip' },
      );
      expect(results).toMatchObject([
        { status: 'conflict', index: 0, error: { code: 409 } },
        { external_id: 'b', status: 'inserted' },
        { status: 'invalid', index: 2, error: { code: 400 } },
      ]);
      expect(await versions.updateByFilter({ filters: { n: 1 }, set: { n: 2 }, unset: ['tags'] })).toEqual({
        updated_count: 2,
      });

      const now = (await versions.get('a')).version!;
      for (const gone of [
        versions.delete('a', { if_version: version }),
        versions.delete('..', { if_version: 1 }),
        versions.deleteBatch(['b', 'a'], { if_versions: [null, version!] }),
      ])
        expect(await refusal(gone)).toBeInstanceOf(VersionConflictError);
      expect(await refusal(versions.upsertMany([{ external_id: 'a', vector, if_version: version }]))).toMatchObject({
        conflicts: [{ external_id: 'a', version: now }],
      });
      await versions.delete('a', { if_version: now });
      expect(await versions.deleteBatch(['b'], { if_versions: [(await versions.get('b')).version!] })).toMatchObject({
        deleted_ids: ['b'],
      });
    });

    test('have any id', async () => {
      await client.createCollection({ name: 'ids', dim: DIM });
      const ids = client.collection('ids');
      const odd = ['.', '..', 'a/b', '../x', '%2F', 'ü 😀', '?a=b#c', '+&"\\'];
      await ids.upsertMany(odd.map((external_id) => ({ external_id, vector: new Float32Array(DIM).fill(1) })));
      for (const id of odd) {
        expect((await ids.get(id)).external_id).toBe(id);
        expect((await ids.similarity(id, '.')).similarity).toBeCloseTo(1, 5);
        if (id === '.' || id === '..') await expect(ids.recommend(id)).rejects.toThrow(RangeError);
        else expect((await ids.recommend(id)).source_id).toBe(id);
      }
      for (const id of odd) {
        expect((await ids.delete(id)).deleted).toBe(id);
        await expect(ids.get(id)).rejects.toBeInstanceOf(NotFoundError);
        await expect(ids.delete(id)).rejects.toBeInstanceOf(NotFoundError);
      }
    });

    test('that are refused, or can not be sent, are handed over with the reason', async () => {
      await client.createCollection({ name: 'refused', dim: DIM });
      const refused = client.collection('refused');
      const items: Item[] = [...numbered(200)];
      items[17] = { external_id: 'short', vector: [1] };
      items[90] = { external_id: 'not a number', vector: new Float32Array(DIM).fill(Number.NaN) };
      items[91] = { external_id: '', vector: new Float32Array(DIM) };
      const reasons = new Map<string, string>();
      const progress = await refused.upsertMany(items, {
        batchItems: 50,
        onRejected: ({ external_id }, { name }) => reasons.set(external_id, name),
      });
      expect(progress).toMatchObject({ items: 197, rejected: 3 });
      expect(Object.fromEntries(reasons)).toEqual({
        short: 'BadRequestError',
        'not a number': 'InvalidValueError',
        '': 'ValidationError',
      });
      await expect(refused.bulkUpsert([items[91]])).rejects.toBeInstanceOf(ValidationError);
    });

    (isServed ? test : test.skip)('are complete when the service dies while they are written', async () => {
      const dying = server!;
      await client.createCollection({ name: 'killed', dim: DIM });
      const patient = new QuiverClient({
        url: dying.baseUrl,
        apiKey: dying.apiKey,
        retry: { retries: 400, delayMs: 50, delayMaxMs: 500 },
      });
      const killed = patient.collection('killed');
      const restarts: Promise<void>[] = [];
      const onProgress = ({ batches }: { batches: number }): void => {
        if (batches === 5) restarts.push(dying.kill().then(() => dying.start()));
      };
      await killed.upsertMany(numbered(2000, 1500), { batchItems: 100, onProgress });
      await Promise.all(restarts);
      expect(await collected(killed.scroll())).toEqual(lastOf(numbered(2000, 1500)));
    });
  });

  describe('documents', () => {
    const TEXT = 'Rivers flood in spring, when the snow melts. ';

    beforeAll(async () => {
      await client.createCollection({ name: 'documents', dim: 64 });
    });

    test('are uploaded as text, file and stream, with progress', async () => {
      const text = TEXT.repeat(4000);
      const steps: number[] = [];
      const uploaded = await client.uploadDocument({
        collection_name: 'documents',
        file: text,
        name: 'a "river".txt',
        include_timing: true,
        onProgress: ({ bytes }) => steps.push(bytes),
      });
      expect(uploaded).toMatchObject({ document_id: expect.any(String), timing_ms: expect.any(Object) });
      expect(uploaded.chunks_created).toBeGreaterThan(100);
      expect(steps).toEqual([64 * 1024, 128 * 1024, text.length]);
      const bytes = Buffer.from(TEXT);
      async function* stream(): AsyncGenerator<Uint8Array> {
        yield bytes.subarray(0, 10);
        yield bytes.subarray(10);
      }
      for (const file of [bytes, new Blob([bytes]), new Blob([bytes]).stream(), stream(), [bytes]]) {
        expect(await client.uploadDocument({ collection_name: 'documents', file, name: 'river.txt' })).toMatchObject({
          chunks_created: 1,
        });
      }
      const { results } = await client.query({
        collection_name: 'documents',
        query: 'When do rivers flood?',
        top_k: 1,
        filters: { source: 'river.txt' },
      });
      expect(results).toEqual([expect.objectContaining({ text: TEXT.trim() })]);
    });

    test('that are refused say why, however much is still to be sent', async () => {
      const large = { name: 'large.txt', file: Buffer.alloc(20 * 1024 * 1024, TEXT) };
      await expect(client.uploadDocument({ collection_name: 'nowhere', ...large })).rejects.toBeInstanceOf(
        NotFoundError,
      );
      await expect(client.uploadDocument({ collection_name: 'documents', file: TEXT, name: 'a.pdf' })).rejects.toThrow(
        'Only .txt',
      );
      const reason = new Error('the disk is gone');
      async function* failing(): AsyncGenerator<Uint8Array> {
        yield Buffer.from(TEXT);
        throw reason;
      }
      await expect(
        client.uploadDocument({ collection_name: 'documents', file: failing(), name: 'a.txt' }),
      ).rejects.toBe(reason);
    });
  });

  test('keys are made, changed and counted', async () => {
    const { keys } = client;
    const made = await keys.create({ name: 'reader', role: 'readonly' });
    const reader = server === null ? null : new QuiverClient({ url: server.baseUrl, apiKey: made.key });
    if (server !== null && reader !== null) {
      expect(await reader.me()).toMatchObject({ key_id: made.id, role: 'readonly' });
      await expect(reader.createCollection({ name: 'mine', dim: 2 })).rejects.toBeInstanceOf(ForbiddenError);
      await expect(new QuiverClient({ url: server.baseUrl }).health()).rejects.toBeInstanceOf(UnauthorizedError);
    }
    expect((await keys.list()).map(({ id }) => id)).toContain(made.id);
    expect(await keys.update(made.id, { name: 'writer', role: 'readwrite' })).toMatchObject({
      name: 'writer',
      role: 'readwrite',
    });
    const rotated = await keys.rotate(made.id, { grace_seconds: 600 });
    expect(rotated.key).not.toBe(made.key);
    expect(rotated.previous_expires_at).not.toBeNull();
    if (reader !== null) expect(await reader.me()).toMatchObject({ key_id: made.id });
    expect((await keys.rotate(made.id)).previous_expires_at).toBeNull();
    if (reader !== null) await expect(reader.me()).rejects.toBeInstanceOf(UnauthorizedError);
    const limits = {
      collections: [{ prefix: 'it' }, { name: 'life', role: 'readonly' as const }],
      allowed_networks: ['127.0.0.0/8'],
      rate_limit_per_minute: 0,
      quota: { items: 5, bytes: null, period: 'day' as const },
    };
    expect(await keys.update(made.id, limits)).toMatchObject({
      ...limits,
      collections: [
        { prefix: 'it', role: 'readwrite' },
        { name: 'life', role: 'readonly' },
      ],
    });
    expect(await keys.update(made.id, { collections: null, allowed_networks: null })).toMatchObject({
      collections: null,
      allowed_networks: null,
      rate_limit_per_minute: 0,
    });
    expect(await keys.get(made.id)).toMatchObject({ name: 'writer', is_active: true });
    expect(await keys.usage(made.id)).toMatchObject({
      total_requests: expect.any(Number),
      quota_used: { items: 0, bytes: null, period: 'day' },
    });
    expect((await keys.update(made.id, { expires_in_days: 3, quota: null })).expires_at).not.toBeNull();
    expect(await keys.usageSummary()).toMatchObject({ overall: expect.any(Object), by_key: expect.any(Array) });
    expect(await keys.delete(made.id)).toMatchObject({ deleted: made.id });
  });

  test('backups are taken, verified, restored and deleted', async () => {
    await client.createCollection({ name: 'kept', dim: DIM });
    await client.collection('kept').bulkUpsert([...numbered(50)]);
    const { id } = await client.backups.create({ collections: ['kept'] });
    await eventually('the backup is done', async () => (await client.backups.get(id)).state === 'done');
    expect((await client.backups.list()).map((backup) => [backup.id, backup.items])).toEqual([[id, 50]]);
    const job = await client.jobs.wait(`backup-${id}`);
    expect(job).toMatchObject({ kind: 'backup', state: 'done', result: { backup: id } });
    const listed: string[] = [];
    for await (const one of client.jobs.list({ kind: 'backup', limit: 1 })) listed.push(one.id);
    expect(listed).toEqual([job.id]);
    await expect(client.jobs.cancel(job.id)).rejects.toMatchObject({ name: 'ConflictError' });
    await client.backups.verify(id);
    await eventually('it is verified', async () => (await client.backups.get(id)).verification?.state === 'done');
    expect((await client.backups.get(id)).verification?.damaged).toEqual([]);
    await expect(client.backups.restore({ backup: id })).rejects.toMatchObject({ name: 'ConflictError', code: 409 });
    const restore = await client.backups.restore({ backup: id, rename: { kept: 'kept-again' }, shards: 2 });
    await eventually('it is restored', async () => (await client.backups.restoreState(restore.id)).state === 'done');
    expect(await collected(client.collection('kept-again').scroll())).toEqual(
      await collected(client.collection('kept').scroll()),
    );
    expect((await client.backups.listRestores()).map((one) => one.id)).toEqual([restore.id]);
    await client.backups.cancelRestore(restore.id);
    expect(await client.backups.listRestores()).toEqual([]);
    await client.backups.delete(id);
    await eventually('it is deleted', async () => (await client.backups.list()).length === 0);
  });

  test('the service tells of itself', async () => {
    expect(await client.health()).toMatchObject({ status: 'ok' });
    expect(await client.activity()).toMatchObject({ in_flight: expect.any(Number) });
    const { mode, nodes } = await client.cluster.state();
    expect(mode).toBe('embedded');
    await expect(client.cluster.drain('nobody')).rejects.toBeInstanceOf(NotFoundError);
    await expect(client.cluster.undrain('nobody')).rejects.toBeInstanceOf(NotFoundError);
    await expect(client.cluster.adopt('nowhere', 0, nodes[0].id)).rejects.toBeInstanceOf(BadRequestError);
    const stranger = server === null ? client : new QuiverClient({ url: `${server.baseUrl}/` });
    expect(await stranger.serviceInfo()).toMatchObject({ docs: '/docs' });
    expect(await stranger.metrics()).toContain('vectordb_requests_total');
    expect(await stranger.openApi()).toMatchObject({ openapi: '3.1.0' });
    await expect(stranger.signIn('c29tZSB0b2tlbg')).rejects.toBeInstanceOf(UnauthorizedError);
    expect(await client.loadDemo()).toMatchObject({ collection: 'demo', loaded: true });
  });
}
