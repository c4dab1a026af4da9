import { WatchedEntries } from '../../../../../shared/cluster-store/entries/watched-entries';
import type { ClusterStore, StoreEntry, StoreEvent } from '../../../../../shared/cluster-store/cluster-store';

/** A cluster store that says what a test has it say. */
class ScriptedStore {
  revision = 0;
  entries: StoreEntry[] = [];
  watching = 0;
  tell: (events: StoreEvent[]) => void = () => undefined;

  async list(): Promise<{ entries: StoreEntry[]; revision: number }> {
    return { entries: this.entries, revision: this.revision };
  }

  watch(_prefix: string, _after: number, listener: (events: StoreEvent[]) => void): () => void {
    this.tell = listener;
    this.watching += 1;
    return () => (this.watching -= 1);
  }
}

const over = (store: ScriptedStore): WatchedEntries<string> =>
  new WatchedEntries<string>({
    store: store as unknown as ClusterStore,
    prefix: '',
    decode: ({ value }) => value,
    onUnreadable: () => undefined,
  });

const entry = (key: string, value: string, revision: number): StoreEntry => ({ key, value, revision });

/** `values`: of all entries; who follows the keys that are told has the same. */
async function followed(
  store: ScriptedStore,
): Promise<{ entries: WatchedEntries<string>; values: () => Record<string, string> }> {
  const entries = over(store);
  const told = new Map<string, string>();
  entries.onChange((keys) => {
    for (const key of keys) {
      const now = entries.get(key);
      if (now === null) told.delete(key);
      else told.set(key, now.value);
    }
  });
  await entries.follow();
  const values = (): Record<string, string> => {
    const all = Object.fromEntries(entries.all().map(({ key, value }) => [key, value]));
    expect(Object.fromEntries(told)).toEqual(all);
    return all;
  };
  return { entries, values };
}

function later(): ScriptedStore {
  const store = new ScriptedStore();
  Object.assign(store, {
    revision: 90,
    entries: [entry('a', 'later', 80), entry('b', 'since', 70), entry('c', 'same', 10)],
  });
  return store;
}

test('a store that was put back is taken at its word', async () => {
  const store = later();
  const { entries, values } = await followed(store);
  Object.assign(store, { revision: 50, entries: [entry('a', 'earlier', 40), entry('c', 'same', 10)] });
  await entries.refresh();
  expect(values()).toEqual({ a: 'earlier', c: 'same' });
  // It counts its revisions again.
  store.tell([{ type: 'put', ...entry('a', 'next', 51) }]);
  expect(values()).toEqual({ a: 'next', c: 'same' });
});

test('so is one that has gone on beyond what was seen of it before', async () => {
  const store = later();
  const { entries, values } = await followed(store);
  Object.assign(store, { revision: 120, entries: [entry('a', 'earlier', 40), entry('d', 'new', 119)] });
  await entries.refresh();
  expect(values()).toEqual({ a: 'earlier', d: 'new' });
});

test('what a watch tells of a store that was put back holds, and so does what it tells next', async () => {
  const store = later();
  const { values } = await followed(store);
  store.tell([
    { type: 'put', ...entry('a', 'earlier', 40) },
    { type: 'delete', key: 'b', revision: 55 },
  ]);
  expect(values()).toEqual({ a: 'earlier', c: 'same' });
  store.tell([{ type: 'put', ...entry('b', 'again', 60) }]);
  store.tell([{ type: 'put', ...entry('e', 'new', 61) }]);
  store.tell([{ type: 'delete', key: 'a', revision: 62 }]);
  expect(values()).toEqual({ b: 'again', c: 'same', e: 'new' });
});

test('what this process wrote itself is known at once, and until the watch has come as far', async () => {
  const store = later();
  const { entries, values } = await followed(store);
  entries.put(entry('a', 'mine', 100));
  expect(values()).toEqual({ a: 'mine', b: 'since', c: 'same' });
  store.tell([{ type: 'put', ...entry('a', 'before mine', 95) }]);
  expect(values()).toMatchObject({ a: 'mine' });
  entries.put(entry('a', 'late', 93));
  expect(values()).toMatchObject({ a: 'mine' });
  store.tell([{ type: 'put', ...entry('a', 'mine', 100) }]);
  store.tell([{ type: 'delete', key: 'a', revision: 101 }]);
  expect(values()).toEqual({ b: 'since', c: 'same' });
});

test('what this process wrote itself goes when the store was put back', async () => {
  const store = later();
  const { entries, values } = await followed(store);
  entries.put(entry('a', 'mine', 100));
  entries.put(entry('d', 'mine', 101));
  store.tell([{ type: 'put', ...entry('a', 'backup', 40) }]);
  expect(values()).toEqual({ a: 'backup', b: 'since', c: 'same' });
  store.tell([{ type: 'put', ...entry('a', 'next', 70) }]);
  expect(values()).toMatchObject({ a: 'next' });
});

test('it goes, too, when the watch tells of later changes and not of that', async () => {
  const store = later();
  const { entries, values } = await followed(store);
  entries.put(entry('d', 'mine', 101));
  store.tell([{ type: 'put', ...entry('e', 'other', 102) }]);
  expect(Object.keys(values()).sort()).toEqual(['a', 'b', 'c', 'e']);
});

test('it goes after half a minute in which the watch tells nothing', async () => {
  jest.useFakeTimers();
  try {
    const store = later();
    const { entries, values } = await followed(store);
    entries.put(entry('d', 'mine', 101));
    jest.advanceTimersByTime(29_000);
    expect(values()).toMatchObject({ d: 'mine' });
    jest.advanceTimersByTime(2_000);
    expect(Object.keys(values()).sort()).toEqual(['a', 'b', 'c']);
    entries.close();
  } finally {
    jest.useRealTimers();
  }
});

test('a list that began before an event does not undo it', async () => {
  const store = later();
  const { entries, values } = await followed(store);
  const old = { revision: 90, entries: [...store.entries] };
  const now = { revision: 93, entries: [entry('a', 'latest', 91), entry('c', 'same', 10), entry('e', 'new', 93)] };
  let lists = 0;
  store.list = async () => {
    if (++lists > 1) return now;
    store.tell([
      { type: 'put', ...entry('a', 'latest', 91) },
      { type: 'delete', key: 'b', revision: 92 },
      { type: 'put', ...entry('e', 'new', 93) },
    ]);
    return old;
  };
  await entries.refresh();
  expect(values()).toEqual({ a: 'latest', c: 'same', e: 'new' });
});

test('entries that are followed again while they begin to be are followed once: what a second watch told again would look like a store that was put back', async () => {
  const store = later();
  const entries = over(store);
  await Promise.all([entries.follow(), entries.follow()]);
  await entries.follow();
  expect(store.watching).toBe(1);
  entries.close();
  expect(store.watching).toBe(0);
});

test('entries whose store was away are followed when they are followed again', async () => {
  const store = later();
  const { list } = store;
  store.list = () => Promise.reject(new Error('away'));
  const entries = over(store);
  await expect(entries.follow()).rejects.toThrow('away');
  store.list = list;
  await entries.follow();
  expect(entries.all()).toHaveLength(3);
  expect(store.watching).toBe(1);
});

test('entries that are closed before they are read are not followed', async () => {
  const store = later();
  const entries = over(store);
  const following = entries.follow();
  entries.close();
  await following;
  expect(store.watching).toBe(0);
});
