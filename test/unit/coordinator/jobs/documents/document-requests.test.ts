import { DocumentRequests } from '../../../../../coordinator/jobs/documents/document-requests';
import { ONLY_DRIVER } from '../../../../../coordinator/jobs/driving/owned-entry';
import type { NewDocument, VectorView } from '../../../../../coordinator/service/service';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import type { StoreChange } from '../../../../../shared/cluster-store/cluster-store';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { type Clock, systemClock } from '../../../../../shared/base/time/clock';
import { documentChunkId } from '../../../../../shared/contract/shard/chunk-id';
import { InterceptedClusterStore } from '../../../../support/cluster/intercepted-cluster-store';
import { eventually } from '../../../../support/eventually';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { newCollection, type PlainService, plainService } from '../../../../support/shards/plain-service';

/** What is a document's own, and what its requests leave behind. */

const LONG = ['One of it is here.', 'Two of it are here.', 'Three of it are here.', 'Four of it are here.'].join(' ');
const SHORT = 'Nothing else is left.';

let store: InterceptedClusterStore;
let plain: PlainService;
let driver: { close(): Promise<void> } | null;
/** Drivers that others came beside. */
let former: { close(): Promise<void> }[];

beforeEach(async () => {
  store = new InterceptedClusterStore(await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() }));
  plain = await plainService({ store });
  for (const name of ['c', 'd']) await plain.service.collections.create(newCollection(name, { dim: 3, shards: 5 }));
  driver = null;
  former = [];
});
afterEach(async () => {
  for (const one of [driver, ...former]) await one?.close();
  plain.service.close();
});

async function drive(): Promise<void> {
  if (driver !== null) former.push(driver);
  driver = await plain.service.driveJobs(ONLY_DRIVER);
}

