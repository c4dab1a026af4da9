import { CollectionDirectory } from '../../../../../coordinator/service/collections/collection-directory';
import {
  collectionPath,
  collectionToValue,
  type CollectionRecord,
} from '../../../../../coordinator/service/collections/collection-record';
import type { StoreEvent } from '../../../../../shared/cluster-store/cluster-store';

const record = (uid: string, given: Partial<CollectionRecord> = {}): CollectionRecord => ({
  uid,
  identity: uid,
  name: 'c',
  dim: 2,
  metric: 'cosine',
  description: null,
  language: null,
  quantization: 'int8',
  shards: 1,
  replicas: 1,
  minInSync: 1,
  createdAt: '2026-01-01T00:00:00.000Z',
  embeddingModel: null,
  state: 'ready',
  ...given,
});
const put = (uid: string, revision: number): StoreEvent => ({
  type: 'put',
  key: collectionPath('c'),
  value: collectionToValue(record(uid)),
  revision,
});
const gone = (revision: number): StoreEvent => ({ type: 'delete', key: collectionPath('c'), revision });

/** The directory's collection after each step, by uid. */
function story(steps: ((directory: CollectionDirectory) => void)[]): (string | null)[] {
  const directory = new CollectionDirectory();
  return steps.map((step) => {
    step(directory);
    return directory.get('c')?.uid ?? null;
  });
}

describe('what a process knows of collections', () => {
  test('is ahead of the watch where the process itself made the change', () => {
    expect(story([(d) => d.put(record('one'), 5), (d) => d.apply([gone(3)]), (d) => d.apply([put('one', 5)])])).toEqual(
      ['one', 'one', 'one'],
    );
  });

  test('its own deletion is not undone by older news, and a later creation is seen', () => {
    const steps = [
      (d: CollectionDirectory) =>
        d.load([{ key: collectionPath('c'), value: collectionToValue(record('one')), revision: 2 }], 2),
      (d: CollectionDirectory) => d.remove('c', 7),
      (d: CollectionDirectory) => d.apply([put('one', 4)]),
      (d: CollectionDirectory) => d.apply([gone(7)]),
      (d: CollectionDirectory) => d.apply([put('two', 8)]),
    ];
    expect(story(steps)).toEqual(['one', null, null, null, 'two']);
  });

  test('what was read or done before something that the watch has told already changes nothing', () => {
    expect(
      story([
        (d) => d.apply([put('one', 5), gone(6)]),
        (d) => d.put(record('one'), 5),
        (d) => d.apply([put('two', 9)]),
        (d) => d.remove('c', 6),
      ]),
    ).toEqual([null, null, 'two', 'two']);
  });

  test('when the store was put back to an earlier state, what the watch tells holds, whatever was known', () => {
    const steps = [
      (d: CollectionDirectory) => d.apply([put('one', 5), gone(6), put('two', 9)]),
      // As of revision 5, and then deleted by revision 7 of the new history.
      (d: CollectionDirectory) => d.apply([put('one', 5)]),
      (d: CollectionDirectory) => d.apply([gone(7)]),
      (d: CollectionDirectory) => d.apply([put('three', 8)]),
    ];
    expect(story(steps)).toEqual(['two', 'one', null, 'three']);
    // What this process did in the history that is gone.
    expect(story([(d) => d.apply([put('one', 5)]), (d) => d.remove('c', 20), (d) => d.apply([put('one', 4)])])).toEqual(
      ['one', null, 'one'],
    );
    expect(
      story([(d) => d.apply([put('one', 5)]), (d) => d.put(record('two'), 20), (d) => d.apply([gone(3)])]),
    ).toEqual(['one', 'two', null]);
  });

  test('what this process did and the watch never tells is forgotten after a while', () => {
    let nowMs = 0;
    const directory = new CollectionDirectory({ monotonicMs: () => nowMs });
    directory.apply([put('one', 5)]);
    directory.put(record('two'), 20);
    nowMs = 29_999;
    expect(directory.get('c')?.uid).toBe('two');
    nowMs = 30_000;
    expect(directory.get('c')?.uid).toBe('one');
  });

  test('a collection that is being created is not shown', () => {
    expect(story([(d) => d.put(record('one', { state: 'creating' }), 1), (d) => d.put(record('one'), 2)])).toEqual([
      null,
      'one',
    ]);
  });
});

test('a stored collection and its record are one', () => {
  const whole = record('u', { description: 'd', embeddingModel: 'builtin', metric: 'l2', shards: 8, replicas: 3 });
  const directory = new CollectionDirectory();
  directory.load([{ key: collectionPath('c'), value: collectionToValue(whole), revision: 1 }], 1);
  expect(directory.get('c')).toEqual(whole);
  for (const value of ['', 'null', '{}', '{"uid":1}']) {
    directory.load([{ key: collectionPath('c'), value, revision: 2 }], 2);
    expect([directory.get('c'), directory.unreadable()]).toEqual([null, ['c']]);
  }
});
