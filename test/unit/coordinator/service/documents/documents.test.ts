import { StoredOutcomes } from '../../../../../coordinator/service/idempotency/stored-outcomes';
import { KeyQuotaLedger } from '../../../../../coordinator/service/keys/quota/key-quota-ledger';
import { DocumentService } from '../../../../../coordinator/service/documents/document-service';
import { storedFileName } from '../../../../../coordinator/service/documents/text-file';
import type { CollectionView, VectorInput } from '../../../../../coordinator/service/service';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { silentLogger } from '../../../../../shared/base/logs/logger';
import { systemClock } from '../../../../../shared/base/time/clock';
import { eventually } from '../../../../support/eventually';

const TIMING = { embeddingMs: 1, storageMs: 2, totalMs: 3 };

/** One collection in memory, with a hook before every write and delete. */
class Shelf {
  items = new Map<string, VectorInput>();
  createdAt: string | null = '2026-01-01T00:00:00.000Z';
  beforeUpsert: (batch: VectorInput[]) => unknown = () => undefined;
  beforeDelete: (ids: string[]) => void = () => undefined;
  batches: number[] = [];

  async get(name: string): Promise<CollectionView> {
    if (this.createdAt === null) throw new QuiverError('not_found', `collection "${name}" does not exist`);
    const rest = {
      dim: 3,
      metric: 'cosine' as const,
      description: null,
      language: null,
      keywordFields: null,
      synonyms: null,
      stopWords: null,
      keywordPositions: true,
      quantization: 'int8' as const,
      metadata: 'memory' as const,
      vectors: 'memory' as const,
      vectorCount: this.items.size,
      unavailableShards: [],
      shards: 1,
      replicas: 1,
      minInSync: 1,
      ttlSeconds: null,
      embeddingModel: null,
      embedding: null,
      quota: null,
    };
    return { name, createdAt: this.createdAt, ...rest };
  }

  async upsert(name: string, batch: VectorInput[]) {
    await this.get(name);
    await this.beforeUpsert(batch);
    this.batches.push(batch.length);
    for (const item of batch) this.items.set(item.externalId, item);
    return {
      statuses: batch.map(() => 'inserted' as const),
      versions: batch.map(() => null),
      errors: new Map(),
      timing: TIMING,
    };
  }

  async delete(name: string, ids: string[]) {
    await this.get(name);
    this.beforeDelete(ids);
    const deleted = ids.filter((id) => this.items.delete(id));
    return { deleted, notFound: ids.filter((id) => !deleted.includes(id)) };
  }
}

async function setUp(
  config: { chunkSize?: number; chunkOverlap?: number; uploadBytesMax?: number; metadataBytesMax?: number } = {},
) {
  const shelf = new Shelf();
  const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  const clock = {
    ahead: 0,
    monotonicMs: () => systemClock.monotonicMs() + clock.ahead,
    wallMs: () => systemClock.wallMs() + clock.ahead,
  };
  const serviceOf = (instanceId: string) =>
    new DocumentService({
      collections: shelf,
      vectors: shelf,
      keyQuotas: new KeyQuotaLedger({ store, clock }),
      store,
      outcomes: new StoredOutcomes({ store, clock }),
      config: { chunkSize: 50, chunkOverlap: 10, uploadBytesMax: 1_000_000, metadataBytesMax: 65_536, ...config },
      clock,
      log: silentLogger,
      instanceId,
    });
  const openUploads = async (): Promise<number> => (await store.list('/q/uploads/')).entries.length;
  return { shelf, store, clock, serviceOf, service: serviceOf('one'), openUploads };
}

async function* bytes(...parts: (string | number[])[]): AsyncGenerator<Buffer> {
  for (const part of parts) yield Buffer.from(part as string);
}

const text = (words: number): string => Array.from({ length: words }, (_, i) => `word${i}`).join(' ');

