import { ONLY_DRIVER } from '../../../../../coordinator/jobs/driving/owned-entry';
import { jobPath } from '../../../../../coordinator/jobs/record/job-record';
import { ItemEmbedder } from '../../../../../coordinator/jobs/reshard/item-embedder';
import { OwnedReshard } from '../../../../../coordinator/jobs/reshard/owned-reshard';
import { ReshardPass } from '../../../../../coordinator/jobs/reshard/reshard-pass';
import { collectionPath, collectionToValue } from '../../../../../coordinator/service/collections/collection-record';
import {
  NOTHING_COPIED,
  type Reembed,
  reshardFromEntry,
  type ReshardRecord,
  reshardPath,
  reshardToValue,
} from '../../../../../coordinator/service/collections/reshard-record';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';
import { silentLogger } from '../../../../../shared/base/logs/logger';
import type { ShardClient, ShardId, WriteOperation } from '../../../../../shared/contract/shard/shard-client';
import type { ShardStage } from '../../../../../shared/contract/shard/shard-stage';
import { ManualClock } from '../../../../support/manual-clock';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';

/** Passes of a reembed over one shard that clients use, of which the changes are real, and one that follows. */

const KEY = reshardPath('c');
const HOUR_MS = 3_600_000;

let store: KeyValueClusterStore;
let clock: ManualClock;
/** Ids that changed, in their order, and the texts that the items have now; null: none. */
let changes: string[];
let texts: Map<string, string | null>;
/** The term since which the shard notes its changes. */
let since: number;
/** Ids in the shard that follows. */
let followed: Set<string>;
/** What happens when a stage is given to a shard, and when texts are embedded. */
let staged: (id: ShardId, stage: ShardStage) => void;
let embedded: (texts: readonly string[]) => void;

beforeEach(async () => {
  store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  clock = new ManualClock();
  changes = [];
  texts = new Map();
  since = 1;
  followed = new Set();
  staged = () => undefined;
  embedded = () => undefined;
});
afterEach(() => store.close());

function write(externalId: string, text: string | null = 'a text'): void {
  texts.set(externalId, text);
  changes.push(externalId);
}

function answerOf(
  { collectionUid }: ShardId,
  kind: string,
  request: { after: number; limit: number; externalIds: string[] },
): unknown {
  if (kind === 'fetch')
    return request.externalIds.map((externalId) =>
      texts.has(externalId) ? { externalId, stamp: 1, metadata: '{}', text: texts.get(externalId) } : null,
    );
  const lastChange = collectionUid === 'used' ? changes.length : 0;
  const upTo = Math.min(lastChange, request.after + request.limit);
  return {
    stage: collectionUid === 'used' ? 'tracking' : 'filling',
    reshard: 'r',
    since,
    lastChange,
    upTo,
    externalIds: changes.slice(request.after, upTo),
    lastMark: 0,
    lastVersion: 0,
    index: null,
    vectorCount: 0,
  };
}

const shards = {
  make: async () => undefined,
  open: async () => undefined,
  write: async (id: ShardId, operations: WriteOperation[]) => {
    for (const operation of operations)
      if (operation.type === 'stage') staged(id, operation.stage);
      else if (operation.type === 'import') {
        if (operation.item === null) followed.delete(operation.externalId);
        else followed.add(operation.externalId);
      }
    return { outcomes: operations.map(() => 'updated'), firstVersion: 0, present: [] };
  },
  read: async (id: ShardId, kind: string, request: Parameters<typeof answerOf>[2]) => answerOf(id, kind, request),
} as unknown as ShardClient;