async function* bytesOf(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

async function added(text: string, { collection = 'c', waitMs = 60_000, ...more }: any = {}) {
  const { documents } = plain.service;
  const file = await documents.receive(collection, { name: 'a.txt', content: bytesOf(text) });
  const document: NewDocument = {
    file,
    key: 'k',
    metadata: undefined,
    chunking: { strategy: 'sentences', size: 24, overlap: 0 },
    onExists: 'replace',
    expiresAt: undefined,
    textInMetadata: false,
    ...more,
  };
  return documents.add(collection, document, waitMs);
}

async function items(): Promise<VectorView[]> {
  const { pages } = await plain.service.vectors.scroll('c', { cursor: null, limit: 100, filter: null, vectors: true });
  const found: VectorView[] = [];
  for await (const page of pages) found.push(...page);
  return found;
}

const byText = (a: string, b: string): number => (a < b ? -1 : 1);
const texts = async (): Promise<string[]> => (await items()).flatMap(({ text }) => text ?? []).toSorted(byText);

async function put(externalId: string, metadata: object, text = 'A user’s.'): Promise<void> {
  const source = { vector: Float32Array.of(7, 7, 7) };
  await plain.service.vectors.upsert('c', [{ externalId, source, metadata: JSON.stringify(metadata), text }]);
}

const wholes = async (prefix: string): Promise<number> => (await plain.store.list(prefix)).entries.length;

/** What is left of files and turns in the cluster store. */
const files = async (): Promise<number> => {
  const { entries } = await plain.store.list('/q/document-');
  return entries.filter(({ key }) => key !== '/q/document-generation').length;
};

describe('what is a document’s own', () => {
  let id: string;
  beforeEach(async () => {
    await drive();
    const { documentId, job } = await added(LONG);
    expect(job).toMatchObject({ state: 'done', result: { chunks: 4 } });
    id = documentId;
  });

  test('items of users that name a document stay when it is replaced and deleted, and lend it nothing', async () => {
    await put('a-summary', { document_id: id, chunk_index: 0 });
    await put('of-two', { document_id: [id, 'another'] }, SHORT);
    const { job } = await added(SHORT);
    expect(job.result).toMatchObject({ outcome: 'replaced', embedded: 1 });
    const { documents } = plain.service;
    expect((await documents.list('c', { cursor: null, limit: 10 })).documents).toMatchObject([{ documentId: id }]);
    expect(await documents.get('c', id)).toMatchObject({ chunks: 1, key: 'k' });
    expect(await texts()).toEqual(['A user’s.', SHORT, SHORT]);
    expect(await documents.delete('c', id)).toEqual({ deletedChunks: 1 });
    expect((await items()).map(({ externalId }) => externalId).toSorted(byText)).toEqual(['a-summary', 'of-two']);
    await expect(documents.delete('c', id)).rejects.toMatchObject({ kind: 'not_found' });
    await expect(documents.get('c', id)).rejects.toMatchObject({ kind: 'not_found' });
  });

  test.each([0, 1, 3])('chunk %d that lost its document does not keep it from being replaced', async (index) => {
    await put(documentChunkId(id, index), { mine: true }, SHORT);
    const { job } = await added(SHORT);
    expect(job).toMatchObject({ state: 'done', result: { outcome: 'replaced', embedded: 1 } });
    expect(await texts()).toEqual([SHORT]);
    expect((await items())[0].vector).not.toEqual(Float32Array.of(7, 7, 7));
    expect(await plain.service.documents.get('c', id)).toMatchObject({ chunks: 1 });
  });

  test.each([0, 1, 3])('chunk %d that lost its document is deleted with it', async (index) => {
    await put(documentChunkId(id, index), { mine: true });
    expect(await plain.service.documents.delete('c', id)).toEqual({ deletedChunks: 4 });
    expect(await items()).toEqual([]);
  });

  test('of an upload, too', async () => {
    await plain.service.documents.delete('c', id);
    const content = bytesOf('A text. '.repeat(400));
    const { documentId, chunksCreated } = await plain.service.documents.upload('c', { name: 'a.txt', content });
    expect(chunksCreated).toBeGreaterThan(2);
    await put(`${documentId}-chunk-1`, { mine: true });
    await put('a-summary', { document_id: documentId, chunk_index: 0 });
    expect(await plain.service.documents.get('c', documentId)).toMatchObject({ source: 'a.txt' });
    expect(await plain.service.documents.delete('c', documentId)).toEqual({ deletedChunks: chunksCreated });
    expect((await items()).map(({ externalId }) => externalId)).toEqual(['a-summary']);
  });
});

test('on_exists "error" sees jobs of its collection alone', async () => {
  await added(LONG, { waitMs: 0 });
  await expect(added(LONG, { waitMs: 0, onExists: 'error' })).rejects.toMatchObject({ kind: 'already_exists' });
  expect((await added(LONG, { collection: 'd', waitMs: 0, onExists: 'error' })).job.state).toBe('queued');
});

describe('room for files', () => {
  const MAX = 100 * 1024 * 1024;
  const receive = (
    content: AsyncIterable<Buffer>,
    bytesMax?: number,
    { collection = 'c', holder }: { collection?: string; holder?: string } = {},
  ) => plain.service.documents.receive(collection, { name: 'a.txt', content, bytesMax, holder });
  /** More than is read of a file before it takes room. */
  const begin = () => Buffer.alloc(65 * 1024, 'A text. ');
  /** A file whose end comes when it is let go. */
  const held = () => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    async function* content(): AsyncGenerator<Buffer> {
      yield begin();
      await released;
    }
    return { content: content(), release };
  };
  const bytesTaken = async (): Promise<number> =>
    JSON.parse((await store.get('/q/document-rooms/total'))?.value ?? '{"bytes":0}').bytes;

  beforeEach(async () => {
    plain.service.close();
    plain = await plainService({ store, environment: { MAX_UPLOAD_BYTES: String(MAX) } });
  });

  test('is taken before they are stored, by their announced or greatest length, and given back', async () => {
    const first = held();
    const second = held();
    const under = [receive(first.content, MAX), receive(second.content, MAX + 1, { collection: 'd' })];
    await eventually('both have room', async () => (await bytesTaken()) === 2 * MAX);
    const stored = store.transactions.length;
    async function* more(): AsyncGenerator<Buffer> {
      yield begin();
    }
    await expect(receive(more(), MAX - 1)).rejects.toMatchObject({ kind: 'overloaded' });
    expect(store.transactions.length).toBe(stored);
    first.release();
    await under[0];
    await receive(more(), MAX - 1);
    second.release();
    await under[1];
  });

  test('is that of the file itself where it is short, and grows with one that does not say how long it is', async () => {
    await receive(bytesOf('It is all there.'));
    expect(await bytesTaken()).toBe(16);
    const steps = [0, 1].map(() => {
      let pass = (): void => undefined;
      return { passed: new Promise<void>((resolve) => (pass = resolve)), pass: () => pass() };
    });
    const part = Buffer.alloc(5 * 1024 * 1024, 'A text. ');
    async function* growing(): AsyncGenerator<Buffer> {
      yield part;
      await steps[0].passed;
      yield part;
      await steps[1].passed;
    }
    const received = receive(growing());
    await eventually('it has room for some', async () => (await bytesTaken()) === 16 + 8 * 1024 * 1024);
    steps[0].pass();
    await eventually('it has room for more', async () => (await bytesTaken()) === 16 + 16 * 1024 * 1024);
    steps[1].pass();
    expect((await received).bytes).toBe(2 * part.length);
    expect(await bytesTaken()).toBe(16 + 2 * part.length);
  });

  test('one whose room was given away meanwhile is not taken', async () => {
    const { content, release } = held();
    const received = receive(content);
    await eventually('it has room', async () => (await wholes('/q/document-rooms/file/')) === 1);
    const { entries } = await store.list('/q/document-rooms/');
    await store.transact(
      [],
      entries.map(({ key }) => ({ type: 'delete', key })),
    );
    release();
    await expect(received).rejects.toMatchObject({ kind: 'unavailable' });
    expect(await wholes('/q/document-files/')).toBe(0);
  });

  test('is given back where a file breaks off, and what is asked for at once is counted', async () => {
    async function* broken(): AsyncGenerator<Buffer> {
      yield begin();
      throw new Error('the client left');
    }
    for (let i = 0; i < 4; i += 1) await expect(receive(broken(), MAX)).rejects.toThrow('the client left');
    for (let i = 0; i < 4; i += 1)
      await expect(receive(bytesOf(''), MAX)).rejects.toMatchObject({ kind: 'invalid_parameter' });
    expect(await bytesTaken()).toBe(0);
    const all = Array.from({ length: 5 }, held);
    const received = await Promise.allSettled(
      all.map(async ({ content, release }, i) => {
        try {
          await receive(content, MAX, { collection: i % 2 === 0 ? 'c' : 'd' });
        } finally {
          for (const other of all) other.release();
          release();
        }
      }),
    );
    expect(received.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
  });
});

test('while a member of the cluster does not know documents as jobs, none is taken, and that is said', async () => {
  plain.service.close();
  const reason = 'documents can be added once every member is known to be able to';
  plain = await plainService({ store, collectionObstacle: (feature) => (feature === 'documents' ? reason : null) });
  const stored = store.transactions.length;
  await expect(added(LONG)).rejects.toMatchObject({ kind: 'unavailable', message: reason });
  expect(store.transactions.length).toBe(stored);
});

test('what is added once under a mark is begun once, and its job is answered', async () => {
  const dedup = { token: 'a'.repeat(32), digest: 'b'.repeat(32), expiresAtMs: Date.now() + 60_000, sealingKey: '' };
  const { documents } = plain.service;
  const file = () => documents.receive('c', { name: 'a.txt', content: bytesOf(SHORT) });
  const document = async (): Promise<NewDocument> => ({
    file: await file(),
    key: undefined,
    metadata: undefined,
    chunking: {},
    onExists: 'replace',
    expiresAt: undefined,
    textInMetadata: false,
  });
  const first = await documents.add('c', await document(), 0, undefined, dedup);
  await expect(documents.add('c', await document(), 0, undefined, dedup)).rejects.toMatchObject({
    kind: 'unavailable',
  });
  expect((await plain.service.outcomes.find(dedup))?.result).toEqual({
    documentId: first.documentId,
    jobId: first.job.id,
  });
  const begun = { documentId: first.documentId, jobId: first.job.id };
  expect((await documents.added('c', begun, 0)).job.id).toBe(first.job.id);
  const forgotten = { ...begun, jobId: 'document-0' };
  await expect(documents.added('c', forgotten, 0)).rejects.toMatchObject({ kind: 'conflict' });
  // The file of the second is gone.
  expect(await wholes('/q/document-rooms/file/')).toBe(1);
  await drive();
  await eventually('it is stored', async () => (await items()).length === 1);
  expect(await documents.added('c', forgotten, 0)).toMatchObject({
    documentId: begun.documentId,
    job: { id: 'document-0', state: 'done', result: { outcome: 'stored', chunks: 1 } },
  });
});

describe('shares of the room', () => {
  const receive = (bytesMax: number, collection: string, holder?: string) =>
    plain.service.documents.receive(collection, { name: 'a.txt', content: bytesOf('Text.'), bytesMax, holder });
  const full = expect.objectContaining({ kind: 'overloaded', message: expect.stringContaining('left for all others') });

  test('nobody has more files than are left for others, collections and keys', async () => {
    // 20,000 files have room together.
    const room = { files: 9_998, bytes: 9_998 };
    for (const path of ['total', 'of/key:one'])
      await store.transact([], [{ type: 'put', key: `/q/document-rooms/${path}`, value: JSON.stringify(room) }]);
    await receive(5, 'c', 'one');
    await receive(5, 'c', 'one');
    await expect(receive(5, 'd', 'one')).rejects.toEqual(full);
    for (let i = 0; i < 3; i += 1) await receive(5, 'd', 'two');
  });

  test('what a collection that is gone left is given up: one that rests, too', async () => {
    const { job } = await added(LONG, { waitMs: 0 });
    await plain.service.jobs.pause(job.id);
    await plain.service.collections.delete('c');
    await drive();
    await eventually('it is cancelled', async () => (await plain.service.jobs.get(job.id)).state === 'cancelled');
    await eventually('nothing is left', async () => (await files()) === 0);
  });
});

test('a file that comes slowly is not taken for one that nobody needs, and one that broke off is', async () => {
  plain.service.close();
  let lateMs = 0;
  const clock: Clock = {
    wallMs: () => systemClock.wallMs() + lateMs,
    monotonicMs: () => systemClock.monotonicMs() + lateMs,
  };
  const { shards } = plain;
  plain = await plainService({ store, shards, clock });
  const steps = [0, 1, 2].map(() => {
    let pass = (): void => undefined;
    return { passed: new Promise<void>((resolve) => (pass = resolve)), pass: () => pass() };
  });
  let seen = 0;
  async function* slow(): AsyncGenerator<Buffer> {
    // More than is read of it before it takes room.
    yield Buffer.alloc(65 * 1024, 'A text. ');
    for (const { passed } of steps) {
      seen += 1;
      await passed;
      yield Buffer.from('A text. ');
    }
  }
  const received = plain.service.documents.receive('c', { name: 'a.txt', content: slow() });
  await eventually('it comes', async () => seen === 1);
  lateMs += 3 * 3_600_000;
  steps[0].pass();
  await eventually('more of it comes', async () => seen === 2);
  await plain.service.documents.receive('c', { name: 'b.txt', content: bytesOf('Of no job.') });
  await drive();
  expect(await wholes('/q/document-rooms/file/')).toBe(2);
  lateMs += 2 * 3_600_000;
  steps[1].pass();
  await eventually('more of it comes', async () => seen === 3);
  await drive();
  await eventually('the other one is gone', async () => (await wholes('/q/document-rooms/file/')) === 1);
  steps[2].pass();
  const { documentId } = await received.then((file) =>
    plain.service.documents.add(
      'c',
      {
        file,
        key: 'k',
        metadata: undefined,
        chunking: {},
        onExists: 'replace',
        expiresAt: undefined,
        textInMetadata: false,
      },
      60_000,
    ),
  );
  expect(await plain.service.documents.get('c', documentId)).toMatchObject({ bytes: 65 * 1024 + 24 });
});

test('what an ended job left is removed by the next sweep', async () => {
  await drive();
  const isLeft = (change: StoreChange): boolean =>
    change.type === 'delete' && change.key.startsWith('/q/document-files/');
  store.beforeTransact = async (changes) => {
    if (changes.some(isLeft)) throw new QuiverError('unavailable', 'the store is away');
  };
  expect((await added(SHORT)).job.state).toBe('done');
  await eventually('its room is given back', async () => (await wholes('/q/document-rooms/file/')) === 0);
  expect(await wholes('/q/document-files/')).toBe(1);
  store.beforeTransact = async () => undefined;
  await driver?.close();
  await drive();
  await eventually('its file is gone', async () => (await files()) === 0);
});

describe('a job whose beginning the store may have taken', () => {
  const begins = (changes: readonly { key: string }[]): boolean =>
    changes.some(({ key }) => key.startsWith('/q/jobs/'));

  const through = async (): Promise<void> => undefined;

  test('is answered where it can be seen', async () => {
    store.afterTransact = async (changes) => {
      if (begins(changes)) throw new QuiverError('commit_unknown', 'the answer was lost');
    };
    const { job } = await added(SHORT, { waitMs: 0 });
    store.afterTransact = through;
    await drive();
    await eventually('it is done', async () => (await plain.service.jobs.get(job.id)).state === 'done');
    expect(await texts()).toEqual([SHORT]);
  });

  test('has its file when it is seen later', async () => {
    let late: StoreChange[] = [];
    store.beforeTransact = async (changes) => {
      if (!begins(changes)) return;
      late = changes;
      throw new QuiverError('commit_unknown', 'the answer was lost');
    };
    await expect(added(SHORT, { waitMs: 0 })).rejects.toMatchObject({ kind: 'commit_unknown' });
    store.beforeTransact = through;
    await store.transact([], late);
    await drive();
    await eventually('it is stored', async () => (await items()).length > 0);
    await eventually('its file is gone', async () => (await files()) === 0);
  });

  test('has none where it surely has not begun', async () => {
    store.beforeTransact = async (changes) => {
      if (begins(changes)) throw new QuiverError('unavailable', 'the store is away');
    };
    await expect(added(SHORT, { waitMs: 0 })).rejects.toMatchObject({ kind: 'unavailable' });
    expect(await files()).toBe(0);
  });
});

test('what is written of a file that comes is not counted twice: it is off what the disk has left', async () => {
  const disk = { left: 200_000 };
  let ids = 0;
  const files = {
    left: async () => disk.left,
    put: async (_id: string, content: AsyncIterable<Buffer>) => {
      for await (const piece of content) disk.left -= piece.length;
    },
    delete: async () => undefined,
  };
  const nothing = async () => undefined;
  const requests = new DocumentRequests({
    files,
    room: { reserve: nothing, fill: nothing, touch: nothing, release: nothing },
    jobs: { newId: () => `document-${(ids += 1)}`, get: async () => null },
    catalog: { known: () => ({ identity: 'c' }) },
    obstacle: () => null,
    config: { uploadBytesMax: 200_000 },
    clock: systemClock,
  } as unknown as ConstructorParameters<typeof DocumentRequests>[0]);
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => (end = resolve));
  async function* large(): AsyncGenerator<Buffer> {
    yield Buffer.alloc(100_000, 'a');
    await ended;
    yield Buffer.alloc(20_000, 'b');
  }
  const receive = (content: AsyncIterable<Buffer>, bytesMax: number) =>
    requests.receive('c', { name: 'a.txt', content, bytesMax });
  const first = receive(large(), 120_000);
  await eventually('most of it is written', () => disk.left === 100_000);
  const other = () => bytesOf('c'.repeat(70_000));
  await expect(receive(other(), 80_001)).rejects.toMatchObject({ kind: 'overloaded' });
  expect(await receive(other(), 80_000)).toMatchObject({ type: 'txt' });
  end();
  expect(await first).toMatchObject({ bytes: 120_000 });
});
