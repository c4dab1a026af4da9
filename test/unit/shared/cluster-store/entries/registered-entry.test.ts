import { RegisteredEntry } from '../../../../../shared/cluster-store/entries/registered-entry';
import { MemberName } from '../../../../../shared/cluster-store/entries/member-name';
import type {
  ClusterStore,
  Guard,
  StoreChange,
  StoreEntry,
  StoreEvent,
  TransactionResult,
} from '../../../../../shared/cluster-store/cluster-store';
import type { SessionStore, StoreSession } from '../../../../../shared/cluster-store/session-store';

const KEY = 'members/a';

/** A cluster store that a test puts back to what it was, and whose watch says what the test has it say. */
class ScriptedStore {
  revision = 60;
  entry: StoreEntry | null = null;
  /** Values that were put, in order. */
  readonly puts: string[] = [];
  sessions = 0;
  tell: (events: StoreEvent[]) => void = () => undefined;

  async get(): Promise<StoreEntry | null> {
    return this.entry;
  }

  async transact(guards: Guard[], [change]: StoreChange[]): Promise<TransactionResult> {
    if (guards.some(({ revision }) => revision !== (this.entry?.revision ?? 0)))
      return { applied: false, current: [this.entry] };
    const { key, value } = change as { key: string; value: string };
    this.puts.push(value);
    this.entry = { key, value, revision: ++this.revision };
    return { applied: true, revision: this.revision };
  }

  watch(_prefix: string, _after: number, listener: (events: StoreEvent[]) => void): () => void {
    this.tell = listener;
    return () => undefined;
  }

  async openSession(): Promise<StoreSession> {
    this.sessions += 1;
    return {
      id: `session-${this.sessions}`,
      isLost: false,
      onLost: () => undefined,
      onKept: () => undefined,
      close: async () => undefined,
    };
  }

  /**
   * As a watch tells of a snapshot: the entry with the revision that it had then, or a delete with the revision of the
   * store.
   */
  putBack(revision: number, entry: { value: string; revision: number } | null): void {
    this.revision = revision;
    this.entry = entry === null ? null : { key: KEY, ...entry };
    this.tell([this.entry === null ? { type: 'delete', key: KEY, revision } : { type: 'put', ...this.entry }]);
  }
}

/** Lets everything happen that needs no more than turns of the event loop. */
async function settled(): Promise<void> {
  for (let i = 0; i < 20; i += 1) await new Promise((done) => setImmediate(done));
}

let store: ScriptedStore;
let entry: RegisteredEntry;

afterEach(() => entry.close());

/** An entry that was put at revision 61 with the first value, and at 62 with the second. */
async function begin(values: [string, string] = ['1', '2'], name?: MemberName): Promise<void> {
  store = new ScriptedStore();
  entry = new RegisteredEntry({
    store: store as unknown as ClusterStore & SessionStore,
    key: KEY,
    value: values[0],
    ttlSeconds: 3,
    name,
  });
  await settled();
  entry.update(values[1]);
  await settled();
  expect(store.puts.splice(0)).toEqual(values);
}

test('an entry whose store was put back to an earlier value is put again, under the same session', async () => {
  await begin();
  store.putBack(50, { value: '1', revision: 40 });
  await settled();
  expect(store.puts).toEqual(['2']);
  expect(store.sessions).toBe(1);
  expect(entry.isRegistered).toBe(true);
  // The store counts again, and what it tells of that is the present value.
  store.tell([{ type: 'put', ...store.entry! }]);
  await settled();
  expect(store.puts).toEqual(['2']);
});

test('an entry whose store was put back to before it is put again, under the same session', async () => {
  await begin();
  store.putBack(50, null);
  await settled();
  expect(store.puts).toEqual(['2']);
  expect(store.sessions).toBe(1);
});

test('so is one that goes after its store was put back, before that has come as far again', async () => {
  await begin();
  store.putBack(50, { value: '2', revision: 40 });
  await settled();
  expect(store.puts).toEqual([]);
  store.putBack(51, null);
  await settled();
  expect(store.puts).toEqual(['2']);
});

test('a member that guards its name puts its entry again by what the store has now', async () => {
  const valueOf = (stores: number): string =>
    JSON.stringify({ id: 'a', address: 'here:7000', pid: 7, startedAt: '2026-01-01T00:00:00Z', stores });
  const getting = { get: async () => null };
  await begin(
    [valueOf(1), valueOf(2)],
    new MemberName({ store: getting, key: KEY, isSame: ({ address }) => address === 'here:7000' }),
  );
  store.putBack(50, { value: valueOf(1), revision: 40 });
  await settled();
  expect(store.puts.splice(0)).toEqual([valueOf(2)]);
  store.putBack(45, null);
  await settled();
  expect(store.puts).toEqual([valueOf(2)]);
});

test('what is told late of own puts costs one more at most, and what is told of the last one nothing', async () => {
  await begin();
  store.tell([{ type: 'put', key: KEY, value: '2', revision: 62 }]);
  await settled();
  expect(store.puts).toEqual([]);
  entry.update('3');
  await settled();
  entry.update('4');
  await settled();
  expect(store.puts.splice(0)).toEqual(['3', '4']);
  store.tell([{ type: 'put', key: KEY, value: '3', revision: 63 }]);
  await settled();
  expect(store.puts).toEqual(['4']);
  store.tell([{ type: 'put', key: KEY, value: '4', revision: 64 }]);
  store.tell([{ type: 'put', key: KEY, value: '4', revision: 65 }]);
  await settled();
  expect(store.puts).toEqual(['4']);
});

test('what another process put later stays, and what is told of other keys is nothing to it', async () => {
  await begin();
  store.tell([{ type: 'put', key: KEY, value: 'other', revision: 63 }]);
  store.tell([
    { type: 'put', key: `${KEY}/b`, value: 'other', revision: 40 },
    { type: 'delete', key: `${KEY}/c`, revision: 41 },
  ]);
  await settled();
  expect(store.puts).toEqual([]);
});

test('an entry that somebody deleted later is put again under a new session', async () => {
  await begin();
  store.revision = 63;
  store.entry = null;
  store.tell([{ type: 'delete', key: KEY, revision: 63 }]);
  await settled();
  expect(store.puts).toEqual(['2']);
  expect(store.sessions).toBe(2);
});
