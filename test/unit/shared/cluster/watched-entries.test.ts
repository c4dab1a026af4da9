import { WatchedEntries } from '../../../../shared/cluster/watched-entries';
import type { ClusterStore, StoreEntry, StoreEvent } from '../../../../shared/cluster-store/cluster-store';
import { eventually } from '../../../support/eventually';

/** A cluster store that says what a test has it say. */
class ScriptedStore {
  revision = 0;
  entries: StoreEntry[] = [];
  tell: (events: StoreEvent[]) => void = () => undefined;

  async list(): Promise<{ entries: StoreEntry[]; revision: number }> {
    return { entries: this.entries, revision: this.revision };
  }

  watch(_prefix: string, _after: number, listener: (events: StoreEvent[]) => void): () => void {
    this.tell = listener;
    return () => undefined;
  }
}

const entry = (key: string, value: string, revision: number): StoreEntry => ({ key, value, revision });

async function followed(store: ScriptedStore): Promise<{ entries: WatchedEntries<string>; values: () => Record<string, string> }> {
  const entries = new WatchedEntries<string>({ store: store as unknown as ClusterStore, prefix: '', decode: ({ value }) => value, onUnreadable: () => undefined });
  await entries.follow();
  return { entries, values: () => Object.fromEntries(entries.all().map(({ key, value }) => [key, value])) };
}

function later(): ScriptedStore {
  const store = new ScriptedStore();
  Object.assign(store, { revision: 90, entries: [entry('a', 'later', 80), entry('b', 'since', 70), entry('c', 'same', 10)] });
  return store;
}

test('a store that was put back is taken at its word', async () => {
  const store = later();
  const { entries, values } = await followed(store);
  Object.assign(store, { revision: 50, entries: [entry('a', 'earlier', 40), entry('c', 'same', 10)] });
  await entries.refresh();
  expect(values()).toEqual({ a: 'earlier', c: 'same' });
  // It counts its revisions anew.
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

test('an event of something earlier makes it look again', async () => {
  const store = later();
  const { values } = await followed(store);
  Object.assign(store, { revision: 50, entries: [entry('a', 'earlier', 40)] });
  store.tell([{ type: 'put', ...entry('a', 'earlier', 40) }]);
  await eventually('it did', () => values().a === 'earlier' && Object.keys(values()).length === 1);
});

test('a list that began before an event does not undo it', async () => {
  const store = later();
  const { entries, values } = await followed(store);
  const old = { revision: 90, entries: [...store.entries] };
  store.list = async () => {
    store.tell([
      { type: 'put', ...entry('a', 'latest', 91) },
      { type: 'delete', key: 'b', revision: 92 },
      { type: 'put', ...entry('e', 'new', 93) },
    ]);
    return old;
  };
  await entries.refresh();
  expect(values()).toMatchObject({ a: 'latest', e: 'new' });
});