describe('uploading a document', () => {
  test('stores its chunks with their ids, texts and metadata', async () => {
    const { service, shelf, openUploads } = await setUp();
    const answer = await service.upload('c', {
      name: 'Notes.TXT',
      content: bytes('The first paragraph of this.\n\nSecond paragraph, ', 'which is a bit longer.'),
    });
    expect(answer).toMatchObject({ chunksCreated: 2, timing: { embeddingMs: 1, storageMs: 2 } });
    expect(answer.documentId).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    const [first, second] = [...shelf.items.values()];
    expect(first.externalId).toBe(`${answer.documentId}-chunk-0`);
    expect(first.source).toEqual({ text: 'The first paragraph of this.' });
    expect(first.text).toBe('The first paragraph of this.');
    expect(JSON.parse(second.metadata as string)).toEqual({
      document_id: answer.documentId,
      chunk_index: 1,
      source: 'Notes.TXT',
      text: second.text,
    });
    expect(second.text).toMatch(/Second paragraph, which is a bit longer\.$/);
    expect(await openUploads()).toBe(0);
  });

  test('writes long documents in batches', async () => {
    const { service, shelf } = await setUp();
    const { chunksCreated } = await service.upload('c', { name: 'a.txt', content: bytes(text(2000)) });
    expect(shelf.batches.length).toBeGreaterThan(3);
    expect(Math.max(...shelf.batches)).toBeLessThanOrEqual(64);
    expect(shelf.items.size).toBe(chunksCreated);
  });

  test('characters may be split between the parts that arrive; a byte order mark is dropped', async () => {
    const { service, shelf } = await setUp();
    const all = [...Buffer.from('\ufeffäö€😀')];
    await service.upload('c', { name: 'a.txt', content: bytes(...all.map((byte) => [byte])) });
    expect([...shelf.items.values()].map((item) => item.text)).toEqual(['äö€😀']);
  });

  test.each([
    ['another type', { name: 'a.pdf', content: bytes('text') }, 'invalid_parameter', /Only \.txt/],
    ['no type', { name: 'txt', content: bytes('text') }, 'invalid_parameter', /Only \.txt/],
    ['nothing', { name: 'a.txt', content: bytes() }, 'invalid_parameter', /empty/],
    ['a byte order mark alone', { name: 'a.txt', content: bytes('\ufeff') }, 'invalid_parameter', /empty/],
    ['white space alone', { name: 'a.txt', content: bytes(' \n', '\t\u3000') }, 'invalid_parameter', /empty/],
    ['bytes that are not UTF-8', { name: 'a.txt', content: bytes('text', [0xff, 0x41]) }, 'invalid_parameter', /UTF-8/],
    [
      'UTF-16 with a mark',
      { name: 'a.txt', content: bytes([0xff, 0xfe, 0x41, 0]) },
      'invalid_parameter',
      /it is UTF-16: iconv/,
    ],
    ['a cut-off character', { name: 'a.txt', content: bytes('text', [0xe2, 0x82]) }, 'invalid_parameter', /UTF-8/],
    [
      'UTF-16 without a mark',
      { name: 'a.txt', content: bytes([...Buffer.from('plain text', 'utf16le')]) },
      'invalid_parameter',
      /UTF-16 as it seems: iconv/,
    ],
    [
      'UTF-16 with the other byte first',
      { name: 'a.txt', content: bytes([0], [...Buffer.from('plain text', 'utf16le')]) },
      'invalid_parameter',
      /UTF-16/,
    ],
    ['an encoded surrogate', { name: 'a.txt', content: bytes([0xed, 0xa0, 0x80]) }, 'invalid_parameter', /UTF-8/],
    [
      'too much',
      { name: 'a.txt', content: bytes('x'.repeat(60), 'x'.repeat(41)) },
      'limit_exceeded',
      /MAX_UPLOAD_BYTES.*100/,
    ],
  ])('refuses %s and stores nothing', async (_title, file, kind, message) => {
    const { service, shelf, openUploads } = await setUp({ uploadBytesMax: 100 });
    await expect(service.upload('c', file)).rejects.toMatchObject({ kind, message: expect.stringMatching(message) });
    expect(shelf.items.size).toBe(0);
    expect(await openUploads()).toBe(0);
  });

  test('a missing collection is told before the file is read', async () => {
    const { service, shelf } = await setUp();
    shelf.createdAt = null;
    let wasRead = false;
    async function* content(): AsyncGenerator<Buffer> {
      wasRead = true;
      yield Buffer.from('text');
    }
    await expect(service.upload('gone', { name: 'a.txt', content: content() })).rejects.toMatchObject({
      kind: 'not_found',
    });
    expect(wasRead).toBe(false);
  });

  test('a failure half-way takes back what was written', async () => {
    const { service, shelf, openUploads } = await setUp();
    shelf.items.set('other', { externalId: 'other', source: { text: 'x' }, metadata: undefined, text: undefined });
    shelf.beforeUpsert = () => {
      if (shelf.batches.length < 2) return;
      throw new QuiverError('unavailable', 'shard 0 is unavailable');
    };
    await expect(service.upload('c', { name: 'a.txt', content: bytes(text(2000)) })).rejects.toMatchObject({
      kind: 'unavailable',
    });
    expect([...shelf.items.keys()]).toEqual(['other']);
    expect(await openUploads()).toBe(0);
  });

  test('writes while the file arrives, and holds no more of it than a batch', async () => {
    const { service, shelf } = await setUp({ uploadBytesMax: 100_000_000 });
    const part = `${'some words to be stored. '.repeat(40)}\n\n`;
    let sentBytes = 0;
    let mostAheadBytes = 0;
    async function* content(): AsyncGenerator<Buffer> {
      for (let i = 0; i < 3000; i++) {
        sentBytes += part.length;
        mostAheadBytes = Math.max(mostAheadBytes, sentBytes - storedBytes);
        yield Buffer.from(part);
      }
    }
    let storedBytes = 0;
    shelf.beforeUpsert = (batch) => {
      storedBytes += batch.reduce((sum, { text: chunk = '' }) => sum + chunk.length, 0);
      // Nothing is kept, so that the test does not hold the document either.
      shelf.items.clear();
    };
    const { chunksCreated } = await service.upload('c', { name: 'a.txt', content: content() });
    expect(sentBytes).toBeGreaterThan(3_000_000);
    expect(chunksCreated).toBeGreaterThan(sentBytes / 60);
    // Overlaps make what is stored more than what was sent; a batch is 64 chunks of 50.
    expect(mostAheadBytes).toBeLessThan(64 * 50 + 3 * part.length);
  });

  test('a client that goes away half-way leaves nothing', async () => {
    const { service, shelf, openUploads } = await setUp();
    async function* content(): AsyncGenerator<Buffer> {
      yield Buffer.from(text(1000));
      expect(shelf.batches.length).toBeGreaterThan(1);
      throw new Error('gone');
    }
    await expect(service.upload('c', { name: 'a.txt', content: content() })).rejects.toThrow('gone');
    expect(shelf.items.size).toBe(0);
    expect(await openUploads()).toBe(0);
  });

  test('long chunks are written few at a time', async () => {
    const { service, shelf } = await setUp({ chunkSize: 100_000, metadataBytesMax: 1_000_000 });
    await service.upload('c', { name: 'a.txt', content: bytes('word '.repeat(180_000)) });
    expect(Math.max(...shelf.batches)).toBe(2);
  });

  test('a document of more chunks than the journal has announced is stored whole', async () => {
    const { service, shelf, store } = await setUp();
    const announced = new Set<number>();
    shelf.beforeUpsert = async () => {
      const [{ value }] = (await store.list('/q/uploads/')).entries;
      const { chunksEnd } = JSON.parse(value) as { chunksEnd: number };
      announced.add(chunksEnd);
      expect(shelf.items.size + 64).toBeLessThanOrEqual(chunksEnd);
    };
    const { chunksCreated } = await service.upload('c', { name: 'a.txt', content: bytes(text(30_000)) });
    expect(chunksCreated).toBeGreaterThan(4096);
    expect(shelf.items.size).toBe(chunksCreated);
    expect(announced.size).toBe(Math.ceil(chunksCreated / 4096));
  });

  test('a collection made again under its name does not keep half a document', async () => {
    const { service, shelf, openUploads } = await setUp();
    shelf.beforeUpsert = () => {
      if (shelf.batches.length !== 2) return;
      shelf.items.clear();
      shelf.createdAt = '2026-02-02T00:00:00.000Z';
    };
    await expect(service.upload('c', { name: 'a.txt', content: bytes(text(2000)) })).rejects.toMatchObject({
      kind: 'not_found',
    });
    expect(shelf.items.size).toBe(0);
    expect(await openUploads()).toBe(0);
  });

  test('the metadata of a chunk stays within its limit, whatever the chunk size', async () => {
    const { service, shelf } = await setUp({ chunkSize: 100_000, chunkOverlap: 50, metadataBytesMax: 10_000 });
    const name = `${'"\\é'.repeat(200)}.txt`;
    await service.upload('c', { name, content: bytes('a\u0001'.repeat(20_000)) });
    for (const item of shelf.items.values())
      expect(Buffer.byteLength(item.metadata as string)).toBeLessThanOrEqual(10_000);
    expect(shelf.items.size).toBeGreaterThan(1);
  });

  test('file names are data: no control characters, well-formed, not too long', () => {
    expect(storedFileName('../a\u0000b\n"é😀.txt ')).toBe('../ab"é😀.txt');
    expect(storedFileName('x\ud800.txt')).toBe('x.txt');
    const long = storedFileName(`${'x'.repeat(254)}😀.txt`);
    expect(long).toBe('x'.repeat(254));
  });
});

