import { ONLY_DRIVER } from '../../../../../coordinator/jobs/driving/owned-entry';
import type { RunningService } from '../../../../../coordinator/service-factory';
import { readDocument } from '../../../../../coordinator/service/documents/formats/read-document';
import type {
  DocumentSource,
  ParsedDocument,
} from '../../../../../coordinator/service/documents/formats/parsed-document';
import type { NewDocument } from '../../../../../coordinator/service/service';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { type Clock, systemClock } from '../../../../../shared/base/time/clock';
import { documentChunkId } from '../../../../../shared/contract/shard/chunk-id';
import type { WriteOperation } from '../../../../../shared/contract/shard/shard-client';
import { InterceptedClusterStore } from '../../../../support/cluster/intercepted-cluster-store';
import { eventually } from '../../../../support/eventually';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { PlainShardClient } from '../../../../support/shards/plain-shard-client';
import { newCollection, type PlainService, plainService } from '../../../../support/shards/plain-service';

/** The order of uploads and deletions of a document, over coordinators, their clocks, and their ends. */

let store: InterceptedClusterStore;
let shards: PlainShardClient;
/** Awaited before a write that has chunks. */
let beforeChunks: () => Promise<void>;
/** Awaited before a text is read. */
let beforeParsed: (text: string) => Promise<void>;
let running: PlainService[];
let drivers: { close(): Promise<void> }[];

beforeEach(async () => {
  store = new InterceptedClusterStore(await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() }));
  shards = new PlainShardClient({ clock: systemClock, dated: true });
  beforeChunks = async () => undefined;
  beforeParsed = async () => undefined;
  const write = shards.write.bind(shards);
  shards.write = async (id, operations, call) => {
    if (operations.some(hasChunk)) await beforeChunks();
    return write(id, operations, call);
  };
  running = [];
  drivers = [];
});
afterEach(async () => {
  for (const driver of drivers) await driver.close();
  for (const { service } of running) service.close();
});

const hasChunk = (operation: WriteOperation): boolean =>
  operation.type === 'upsert' && operation.externalId.startsWith('000000-');

async function parse({ content }: DocumentSource): Promise<ParsedDocument> {
  const bytes = 'bytes' in content ? Buffer.from(content.bytes) : Buffer.alloc(0);
  await beforeParsed(bytes.toString());
  return readDocument(bytes, 'txt', { charactersMax: 1_000 });
}

/** A coordinator of the cluster. */
async function coordinator(clock: Clock = systemClock): Promise<RunningService> {
  const plain = await plainService({ store, shards, clock, parser: { parse } });
  running.push(plain);
  if (running.length === 1) await plain.service.collections.create(newCollection('c', { dim: 3, shards: 5 }));
  else await plain.service.follow();
  return plain.service;
}

async function drive(service: RunningService): Promise<void> {
  drivers.push(await service.driveJobs(ONLY_DRIVER));
}

