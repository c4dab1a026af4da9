import fc from 'fast-check';
import type { StoreEntry } from '../../../../shared/cluster-store/cluster-store';
import { WatchedKeys } from '../../../../shared/cluster-store/watched-keys';

const entry = (key: string, revision: number): StoreEntry => ({ key, value: `${key}@${revision}`, revision });

test('nothing is missed by one who knows everything', () => {
  const entries = [entry('a', 3), entry('b', 5)];
  expect(new WatchedKeys(entries).missed(entries, 9)).toEqual([]);
});

test('changed keys come by revision, vanished ones last, at the revision of the reading', () => {
  const keys = new WatchedKeys([entry('a', 3), entry('b', 5), entry('c', 4)]);
  keys.apply([
    { type: 'put', key: 'd', value: '', revision: 6 },
    { type: 'delete', key: 'c', revision: 6 },
  ]);
  expect(keys.missed([entry('a', 12), entry('b', 5), entry('c', 8)], 20)).toEqual([
    { type: 'put', ...entry('c', 8) },
    { type: 'put', ...entry('a', 12) },
    { type: 'delete', key: 'd', revision: 20 },
  ]);
});

test('a key that went back to an earlier revision was missed, too', () => {
  expect(new WatchedKeys([entry('a', 9)]).missed([entry('a', 2)], 3)).toEqual([{ type: 'put', ...entry('a', 2) }]);
});

test('what was missed leads to what is there, whatever both are', () => {
  const state = fc
    .dictionary(fc.constantFrom('a', 'b', 'c', 'd', '__proto__'), fc.integer({ min: 1, max: 6 }), {
      noNullPrototype: false,
    })
    .map((revisions) => Object.entries(revisions).map(([key, revision]) => entry(key, revision)));
  const seed = process.env.SEED === undefined ? undefined : Number(process.env.SEED);
  fc.assert(
    fc.property(state, state, (known, present) => {
      const keys = new WatchedKeys(known);
      const view = new Map(known.map((each) => [each.key, each.value]));
      const events = keys.missed(present, 10);
      for (const event of events) {
        if (event.type === 'put') view.set(event.key, event.value);
        else view.delete(event.key);
      }
      expect(view).toEqual(new Map(present.map((each) => [each.key, each.value])));
      keys.apply(events);
      expect(keys.missed(present, 11)).toEqual([]);
    }),
    { seed },
  );
});
