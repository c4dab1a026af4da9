import { KeyDirectory } from '../../../../coordinator/keys/key-directory';
import { keyPath, type KeyRecord, keyToValue, UNBOUNDED_KEY } from '../../../../coordinator/keys/key-record';
import { secretDigest } from '../../../../coordinator/keys/secret';
import type { StoreEvent } from '../../../../shared/cluster-store/cluster-store';

const record = (secret: string, id = 2): KeyRecord => ({
  ...UNBOUNDED_KEY,
  id,
  name: secret,
  role: 'readonly',
  digest: secretDigest(secret).toString('hex'),
  createdAt: '2026-01-01T00:00:00.000Z',
  isActive: true,
  expiresAt: null,
});
const put = (secret: string, revision: number): StoreEvent => ({ type: 'put', key: keyPath(2), value: keyToValue(record(secret)), revision });
const gone = (revision: number): StoreEvent => ({ type: 'delete', key: keyPath(2), revision });

const SECRETS = ['one', 'two', 'three'];

/** Which secret is valid after each step, in the directory and in one that follows it, as another thread's does. */
function story(steps: ((directory: KeyDirectory) => void)[]): (string | undefined)[] {
  const directory = new KeyDirectory();
  const other = new KeyDirectory();
  directory.follow({ put: (key, place) => other.put(key, place), remove: (id, place) => other.remove(id, place) });
  return steps.map((step) => {
    step(directory);
    const valid = [directory, other].map((one) => SECRETS.find((secret) => one.authenticate(secretDigest(secret), 0) !== null));
    expect(valid[1]).toBe(valid[0]);
    return valid[0];
  });
}

test('the later change counts, whatever comes first, and a deleted key stays deleted', () => {
  expect(story([(d) => d.put(record('two'), 7), (d) => d.apply([put('one', 5)]), (d) => d.apply([put('two', 7)])])).toEqual(['two', 'two', 'two']);
  expect(story([(d) => d.apply([put('one', 5)]), (d) => d.remove(2), (d) => d.apply([put('two', 6)]), (d) => d.apply([gone(7)]), (d) => d.put(record('two'), 6)])).toEqual([
    'one',
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

test('when the store was put back to an earlier state, what the watch tells holds, on every thread', () => {
  const steps = [
    (d: KeyDirectory) => d.apply([put('one', 5)]),
    (d: KeyDirectory) => d.apply([put('two', 9)]),
    // As of revision 5; then changed and deleted in the new history, below what was known of the old one.
    (d: KeyDirectory) => d.apply([put('one', 5)]),
    (d: KeyDirectory) => d.apply([put('three', 6)]),
    (d: KeyDirectory) => d.apply([gone(7)]),
    (d: KeyDirectory) => d.apply([put('one', 5)]),
  ];
  expect(story(steps)).toEqual(['one', 'two', 'one', 'three', undefined, 'one']);
});

test('a key that was deleted in the history that is gone is there again', () => {
  expect(story([(d) => d.apply([put('one', 5), gone(6)]), (d) => d.apply([put('one', 5)])])).toEqual([undefined, 'one']);
});