async function reembedding(state: ReshardRecord['state'], reembed: Partial<Reembed>): Promise<void> {
  const collection = collectionToValue({
    uid: 'used',
    identity: 'c',
    name: 'c',
    shards: 1,
    replicas: 1,
    minInSync: 1,
    dim: 2,
    metric: 'cosine',
    description: null,
    language: null,
    quantization: 'int8',
    createdAt: '',
    embeddingModel: 'm',
    state: 'ready',
  });
  const model = { dim: 2, embeddingModel: 'm', embedding: null };
  const record: ReshardRecord = {
    id: 'r',
    identity: 'c',
    name: 'c',
    from: { uid: 'used', shards: 1, model },
    to: { uid: 'other', shards: 1, model },
    earlier: [],
    replicas: 1,
    state,
    term: 1,
    startedAt: new Date(clock.wallMs()).toISOString(),
    error: null,
    sources: [{ ...NOTHING_COPIED, since: 1, isCopied: true }],
    copied: 0,
    total: 0,
    behind: 0,
    reembed: {
      onNoText: 'fail',
      compare: { sample: 1 },
      switch: 'auto',
      keepHours: 0,
      isChecked: true,
      dropped: 0,
      compared: { queries: 0, overlap: null, ndcg: null, bytes: { before: 0, after: 0 } },
      ...reembed,
    },
  };
  await store.transact(
    [],
    [
      { type: 'put', key: collectionPath('c'), value: collection },
      { type: 'put', key: KEY, value: reshardToValue(record) },
    ],
  );
}

/** One that has switched, and keeps the vectors of before for an hour. */
function kept(more: Partial<Reembed> = {}): Promise<void> {
  const keptUntil = clock.wallMs() + HOUR_MS;
  const switchedAt = new Date(clock.wallMs()).toISOString();
  return reembedding('kept', { keepHours: 1, isBack: true, keptUntil, switchedAt, ...more });
}

async function recordNow(): Promise<ReshardRecord> {
  return reshardFromEntry((await store.get(KEY))!);
}

async function jobNow(): Promise<unknown> {
  return JSON.parse((await store.get(jobPath('reembed-r')))!.value) as unknown;
}

async function drive(): Promise<void> {
  const entry = (await store.get(KEY))!;
  const owned = await OwnedReshard.take(
    { store, leadership: ONLY_DRIVER },
    { record: reshardFromEntry(entry), revision: entry.revision },
  );
  const model = {
    name: 'm',
    dim: 2,
    embed: async (some: string[]) => {
      embedded(some);
      return some.map(() => Float32Array.from([1, 0]));
    },
  };
  await new ReshardPass(owned, {
    store,
    shards,
    clock,
    restores: { isRestoring: async () => false, finalNote: async () => ({ guards: [], changes: [] }) },
    reembedding: {
      vectors: new ItemEmbedder({ clock, embedding: { modelFor: async () => model } }),
      comparison: () => {
        throw new Error('it was compared before');
      },
    },
    log: silentLogger,
    stop: new AbortController().signal,
  }).run();
}

test('clients wait for few texts only, however much they wrote while others were embedded', async () => {
  const writes = [300, 120, 40, 8];
  const many = (): void => {
    for (let n = writes.shift() ?? 0; n > 0; n -= 1) write(`w-${changes.length}`);
  };
  many();
  // Each text takes a tenth of a second, and what is written meanwhile is known to nobody who looked before.
  let made = 0;
  embedded = (some) => {
    clock.advance(some.length * 100);
    made += some.length;
    if (made === changes.length) many();
  };
  await reembedding('filling', {});
  let left = -1;
  staged = ({ collectionUid }, stage) => {
    if (collectionUid === 'used' && stage === 'sealed' && left < 0) left = changes.length - followed.size;
  };
  await drive();
  expect(writes).toEqual([]);
  expect(left).toBeGreaterThanOrEqual(0);
  expect(left).toBeLessThanOrEqual(16);
  expect((await recordNow()).state).toBe('retiring');
  expect(followed.size).toBe(changes.length);
});

