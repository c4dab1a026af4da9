import { ONLY_DRIVER, Superseded } from '../../../../../coordinator/jobs/driving/owned-entry';
import { jobPath } from '../../../../../coordinator/jobs/record/job-record';
import { ItemEmbedder } from '../../../../../coordinator/jobs/reshard/item-embedder';
import { reshardJob } from '../../../../../coordinator/jobs/reshard/reshard-job-view';
import { OwnedReshard } from '../../../../../coordinator/jobs/reshard/owned-reshard';
import type { VectorComparison } from '../../../../../coordinator/jobs/reshard/vector-comparison';
import { ReshardPass } from '../../../../../coordinator/jobs/reshard/reshard-pass';
import {
  collectionPath,
  type CollectionRecord,
  collectionToValue,
} from '../../../../../coordinator/service/collections/collection-record';
import {
  type Compared,
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
import type { StoredItem } from '../../../../../shared/contract/shard/shard-read';
import type { ShardStage } from '../../../../../shared/contract/shard/shard-stage';
import { eventually } from '../../../../support/eventually';
import { ManualClock } from '../../../../support/manual-clock';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { keptFor, reembedRecord } from '../../../../support/shards/reembed-record';

/** Passes of a reembed over one shard that clients use, of which the changes are real, and one that follows. */

const KEY = reshardPath('c');
const HOUR_MS = 3_600_000;
const NOTHING_COMPARED: Compared = { queries: 0, overlap: null, ndcg: null, bytes: { before: 0, after: 0 } };

let store: KeyValueClusterStore;
let clock: ManualClock;
/** Ids that changed, in their order, and the texts that the items have now; null: none. */
let changes: string[];
let texts: Map<string, string | null>;
/** By the number of the shard in use, what there is to copy. */
let copied: StoredItem[][];
/** The last version that the shard in use gave. */
let versions: number;
/** The term since which the shard notes its changes. */
let since: number;
/** Items in the shard that follows, by id, with the texts that their vectors are of. */
let followed: Map<string, StoredItem>;
/** Whether it tells who fills it what it has. */
let isTold: boolean;
/** What happens when a stage is given to a shard, and when texts are embedded. */
let staged: (id: ShardId, stage: ShardStage) => void;
let embedded: (texts: readonly string[]) => void;
/** Is told how much clients may write in a second. */
let limited: (perSecond: number) => void;
/** What a comparison finds. */
let compared: () => Compared;

beforeEach(async () => {
  store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  clock = new ManualClock();
  changes = [];
  texts = new Map();
  since = 1;
  copied = [];
  versions = 0;
  followed = new Map();
  isTold = true;
  staged = () => undefined;
  embedded = () => undefined;
  limited = () => undefined;
  compared = () => {
    throw new Error('it was compared before');
  };
});
afterEach(() => store.close());

function write(externalId: string, text: string | null = 'a text'): void {
  texts.set(externalId, text);
  changes.push(externalId);
}

function answerOf(
  { collectionUid, shard }: ShardId,
  kind: string,
  request: { after: number; limit: number; writesPerSecond?: number; externalIds: string[] },
): unknown {
  if (kind === 'fetch' && collectionUid === 'other') {
    if (!isTold) throw new QuiverError('resharded', 'it is filled');
    return request.externalIds.map((externalId) => followed.get(externalId) ?? null);
  }
  if (kind === 'fetch')
    return request.externalIds.map((externalId) =>
      texts.has(externalId) ? { externalId, stamp: 1, metadata: '{}', text: texts.get(externalId) } : null,
    );
  if (kind === 'scan') return request.after === null ? copied[shard] : [];
  if (kind === 'status') return { lastStamp: 1 };
  if (request.writesPerSecond !== undefined) limited(request.writesPerSecond);
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
    lastVersion: collectionUid === 'used' ? versions : 0,
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
        else followed.set(operation.externalId, { ...operation.item, externalId: operation.externalId } as StoredItem);
      }
    return { outcomes: operations.map(() => 'updated'), firstVersion: 0, present: [] };
  },
  read: async (id: ShardId, kind: string, request: Parameters<typeof answerOf>[2]) => answerOf(id, kind, request),
} as unknown as ShardClient;

async function reembedding(
  state: ReshardRecord['state'],
  reembed: Partial<Reembed>,
  ofCollection: Partial<CollectionRecord> = {},
): Promise<void> {
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
    ...ofCollection,
  });
  const record = reembedRecord(state, reembed, clock);
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
  return reembedding('kept', { ...keptFor(clock), ...more });
}

async function recordNow(): Promise<ReshardRecord> {
  return reshardFromEntry((await store.get(KEY))!);
}