async function* bytesOf(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

async function add({ documents }: RunningService, text: string, waitMs = 60_000) {
  const file = await documents.receive('c', {
    name: 'a.txt',
    content: bytesOf(text),
    bytesMax: text.length,
  });
  const document: NewDocument = {
    file,
    key: 'k',
    metadata: undefined,
    chunking: {},
    onExists: 'replace',
    expiresAt: undefined,
    textInMetadata: false,
  };
  return documents.add('c', document, waitMs);
}

async function texts({ vectors }: RunningService): Promise<(string | null)[]> {
  const { pages } = await vectors.scroll('c', { cursor: null, limit: 100, filter: null, vectors: false });
  const found: (string | null)[] = [];
  for await (const page of pages) found.push(...page.map(({ text }) => text));
  return found;
}

const state = async (service: RunningService, id: string): Promise<string> => (await service.jobs.get(id)).state;
const isGone = (service: RunningService, id: string): Promise<void> =>
  expect(service.documents.get('c', id)).rejects.toMatchObject({ kind: 'not_found' });
const left = async (): Promise<string[]> =>
  (await store.list('/q/document-')).entries.map(({ key }) => key).filter((key) => key !== '/q/document-generation');

describe('a document that is deleted does not come back', () => {
  test('from a job that has not begun to run, which is cancelled', async () => {
    const service = await coordinator();
    const { documentId, job } = await add(service, 'Text.', 0);
    expect(await service.documents.delete('c', documentId)).toEqual({ deletedChunks: 0 });
    expect(await state(service, job.id)).toBe('cancelled');
    await eventually('nothing is left of it', async () => (await left()).length === 0);
    await expect(service.documents.delete('c', documentId)).rejects.toMatchObject({ kind: 'not_found' });
    await drive(service);
    await add(service, 'Later.');
    expect(await texts(service)).toEqual(['Later.']);
  });

  test('from an upload before the one that was stored', async () => {
    const service = await coordinator();
    const { job } = await add(service, 'Earlier.', 0);
    await service.jobs.pause(job.id);
    await drive(service);
    const { documentId } = await add(service, 'Later.');
    expect(await service.documents.delete('c', documentId)).toEqual({ deletedChunks: 1 });
    expect(await state(service, job.id)).toBe('cancelled');
    expect(await texts(service)).toEqual([]);
  });

  test('from one whose end was not noted, when another coordinator goes on with it', async () => {
    const first = await coordinator();
    const second = await coordinator();
    store.beforeTransact = async (changes) => {
      if (changes.some((change) => change.type === 'put' && change.value.includes('"state":"done"')))
        throw new QuiverError('unavailable', 'the store is away');
    };
    await drive(first);
    const { documentId, job } = await add(first, 'Text.', 0);
    await eventually('it is stored', async () => (await texts(first)).length > 0);
    await drivers[0].close();
    store.beforeTransact = async () => undefined;
    const deleted = second.documents.delete('c', documentId);
    await drive(second);
    expect(await deleted).toEqual({ deletedChunks: 1 });
    expect(await state(second, job.id)).toBe('done');
    expect(await texts(second)).toEqual([]);
    await isGone(second, documentId);
  });

  test('by a write that was on its way for long', async () => {
    const first = await coordinator();
    const second = await coordinator();
    let release = (): void => undefined;
    const held = new Promise<void>((open) => (release = open));
    let reached = 0;
    beforeChunks = () => {
      reached += 1;
      return reached === 1 ? held : Promise.resolve();
    };
    await drive(first);
    const { documentId, job } = await add(first, 'Text.', 0);
    await eventually('it is on its way', async () => reached === 1);
    // The first one does not run for a while, and another drives.
    await drive(second);
    await eventually('it is done', async () => (await state(second, job.id)) === 'done');
    expect(reached).toBe(2);
    expect(await second.documents.delete('c', documentId)).toEqual({ deletedChunks: 1 });
    release();
    await drivers[0].close();
    expect(await texts(second)).toEqual([]);
  });
});

describe('of two uploads the later one stays', () => {
  test('whatever the clocks of their coordinators say', async () => {
    const hourMs = 3_600_000;
    const ahead = await coordinator({ ...systemClock, wallMs: () => systemClock.wallMs() + hourMs });
    const right = await coordinator();
    await drive(right);
    await add(ahead, 'Earlier.', 60_000);
    const { job } = await add(right, 'Later.');
    expect(job.result).toMatchObject({ outcome: 'replaced' });
    expect(await texts(right)).toEqual(['Later.']);
    // Before either is stored, too.
    await drivers[0].close();
    const queued = [await add(ahead, 'Third.', 0), await add(right, 'Fourth.', 0)];
    await drive(await coordinator());
    for (const { job } of queued)
      await eventually(`${job.id} is done`, async () => (await state(right, job.id)) === 'done');
    expect(await texts(right)).toEqual(['Fourth.']);
  });

  test.each(['a new document', 'one that is there'])(
    'though it was stored while the earlier one was read: %s',
    async (what) => {
      const service = await coordinator();
      await drive(service);
      if (what !== 'a new document') await add(service, 'Before.');
      let release = (): void => undefined;
      let isReached = false;
      beforeParsed = async (text) => {
        if (text !== 'Earlier.') return;
        isReached = true;
        await new Promise<void>((open) => (release = open));
      };
      const earlier = await add(service, 'Earlier.', 0);
      await eventually('it is read', async () => isReached);
      await add(service, 'Later.');
      release();
      await eventually('it is done', async () => (await state(service, earlier.job.id)) === 'done');
      expect((await service.jobs.get(earlier.job.id)).result).toMatchObject({ outcome: 'overtaken' });
      expect(await texts(service)).toEqual(['Later.']);
    },
  );

  test.each([Number.MAX_SAFE_INTEGER, Number.MAX_VALUE, 1e15, -1, 'x'])(
    'though somebody wrote the generation %p',
    async (generation) => {
      const service = await coordinator();
      await drive(service);
      const { documentId } = await add(service, 'Earlier.');
      const metadata = { document_id: documentId, chunk_index: 0, document: { generation } };
      await service.vectors.upsert('c', [
        {
          externalId: documentChunkId(documentId, 0),
          source: { vector: Float32Array.of(1, 2, 3) },
          metadata: JSON.stringify(metadata),
          text: 'Forged.',
        },
      ]);
      const { job } = await add(service, 'Later.');
      expect(job.result).toMatchObject({ outcome: 'replaced' });
      expect(await texts(service)).toEqual(['Later.']);
    },
  );

  test('though the store was put back to before it was asked for', async () => {
    const service = await coordinator();
    const { job } = await add(service, 'Earlier.', 0);
    await service.jobs.pause(job.id);
    const generation = (await store.get('/q/document-generation'))!.value;
    await drive(service);
    await add(service, 'Later.');
    await store.transact([], [{ type: 'put', key: '/q/document-generation', value: generation }]);
    await service.jobs.resume(job.id);
    await eventually('it is done', async () => (await state(service, job.id)) === 'done');
    expect((await service.jobs.get(job.id)).result).toMatchObject({ outcome: 'overtaken' });
    expect(await texts(service)).toEqual(['Later.']);
  });

  test('where many are asked for at once, each has its turn', async () => {
    const services = [await coordinator(), await coordinator()];
    const added = await Promise.all(Array.from({ length: 40 }, (_, i) => add(services[i % 2], `Text ${i}.`, 0)));
    const generations = new Set<number>();
    for (const { job } of added) {
      const { value } = (await store.get(`/q/jobs/${job.id}`))!;
      generations.add((JSON.parse(value) as any).input.generation as number);
    }
    expect(generations.size).toBe(40);
    await drive(services[0]);
    for (const { job } of added)
      await eventually(`${job.id} is over`, async () => (await state(services[0], job.id)) === 'done');
    expect(await texts(services[0])).toHaveLength(1);
    await eventually('no turn is left', async () => (await left()).length === 0);
  });
});

describe('a job whose write fails', () => {
  test.each(['unavailable', 'commit_unknown'] as const)('as %s can be cancelled, and stores nothing', async (kind) => {
    const service = await coordinator();
    beforeChunks = async () => {
      throw new QuiverError(kind, 'the shard is away');
    };
    await drive(service);
    const { job, documentId } = await add(service, 'Text.', 0);
    await eventually('it can be cancelled', async () => {
      const { step } = await service.jobs.get(job.id);
      if (step === null) return false;
      return service.jobs.cancel(job.id).then(
        () => true,
        () => false,
      );
    });
    beforeChunks = async () => undefined;
    await isGone(service, documentId);
    expect(await state(service, job.id)).toBe('cancelled');
    await add(service, 'Another.');
    expect(await texts(service)).toEqual(['Another.']);
  });

  test('can’t rest while it may be under way', async () => {
    const service = await coordinator();
    let release = (): void => undefined;
    let isReached = false;
    beforeChunks = () => {
      isReached = true;
      return new Promise((open) => (release = open));
    };
    await drive(service);
    const { job } = await add(service, 'Text.', 0);
    await eventually('it writes', async () => isReached);
    await expect(service.jobs.pause(job.id)).rejects.toMatchObject({ kind: 'conflict' });
    release();
    await eventually('it is done', async () => (await state(service, job.id)) === 'done');
  });
});