test('an item that the model of before can not make is in the way of going back alone, until it can be made', async () => {
  write('a');
  write('bare', null);
  write('b');
  followed.add('bare');
  await kept({ wanted: 'back' });
  await drive();
  const { state, reembed, waitsFor, sources } = await recordNow();
  expect(state).toBe('kept');
  expect(reembed).toMatchObject({ unmade: ['bare'] });
  expect(reembed?.wanted).toBeUndefined();
  expect(waitsFor).toContain('makes no vector of 1 item, such as "bare"');
  expect(sources[0].change).toBe(3);
  // What it was before is not what it is now.
  expect([...followed]).toEqual(['a', 'b']);

  write('bare', 'a text');
  await store.transact(
    [],
    [
      {
        type: 'put',
        key: KEY,
        value: reshardToValue({ ...(await recordNow()), reembed: { ...reembed!, wanted: 'back' } }),
      },
    ],
  );
  await drive();
  expect(followed).toEqual(new Set(['a', 'b', 'bare']));
  expect((await recordNow()).state).toBe('retiring');
});

test('with too many of them the vectors of before are kept no longer, and it is told why', async () => {
  for (let i = 0; i < 150; i += 1) write(`bare-${i}`, null);
  await kept();
  await drive();
  expect(await store.get(KEY)).toBeNull();
  expect(await jobNow()).toMatchObject({
    state: 'done',
    error: expect.stringContaining('makes no vector of 150 items'),
    result: { kept_until: null },
  });
});

test('a shard that has forgotten what changed ends the way back, and the new vectors stay', async () => {
  await kept({ wanted: 'back' });
  since = 5;
  const stages: string[] = [];
  staged = ({ collectionUid }, stage) => void stages.push(`${collectionUid} ${stage}`);
  await drive();
  expect(stages.at(-1)).toBe('used open');
  expect(await store.get(KEY)).toBeNull();
  expect(await jobNow()).toMatchObject({ state: 'done', error: expect.stringContaining('has forgotten') });
});

test('changes that nobody takes over are not noted without a bound', async () => {
  await kept();
  for (let i = 0; i < 200_001; i += 1) changes.push('a');
  texts.set('a', 'a text');
  embedded = () => {
    throw new QuiverError('unavailable', 'the model of before is away');
  };
  await drive();
  expect(await jobNow()).toMatchObject({
    state: 'done',
    error: '200001 changes wait for the vectors of before: the model of before is away',
  });
});

test('the way back ends in time, however long texts take', async () => {
  await kept();
  for (let i = 0; i < 100; i += 1) write(`w-${i}`);
  let made = 0;
  embedded = (some) => {
    made += some.length;
    clock.advance(20 * 60_000);
  };
  await drive();
  expect(await store.get(KEY)).toBeNull();
  expect(await jobNow()).toMatchObject({ state: 'done', error: null });
  expect(made).toBeLessThan(100);
});

test('what is left out of changes counts as well, each item once', async () => {
  for (const externalId of ['bare', 'a', 'bare']) write(externalId, externalId === 'a' ? 'a text' : null);
  await reembedding('filling', { onNoText: 'drop', dropped: 3 });
  let isChanged = false;
  embedded = () => {
    if (!isChanged) for (const externalId of ['bare', 'bare too']) write(externalId, null);
    isChanged = true;
  };
  await drive();
  expect(followed).toEqual(new Set(['a']));
  expect((await recordNow()).reembed).toMatchObject({ dropped: 5 });
});

test('once it begins to forget what changed there is no way back, whoever has it kept for longer', async () => {
  await kept({ keptUntil: clock.wallMs() });
  staged = ({ collectionUid }, stage) => {
    if (collectionUid !== 'used' || stage !== 'open') return;
    clock.advance(60_000);
    throw new QuiverError('unavailable', 'the shard is away');
  };
  await expect(drive()).rejects.toMatchObject({ kind: 'unavailable' });
  const record = await recordNow();
  expect(record.reembed).toMatchObject({ isEnding: true });
  staged = () => undefined;
  // A record as one with a clock that is behind would have left it.
  const keptUntil = clock.wallMs() + HOUR_MS;
  await store.transact(
    [],
    [{ type: 'put', key: KEY, value: reshardToValue({ ...record, reembed: { ...record.reembed!, keptUntil } }) }],
  );
  await drive();
  expect(await store.get(KEY)).toBeNull();
  expect(await jobNow()).toMatchObject({ state: 'done', error: null });
});