async function jobNow(): Promise<unknown> {
  return JSON.parse((await store.get(jobPath('reembed-r')))!.value) as unknown;
}

/** `stop`: ends what would follow clients without an end. */
async function drive(stop = new AbortController().signal): Promise<void> {
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
      comparison: () => ({ of: async () => compared() }) as unknown as VectorComparison,
    },
    log: silentLogger,
    stop,
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

test('texts that come between the last look and the seal are embedded before clients wait', async () => {
  write('a');
  let fillings = 0;
  let left = -1;
  embedded = (some) => clock.advance(some.length * 50);
  staged = ({ collectionUid }, stage) => {
    if (collectionUid === 'other' && stage === 'filling') fillings += 1;
    if (collectionUid === 'other' && stage === 'filling' && fillings === 2) for (const id of ['b', 'c', 'd']) write(id);
    if (collectionUid === 'used' && stage === 'sealed') left = changes.length - followed.size;
  };
  await reembedding('ready', {});
  await drive();
  expect(left).toBe(0);
  expect([...followed.keys()]).toEqual(['a', 'b', 'c', 'd']);
});

test('an item that the model of before can not make is in the way of going back alone, until it can be made', async () => {
  write('a');
  write('bare', null);
  write('b');
  followed.set('bare', { externalId: 'bare', stamp: 1, metadata: '{}', text: 'before' });
  await kept({ wanted: 'back' });
  await drive();
  const { state, reembed, waitsFor, sources } = await recordNow();
  expect(state).toBe('kept');
  expect(reembed).toMatchObject({ unmade: ['bare'] });
  expect(reembed?.wanted).toBeUndefined();
  expect(waitsFor).toContain('makes no vector of 1 item, such as "bare"');
  expect(sources[0].change).toBe(3);
  // What it was before is not what it is now.
  expect([...followed.keys()]).toEqual(['a', 'b']);

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
  expect(new Set(followed.keys())).toEqual(new Set(['a', 'b', 'bare']));
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
  expect([...followed.keys()]).toEqual(['a']);
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

test('what changed without another text keeps its vector, and is not embedded', async () => {
  for (const externalId of ['a', 'b', 'c']) write(externalId, `text of ${externalId}`);
  await kept();
  followed.set('a', {
    externalId: 'a',
    stamp: 0,
    metadata: '{"old":1}',
    text: 'text of a',
    vector: Float32Array.of(7, 7),
  });
  followed.set('b', { externalId: 'b', stamp: 0, metadata: '{}', text: 'another text', vector: Float32Array.of(7, 7) });
  const made: string[] = [];
  embedded = (some) => void made.push(...some);
  const over = new AbortController();
  const following = drive(over.signal);
  await eventually('all are followed', () => followed.has('c'));
  over.abort();
  await expect(following).rejects.toBeInstanceOf(Superseded);
  expect(made).toEqual(['text of b', 'text of c']);
  expect(followed.get('a')).toMatchObject({ metadata: '{}', vector: Float32Array.of(7, 7) });
  expect(followed.get('b')).toMatchObject({ text: 'text of b', vector: Float32Array.of(1, 0) });
});

test('a node that does not tell what it is filled with has all of them embedded', async () => {
  write('a');
  isTold = false;
  await kept({ wanted: 'back' });
  await drive();
  expect((await recordNow()).state).toBe('retiring');
  expect(followed.get('a')?.vector).toEqual(Float32Array.of(1, 0));
});

test('who switches by itself does not where the collection would take no items afterwards', async () => {
  const bytes = { before: 10, after: 30 };
  compared = () => ({ ...NOTHING_COMPARED, bytes });
  await reembedding('filling', { compared: undefined }, { quota: { items: null, bytes: 20 } });
  const over = new AbortController();
  const following = drive(over.signal);
  await eventually('it is told', async () => (await recordNow()).waitsFor !== undefined);
  over.abort();
  await expect(following).rejects.toBeInstanceOf(Superseded);
  const record = await recordNow();
  expect(record).toMatchObject({
    state: 'ready',
    waitsFor: expect.stringMatching(/beyond its quota of 20 \(quota.bytes\).*POST \/v1\/jobs\/reembed-r\/switch/),
  });
  expect(reshardJob(record, clock.wallMs()).result).toMatchObject({
    warning: expect.stringMatching(
      /^with the new vectors the collection takes 30 bytes of disk, beyond its quota of 20/,
    ),
  });
  // Whoever asks for it has read that.
  const value = reshardToValue({ ...record, reembed: { ...record.reembed!, wanted: 'switch' } });
  await store.transact([], [{ type: 'put', key: KEY, value }]);
  await drive();
  expect((await recordNow()).state).toBe('retiring');
});

test('clients that write faster than the model are told of, and slowed where somebody waits for the switch', async () => {
  // Each text takes a tenth of a second, and two are written meanwhile, until clients have to write less.
  let isFast = true;
  embedded = (some) => {
    clock.advance(some.length * 100);
    if (isFast) for (let n = 0; n < some.length * 2; n += 1) write(`w-${changes.length}`);
  };
  for (let n = 0; n < 40; n += 1) write(`w-${n}`);
  const asked: number[] = [];
  limited = (perSecond) => {
    asked.push(perSecond);
    isFast = false;
  };
  const told = new Set<string>();
  await reembedding('ready', {});
  const unwatch = store.watch(KEY, (await store.list(KEY)).revision, (events) => {
    for (const event of events) if (event.type === 'put') told.add(reshardFromEntry(event).waitsFor ?? '');
  });
  await drive();
  unwatch();
  expect((await recordNow()).state).toBe('retiring');
  expect(Math.max(...asked)).toBeLessThan(20);
  expect([...told]).toContainEqual(
    expect.stringMatching(
      /^clients write faster than texts are embedded: \d+ changes wait, and clients may write \d+ op/,
    ),
  );
});

test('the vectors of before are not kept where clients write faster than their model', async () => {
  await kept();
  write('a');
  for (let n = 0; n < 200_100; n += 1) changes.push('a');
  let n = 0;
  embedded = (some) => {
    clock.advance(600);
    for (let i = 0; i < 3_000; i += 1) write('a', `text ${(n += 1)} of ${some.length}`);
  };
  await drive();
  expect(await jobNow()).toMatchObject({
    state: 'done',
    error: expect.stringMatching(
      /changes wait for the vectors of before: clients write faster than texts are embedded$/,
    ),
  });
});

test('what is noted for a job that is paused has a bound', async () => {
  await reembedding('ready', { isPaused: true });
  for (let n = 0; n < 1_000_000; n += 1) changes.push('a');
  await drive();
  expect(await recordNow()).toMatchObject({ state: 'ready', error: null });
  changes.push('a');
  await drive();
  expect(await recordNow()).toMatchObject({
    state: 'cancelling',
    error: 'it was paused while 1000001 changes were written, which its shards note: begin it anew',
  });
});

test('there is a way back to the model of a first text that came after it began', async () => {
  await reembedding('ready', { wanted: 'switch', switch: 'manual', keepHours: 1 });
  const record = await recordNow();
  const from = { ...record.from, model: { dim: 2, embeddingModel: null, embedding: null } };
  await store.transact([], [{ type: 'put', key: KEY, value: reshardToValue({ ...record, from }) }]);
  await drive();
  expect(await recordNow()).toMatchObject({ state: 'kept', to: { uid: 'used', model: { embeddingModel: 'm' } } });
});

test.each([
  ['filling', 'paused'],
  ['ready', 'paused'],
  ['cancelling', 'running'],
  ['failed', 'failed'],
] as const)('a paused job that is %s is shown as %s', async (state, shown) => {
  await reembedding(state, { isPaused: true });
  expect(reshardJob(await recordNow(), clock.wallMs()).state).toBe(shown);
});

/** What a pass asks of shards and of the store from the seal on, each once. */
async function askedFromTheSeal(begin: () => Promise<void>): Promise<string[]> {
  const asked: string[] = [];
  const note = (what: string): void => void (asked.length === 0 && what !== 'used: sealed' ? 0 : asked.push(what));
  const plain = { write: shards.write, read: shards.read };
  jest.spyOn(shards, 'write').mockImplementation((id, operations, call) => {
    note(`${id.collectionUid}: ${operations.map((one) => (one.type === 'stage' ? one.stage : one.type)).join(' + ')}`);
    return plain.write(id, operations, call);
  });
  jest.spyOn(shards, 'read').mockImplementation((id, kind, request, call) => {
    note(`${id.collectionUid}: ${kind}`);
    return plain.read(id, kind, request, call);
  });
  const transact = store.transact.bind(store);
  jest.spyOn(store, 'transact').mockImplementation(async (guards, some) => {
    const put = some.find((change) => change.type === 'put' && change.key === KEY) as { value: string } | undefined;
    const record = some.some(({ key }) => key === collectionPath('c')) ? ' with the collection' : '';
    if (put !== undefined) note(`${reshardFromEntry({ key: KEY, value: put.value }).state}${record}`);
    return transact(guards, some);
  });
  try {
    await begin();
    await drive();
  } finally {
    jest.restoreAllMocks();
  }
  return asked;
}

const SEALED_WITH_A_CHANGE = [
  'used: sealed',
  'used: transfer',
  'other: fetch',
  'used: fetch',
  'other: import',
  'used: closed',
  'opening',
];

test('clients wait for each step once, and new shards open once the old ones are closed', async () => {
  staged = ({ collectionUid }, stage) => {
    if (collectionUid === 'used' && stage === 'sealed') write('late');
  };
  const asked = await askedFromTheSeal(() => reembedding('ready', { keepHours: 1 }));
  expect(asked).toEqual([
    ...SEALED_WITH_A_CHANGE,
    'other: open + tracking',
    'other: transfer',
    'kept with the collection',
  ]);
  expect(followed.has('late')).toBe(true);
});

test('where no way back is kept, nobody waits for what would follow it', async () => {
  staged = ({ collectionUid }, stage) => {
    if (collectionUid === 'used' && stage === 'sealed') write('late');
  };
  const asked = await askedFromTheSeal(() => reembedding('ready', {}));
  expect(asked).toEqual([...SEALED_WITH_A_CHANGE, 'other: open', 'retiring with the collection']);
});

test('who goes on where another one stopped asks the old shards for their last versions', async () => {
  versions = 7;
  const floors: unknown[] = [];
  const plain = shards.write;
  jest.spyOn(shards, 'write').mockImplementation((id, operations, call) => {
    for (const one of operations) if (one.type === 'stage' && one.stage === 'open') floors.push(one.versionFloor);
    return plain(id, operations, call);
  });
  await reembedding('opening', { keepHours: 1 });
  await drive();
  jest.restoreAllMocks();
  expect(floors).toEqual([7]);
  expect((await recordNow()).state).toBe('kept');
});

test('just before the switch a shard takes 25 writes a second, however slow the model is', async () => {
  write('a');
  const asked: number[] = [];
  limited = (perSecond) => void asked.push(perSecond);
  let fillings = 0;
  staged = ({ collectionUid }, stage) => {
    if (collectionUid === 'other' && stage === 'filling') fillings += 1;
  };
  embedded = (some) => {
    clock.advance(some.length * 400);
    // One that is written during each look of the last second.
    if (fillings === 2) write(`w-${changes.length}`);
  };
  await reembedding('ready', {});
  staged = ((before) => (id: ShardId, stage: ShardStage) => {
    before(id, stage);
    if (fillings === 2 && stage === 'filling') write('b');
  })(staged);
  await drive();
  expect(asked.length).toBeGreaterThan(0);
  expect(Math.min(...asked)).toBeGreaterThanOrEqual(25);
});

test('clients are not slowed for changes that take no time', async () => {
  changes.push('gone');
  const asked: number[] = [];
  limited = (perSecond) => void asked.push(perSecond);
  let fillings = 0;
  let left = 5;
  staged = ({ collectionUid }, stage) => {
    if (collectionUid !== 'other' || stage !== 'filling' || (fillings += 1) !== 2) return;
    changes.push('gone');
  };
  await reembedding('ready', {});
  const { write: plain } = shards;
  jest.spyOn(shards, 'write').mockImplementation(async (id, operations, call) => {
    // One that is deleted during each look of the last second.
    if (fillings === 2 && operations.some(({ type }) => type === 'import') && (left -= 1) > 0) changes.push('gone');
    return plain(id, operations, call);
  });
  await drive();
  jest.restoreAllMocks();
  expect(left).toBe(0);
  expect(asked).toEqual([]);
  expect((await recordNow()).state).toBe('retiring');
});

test('the model has texts of the next shard while the last ones of a shard are stored', async () => {
  copied = ['a', 'b'].map((externalId) => [{ externalId, stamp: 1, metadata: '{}', text: `text ${externalId}` }]);
  await reembedding('filling', {});
  const record = await recordNow();
  const sources = [0, 1].map(() => ({ ...NOTHING_COPIED, since: 1 }));
  const value = reshardToValue({
    ...record,
    from: { ...record.from, shards: 2 },
    to: { ...record.to, shards: 2 },
    sources,
  });
  await store.transact([], [{ type: 'put', key: KEY, value }]);
  const order: string[] = [];
  embedded = (some) => void order.push(...some);
  const { write: plain } = shards;
  jest.spyOn(shards, 'write').mockImplementation(async (id, operations, call) => {
    for (const one of operations) if (one.type === 'import') order.push(`import ${one.externalId}`);
    return plain(id, operations, call);
  });
  await drive();
  jest.restoreAllMocks();
  expect(order).toEqual(['text a', 'text b', 'import a', 'import b']);
  expect(await recordNow()).toMatchObject({ state: 'retiring', copied: 2 });
});
