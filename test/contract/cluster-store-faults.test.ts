import { KeyValueClusterStore } from '../../embedded/cluster-store/key-value-cluster-store';
import type { KeyValueChange } from '../../node/engine/kv/key-value-store';
import { MemoryKeyValueStore } from '../support/models/memory-key-value-store';
import type { StoreEvent } from '../../shared/cluster-store/cluster-store';
import { QuiverError } from '../../shared/base/errors/quiver-error';

/** The embedded cluster store when its medium fails or is slow, and what it promises about synced, shared writes. */

class FaultyMedium extends MemoryKeyValueStore {
  nextWrite: 'succeeds' | 'fails' | 'fails after it landed' = 'succeeds';
  readable = true;
  recoverable = true;
  batches: { changes: number; sync: boolean }[] = [];

  override async write(changes: KeyValueChange[], options: { sync: boolean } = { sync: false }): Promise<void> {
    const mode = this.nextWrite;
    this.nextWrite = 'succeeds';
    await new Promise((resolve) => setImmediate(resolve));
    if (mode !== 'fails') await super.write(changes);
    if (mode !== 'succeeds') throw new QuiverError('storage_failed', 'the disk said no');
    this.batches.push({ changes: changes.length, sync: options.sync });
  }

  override async recover(): Promise<void> {
    if (!this.recoverable) throw new QuiverError('storage_failed', 'the disk is still full');
  }

  override async get(key: Buffer): Promise<Buffer | undefined> {
    if (!this.readable) throw new QuiverError('storage_failed', 'the disk said nothing');
    return super.get(key);
  }
}

const put = (key: string, value: string) => [{ type: 'put' as const, key, value }];

let medium: FaultyMedium;
let store: KeyValueClusterStore;
let events: StoreEvent[];

beforeEach(async () => {
  medium = new FaultyMedium();
  store = await KeyValueClusterStore.open({ store: medium });
  events = [];
  store.watch('', 0, (batch) => events.push(...batch));
  await store.transact([], put('a', '1'));
});

afterEach(() => store.close());

test('a write that failed and did not land is unknown to the caller, and gone', async () => {
  medium.nextWrite = 'fails';
  await expect(store.transact([], put('a', '2'))).rejects.toMatchObject({ kind: 'commit_unknown' });
  expect(await store.transact([], put('b', '1'))).toEqual({ applied: true, revision: 2 });
  expect((await store.get('a'))?.value).toBe('1');
  expect(events.map((event) => [event.key, event.revision])).toEqual([
    ['a', 1],
    ['b', 2],
  ]);
});

test('a write that failed but landed shows before the next transaction is decided', async () => {
  medium.nextWrite = 'fails after it landed';
  await expect(store.transact([], put('a', '2'))).rejects.toMatchObject({ kind: 'commit_unknown' });
  expect((await store.transact([{ key: 'a', revision: 1 }], put('a', '3'))).applied).toBe(false);
  expect((await store.get('a'))?.value).toBe('2');
  expect(await store.transact([], put('b', '1'))).toEqual({ applied: true, revision: 3 });
  expect(events.map((event) => [event.key, event.revision])).toEqual([
    ['a', 1],
    ['a', 2],
    ['b', 3],
  ]);
});

test('nothing is decided while it can not be found out what a failed write did', async () => {
  medium.nextWrite = 'fails after it landed';
  await expect(store.transact([], put('a', '2'))).rejects.toMatchObject({ kind: 'commit_unknown' });
  medium.readable = false;
  await expect(store.transact([], put('a', '3'))).rejects.toMatchObject({ kind: 'unavailable' });
  medium.readable = true;
  expect(await store.transact([{ key: 'a', revision: 2 }], put('a', '3'))).toEqual({ applied: true, revision: 3 });
});

test('after a failed write nothing is written before the medium has recovered, and reads go on', async () => {
  medium.nextWrite = 'fails';
  await expect(store.transact([], put('a', '2'))).rejects.toMatchObject({ kind: 'commit_unknown' });
  medium.recoverable = false;
  await expect(store.transact([], put('a', '3'))).rejects.toMatchObject({ kind: 'unavailable' });
  expect((await store.get('a'))?.value).toBe('1');
  medium.recoverable = true;
  expect(await store.transact([], put('a', '4'))).toEqual({ applied: true, revision: 2 });
});

test('nobody sees a change before it is stored', async () => {
  const answered = store.transact([], put('a', '2'));
  await Promise.resolve();
  expect((await store.get('a'))?.value).toBe('1');
  expect(events).toHaveLength(1);
  await answered;
  expect((await store.get('a'))?.value).toBe('2');
});

test('transactions that come together share synced writes, and each is decided on the ones before it', async () => {
  medium.batches = [];
  const results = await Promise.all(
    Array.from({ length: 100 }, (_, i) => store.transact([{ key: 'once', revision: 0 }], put('once', String(i)))),
  );
  expect(results.filter((result) => result.applied)).toHaveLength(1);
  expect(results[0].applied).toBe(true);
  expect((await store.get('once'))?.value).toBe('0');
  await Promise.all(Array.from({ length: 100 }, (_, i) => store.transact([], put(`k/${i}`, ''))));
  expect(medium.batches.length).toBeLessThan(10);
  expect(medium.batches.every((batch) => batch.sync)).toBe(true);
});

test('close waits for what was asked before it', async () => {
  const answers = Promise.all([store.transact([], put('x', '1')), store.transact([], put('y', '1'))]);
  await store.close();
  expect((await answers).every((answer) => answer.applied)).toBe(true);
});

test('a queue that is full refuses at once', async () => {
  const answers = Array.from({ length: 10_500 }, () => store.transact([], []).catch((error: unknown) => error));
  const refused = (await Promise.all(answers)).filter(
    (answer) => answer instanceof QuiverError && answer.kind === 'overloaded',
  );
  expect(refused).toHaveLength(500);
});

test('a watch from further back than is remembered is refused; one from what is remembered is complete', async () => {
  const before = (await store.list('')).revision;
  for (let batch = 0; batch < 70; batch++) {
    await store.transact(
      [],
      Array.from({ length: 300 }, (_, i) => ({ type: 'put' as const, key: `many/${i}`, value: String(batch) })),
    );
  }
  expect(() => store.watch('', before, () => {})).toThrow(expect.objectContaining({ kind: 'unavailable' }));
  const { revision } = await store.list('');
  const seen: StoreEvent[][] = [];
  store.watch('many/', revision - 20, (batch) => seen.push(batch));
  await new Promise((resolve) => setImmediate(resolve));
  expect(seen.map((batch) => batch[0].revision)).toEqual(Array.from({ length: 20 }, (_, i) => revision - 19 + i));
});

test('a store that was opened again knows nothing of the changes before', async () => {
  const again = await KeyValueClusterStore.open({ store: medium });
  expect(() => again.watch('', 0, () => {})).toThrow(expect.objectContaining({ kind: 'unavailable' }));
  expect(() => again.watch('', 1, () => {})).not.toThrow();
});

test('a listener that stops its watch hears no more of what is due', async () => {
  let calls = 0;
  const stop = store.watch('', 0, () => {
    calls++;
    stop();
  });
  await store.transact([], put('a', '2'));
  await new Promise((resolve) => setImmediate(resolve));
  expect(calls).toBe(1);
});

test('a transaction that changes a key twice is a programming error', async () => {
  await expect(store.transact([], [...put('a', '1'), ...put('a', '2')])).rejects.toThrow(/changes a key once/);
});