describe('recovering uploads that were cut short', () => {
  /** An upload whose process dies before batch `batch`: its promise never settles. */
  async function die(setup: Awaited<ReturnType<typeof setUp>>, batch: number, words = 2000): Promise<void> {
    const { shelf } = setup;
    let died: () => void = () => undefined;
    const dead = new Promise<void>((resolve) => (died = resolve));
    const upsert = shelf.upsert.bind(shelf);
    shelf.upsert = (name, items) => {
      if (shelf.batches.length < batch) return upsert(name, items);
      died();
      return new Promise(() => undefined);
    };
    void setup.serviceOf('dead').upload('c', { name: 'a.txt', content: bytes(text(words)) });
    await dead;
    shelf.upsert = upsert;
  }

  test.each([0, 1, 3])('takes back the chunks of an upload that died before batch %i', async (batch) => {
    const setup = await setUp();
    await die(setup, batch);
    expect(setup.shelf.items.size).toBe(batch * 64);
    expect(await setup.openUploads()).toBe(1);
    await setup.service.recoverUploads();
    expect(setup.shelf.items.size).toBe(0);
    expect(await setup.openUploads()).toBe(0);
  });

  test('recovery that is cut short itself can be taken up again, and leaves nothing of a long document', async () => {
    const setup = await setUp();
    await die(setup, 70, 20_000);
    expect(setup.shelf.items.size).toBe(70 * 64);
    let deletes = 0;
    setup.shelf.beforeDelete = () => {
      if (++deletes === 2) throw new QuiverError('unavailable', 'shard 0 is unavailable');
    };
    await setup.service.recoverUploads();
    expect(setup.shelf.items.size).toBeGreaterThan(0);
    expect(await setup.openUploads()).toBe(1);
    await setup.service.recoverUploads();
    expect(setup.shelf.items.size).toBe(0);
    expect(await setup.openUploads()).toBe(0);
  });

  test('an upload that another process took back cannot complete, and leaves nothing', async () => {
    const setup = await setUp();
    let recovered = false;
    setup.shelf.beforeUpsert = () => {
      if (setup.shelf.batches.length !== 3 || recovered) return undefined;
      recovered = true;
      return setup.serviceOf('other').recoverUploads();
    };
    await expect(setup.service.upload('c', { name: 'a.txt', content: bytes(text(2000)) })).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('taken back'),
    });
    expect(recovered).toBe(true);
    expect(setup.shelf.items.size).toBe(0);
    expect(await setup.openUploads()).toBe(0);
  });

  test('an upload that stood still makes sure that it is still its own before it writes on', async () => {
    const setup = await setUp();
    setup.shelf.beforeUpsert = async () => {
      if (setup.shelf.batches.length !== 3) return;
      await setup.serviceOf('other').recoverUploads();
      setup.clock.ahead += 10_000;
    };
    await expect(setup.service.upload('c', { name: 'a.txt', content: bytes(text(2000)) })).rejects.toMatchObject({
      kind: 'unavailable',
    });
    expect(setup.shelf.batches.length).toBe(4);
    expect(setup.shelf.items.size).toBe(0);
  });

  describe('an upload with an Idempotency-Key whose end the cluster store did not tell', () => {
    const dedup = {
      token: 'a'.repeat(32),
      digest: 'b'.repeat(32),
      expiresAtMs: Date.now() + 86_400_000,
      sealingKey: 'c'.repeat(64),
    };

    beforeEach(() =>
      jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'performance', 'Date'] }),
    );
    afterEach(() => jest.useRealTimers());

    /** An upload at whose end the store can't be reached: it has done what it was asked last, or not. */
    async function cutOff(setup: Awaited<ReturnType<typeof setUp>>, isDone: boolean): Promise<void> {
      const { store, service } = setup;
      const { get, transact } = { get: store.get.bind(store), transact: store.transact.bind(store) };
      const away = async (): Promise<never> => {
        throw new QuiverError('unavailable', 'the cluster store can not be reached');
      };
      store.transact = async (guards, changes) => {
        // The end of an upload: its entry goes, and its outcome comes.
        if (changes.length !== 2) return transact(guards, changes);
        if (isDone) await transact(guards, changes);
        [store.get, store.transact] = [away, away];
        return away();
      };
      await expect(service.upload('c', { name: 'a.txt', content: bytes(text(2000)) }, dedup)).rejects.toMatchObject({
        kind: 'unavailable',
      });
      [store.get, store.transact] = [get, transact];
    }

    test('is taken back once the store answers, if it did not end', async () => {
      const setup = await setUp();
      await cutOff(setup, false);
      expect(setup.shelf.items.size).toBeGreaterThan(0);
      // Repeated meanwhile, it is another document.
      const again = await setup.service.upload('c', { name: 'a.txt', content: bytes(text(2000)) }, dedup);
      await jest.advanceTimersByTimeAsync(15_000);
      jest.useRealTimers();
      await eventually('the first one is taken back', async () => (await setup.openUploads()) === 0);
      expect([...setup.shelf.items.keys()].every((id) => id.startsWith(again.documentId))).toBe(true);
      expect(setup.shelf.items.size).toBe(again.chunksCreated);
    });

    test('stays, if it did', async () => {
      const setup = await setUp();
      await cutOff(setup, true);
      await jest.advanceTimersByTimeAsync(15_000);
      const again = await setup.service.upload('c', { name: 'a.txt', content: bytes(text(2000)) }, dedup);
      expect(again.isRepeated).toBe(true);
      expect(setup.shelf.items.size).toBe(again.chunksCreated);
    });
  });

  test('what a dead process may still be writing is looked for again once that can no longer be', async () => {
    const setup = await setUp();
    await die(setup, 2);
    const others = { isAlive: () => false, writesMs: 60_000 };
    await setup.service.recoverUploads(others);
    expect(setup.shelf.items.size).toBe(0);
    const [{ key }] = (await setup.store.list('/q/uploads/')).entries;
    const late = `${key.slice('/q/uploads/'.length)}-chunk-130`;
    setup.shelf.items.set(late, { externalId: late, source: { text: 'late' }, metadata: undefined, text: 'late' });
    setup.clock.ahead += 59_000;
    await setup.serviceOf('next').recoverUploads(others);
    expect(setup.shelf.items.size).toBe(1);
    setup.clock.ahead += 2_000;
    await setup.serviceOf('next').recoverUploads(others);
    expect(setup.shelf.items.size).toBe(0);
    expect(await setup.openUploads()).toBe(0);
  });

  test('a collection that is gone leaves nothing to take back', async () => {
    const setup = await setUp();
    await die(setup, 1);
    setup.shelf.createdAt = null;
    await setup.service.recoverUploads();
    expect(await setup.openUploads()).toBe(0);
  });

  test('uploads of processes that are alive, and of this one, are left alone', async () => {
    const setup = await setUp();
    await die(setup, 1);
    await setup.service.recoverUploads({ isAlive: (instanceId) => instanceId === 'dead', writesMs: 0 });
    expect(setup.shelf.items.size).toBe(64);
    let recovered: Promise<void> | null = null;
    setup.shelf.beforeUpsert = () =>
      (recovered ??= setup.service.recoverUploads({ isAlive: (instanceId) => instanceId === 'dead', writesMs: 0 }));
    const { chunksCreated } = await setup.service.upload('c', { name: 'b.txt', content: bytes(text(500)) });
    await (recovered as Promise<void> | null);
    expect(setup.shelf.items.size).toBe(64 + chunksCreated);
  });

  test('chunks that could not be taken back at once are taken back at the next start', async () => {
    const setup = await setUp();
    setup.shelf.beforeUpsert = () => {
      if (setup.shelf.batches.length === 2) throw new QuiverError('storage_failed', 'the disk is full');
    };
    setup.shelf.beforeDelete = () => {
      throw new QuiverError('unavailable', 'shard 0 is unavailable');
    };
    await expect(setup.service.upload('c', { name: 'a.txt', content: bytes(text(2000)) })).rejects.toMatchObject({
      kind: 'storage_failed',
    });
    expect(setup.shelf.items.size).toBe(128);
    setup.shelf.beforeDelete = () => undefined;
    await setup.serviceOf('next').recoverUploads();
    expect(setup.shelf.items.size).toBe(0);
    expect(await setup.openUploads()).toBe(0);
  });
});
