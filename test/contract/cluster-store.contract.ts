import type { ClusterStore, StoreEvent } from '../../shared/cluster-store/cluster-store';
import { eventually } from '../support/eventually';

/** One place to keep state, which may be opened again and again; `remove` cleans up after the last store is closed. */
export interface ClusterStorePlace {
  open(): Promise<ClusterStore>;
  /** The medium has no empty key. */
  refusesEmptyKey?: true;
  remove(): Promise<void>;
}

/** What every ClusterStore must do. Call it inside a test file, once for each implementation. */
export function clusterStoreContract(name: string, makePlace: () => Promise<ClusterStorePlace>): void {
  describe(`cluster store: ${name}`, () => {
    let place: ClusterStorePlace;
    let store: ClusterStore;

    beforeEach(async () => {
      place = await makePlace();
      store = await place.open();
    });

    afterEach(async () => {
      await store.close();
      await place.remove();
    });

    const put = async (key: string, value: string): Promise<number> => {
      const result = await store.transact([], [{ type: 'put', key, value }]);
      if (!result.applied) throw new Error('a transaction without guards was refused');
      return result.revision;
    };

    test('gives back what was put, with the revision of its last change', async () => {
      expect(await store.get('a/1')).toBeNull();
      const first = await put('a/1', '"ünï"');
      expect(await store.get('a/1')).toEqual({ key: 'a/1', value: '"ünï"', revision: first });
      const second = await put('a/1', '{}');
      expect(second).toBeGreaterThan(first);
      expect(await store.get('a/1')).toEqual({ key: 'a/1', value: '{}', revision: second });
    });

    test('lists what lies under a prefix, by the bytes of the key, at one revision', async () => {
      for (const key of ['a/2', 'b/1', 'a/10', 'a', 'a/\u{1f600}', 'a/\uffee', 'a/1']) await put(key, key);
      const { entries, revision } = await store.list('a/');
      expect(entries.map((entry) => entry.key)).toEqual(['a/1', 'a/10', 'a/2', 'a/\uffee', 'a/\u{1f600}']);
      expect(entries.map((entry) => entry.value)).toEqual(entries.map((entry) => entry.key));
      expect(revision).toBe((await store.get('a/1'))?.revision);
      expect((await store.list('nothing/')).entries).toEqual([]);
    });

    test('applies all changes of a transaction at one revision', async () => {
      await put('gone', '1');
      const result = await store.transact(
        [],
        [
          { type: 'put', key: 'x', value: '1' },
          { type: 'put', key: 'y', value: '2' },
          { type: 'delete', key: 'gone' },
        ],
      );
      expect(result).toEqual({ applied: true, revision: (await store.get('x'))?.revision });
      expect((await store.get('y'))?.revision).toBe((await store.get('x'))?.revision);
      expect(await store.get('gone')).toBeNull();
    });

    test('applies nothing when a guard fails, and says what is there', async () => {
      const revision = await put('x', '1');
      const changes = [{ type: 'put' as const, key: 'y', value: '1' }];
      const guards = [
        { key: 'x', revision: revision + 1 },
        { key: 'y', revision: 0 },
      ];
      expect(await store.transact(guards, changes)).toEqual({
        applied: false,
        current: [{ key: 'x', value: '1', revision }, null],
      });
      expect(await store.get('y')).toBeNull();
      expect(
        (
          await store.transact(
            [
              { key: 'x', revision },
              { key: 'y', revision: 0 },
            ],
            changes,
          )
        ).applied,
      ).toBe(true);
      expect((await store.transact([{ key: 'y', revision: 0 }], changes)).applied).toBe(false);
    });

    test('a key that is deleted and put again is not the one that was guarded', async () => {
      const revision = await put('x', '1');
      await store.transact([], [{ type: 'delete', key: 'x' }]);
      await put('x', '1');
      expect((await store.transact([{ key: 'x', revision }], [{ type: 'delete', key: 'x' }])).applied).toBe(false);
    });

    test('a transaction that changes nothing raises no revision', async () => {
      const revision = await put('x', '1');
      expect(await store.transact([], [{ type: 'delete', key: 'absent' }])).toEqual({ applied: true, revision });
      expect(await store.transact([{ key: 'x', revision }], [])).toEqual({ applied: true, revision });
      expect((await store.list('')).revision).toBe(revision);
    });

    test('of many writers that guard the same revision one wins each round', async () => {
      await put('counter', '0');
      const increment = async (): Promise<number> => {
        for (let attempt = 1; ; attempt++) {
          const entry = await store.get('counter');
          if (entry === null) throw new Error('the counter is gone');
          const change = { type: 'put' as const, key: 'counter', value: String(Number(entry.value) + 1) };
          const result = await store.transact([{ key: 'counter', revision: entry.revision }], [change]);
          if (result.applied) return attempt;
        }
      };
      const attempts = await Promise.all(Array.from({ length: 20 }, increment));
      expect((await store.get('counter'))?.value).toBe('20');
      expect(Math.max(...attempts)).toBeGreaterThan(1);
    });

    test('a watch delivers every later change under its prefix once, in order, a transaction a call', async () => {
      const from = await put('a/0', 'before');
      const calls: StoreEvent[][] = [];
      const stop = store.watch('a/', from, (events) => calls.push(events));
      expect(calls).toEqual([]);
      const one = await put('a/1', '1');
      await put('b/1', 'elsewhere');
      const both = await store.transact(
        [],
        [
          { type: 'put', key: 'a/1', value: '2' },
          { type: 'put', key: 'b/2', value: '' },
          { type: 'delete', key: 'a/0' },
        ],
      );
      const revision = both.applied ? both.revision : 0;
      await eventually('both are told', () => calls.length === 2);
      expect(calls).toEqual([
        [{ type: 'put', key: 'a/1', value: '1', revision: one }],
        [
          { type: 'put', key: 'a/1', value: '2', revision },
          { type: 'delete', key: 'a/0', revision },
        ],
      ]);
      stop();
      await put('a/3', 'unseen');
      expect(calls).toHaveLength(2);
    });

    test('a watch from a listed revision misses nothing and doubles nothing while writers go on', async () => {
      const writers = Promise.all(
        Array.from({ length: 8 }, async (_, w) => {
          for (let i = 0; i < 25; i++) await put(`k/${w}`, String(i));
        }),
      );
      const seen: Map<string, string>[] = [];
      const revisions: number[][] = [];
      for (let i = 0; i < 5; i++) {
        const { entries, revision } = await store.list('k/');
        const view = new Map(entries.map((entry) => [entry.key, entry.value]));
        const order: number[] = [];
        store.watch('k/', revision, (events) => {
          for (const event of events) if (event.type === 'put') view.set(event.key, event.value);
          order.push(events[0].revision);
        });
        seen.push(view);
        revisions.push(order);
        await put('other', String(i));
      }
      await writers;
      const last = (await store.list('k/')).entries;
      const final = new Map(last.map((entry) => [entry.key, entry.value]));
      expect([...final.values()]).toEqual(Array(8).fill('24'));
      await eventually('every watcher has the end state', () =>
        seen.every((view) => [...final].every(([key, value]) => view.get(key) === value)),
      );
      for (const order of revisions) expect(order).toEqual([...new Set(order)].sort((a, b) => a - b));
    });

    test('a watch from a revision in the past catches up, then goes on', async () => {
      const from = await put('a', '0');
      const later = [await put('a', '1'), await put('a', '2')];
      const revisions: number[] = [];
      store.watch('a', from, (events) => revisions.push(...events.map((event) => event.revision)));
      later.push(await put('a', '3'));
      await eventually('all three are told', () => revisions.length === 3);
      expect(revisions).toEqual(later);
    });

    test('what was acknowledged is there when the store is opened again, and revisions go on', async () => {
      await put('a', '1');
      await put('b', '1');
      await store.transact([], [{ type: 'delete', key: 'a' }]);
      const before = await store.list('');
      await store.close();
      store = await place.open();
      expect(await store.list('')).toEqual(before);
      expect(await put('c', '1')).toBeGreaterThan(before.revision);
      expect(
        (
          await store.transact(
            [{ key: 'b', revision: before.entries[0].revision }],
            [{ type: 'put', key: 'b', value: '2' }],
          )
        ).applied,
      ).toBe(true);
    });

    test('keys and values are any text', async () => {
      const keys = ['__proto__', 'constructor', ' ', 'a/b/ç/😀', ...(place.refusesEmptyKey ? [] : [''])];
      for (const key of keys) await put(key, JSON.stringify({ key }));
      for (const key of keys) expect((await store.get(key))?.value).toBe(JSON.stringify({ key }));
    });

    test('a closed store is unavailable', async () => {
      await store.close();
      await expect(store.get('a')).rejects.toMatchObject({ kind: 'unavailable' });
      await expect(store.transact([], [])).rejects.toMatchObject({ kind: 'unavailable' });
    });
  });
}
