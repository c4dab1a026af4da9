import { KeyDirectory } from '../../../../../coordinator/service/keys/key-directory';
import { keyPath, type KeyRecord, keyToValue, UNBOUNDED_KEY } from '../../../../../coordinator/service/keys/key-record';
import { secretDigest } from '../../../../../coordinator/service/keys/secret';
import type { StoreEvent } from '../../../../../shared/cluster-store/cluster-store';

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
const put = (secret: string, revision: number): StoreEvent => ({
  type: 'put',
  key: keyPath(2),
  value: keyToValue(record(secret)),
  revision,
});
const gone = (revision: number): StoreEvent => ({ type: 'delete', key: keyPath(2), revision });

const SECRETS = ['one', 'two', 'three'];

/** Which secret is valid after each step, in the directory and in one that follows it, as another thread's does. */
function story(steps: ((directory: KeyDirectory) => void)[]): (string | undefined)[] {
  const directory = new KeyDirectory();
  const other = new KeyDirectory();
  directory.follow({ put: (key, place) => other.put(key, place), remove: (id, place) => other.remove(id, place) });
  return steps.map((step) => {
    step(directory);
    const valid = [directory, other].map((one) => SECRETS.find((secret) => one.authenticate(secret, 0) !== null));
    expect(valid[1]).toBe(valid[0]);
    return valid[0];
  });
}

test('a key whose entry is damaged admits nobody until it is mended, and hides no other', () => {
  const directory = new KeyDirectory();
  const event = (id: number, value: string, revision: number) =>
    ({ type: 'put', key: keyPath(id), value, revision }) as const;
  const value = (id: number) => keyToValue(record(`secret ${id}`, id));
  const admitted = () => [1, 2].map((id) => directory.authenticate(`secret ${id}`, 0)?.id ?? null);
  directory.load([event(1, value(1), 1), event(2, '{', 2)], 2);
  expect([admitted(), directory.unreadable()]).toEqual([[1, null], [2]]);
  directory.apply([event(2, value(2), 3)]);
  expect([admitted(), directory.unreadable()]).toEqual([[1, 2], []]);
  directory.apply([event(2, 'null', 4), event(1, value(1), 5)]);
  expect([admitted(), directory.unreadable()]).toEqual([[1, null], [2]]);
  directory.apply([{ type: 'delete', key: keyPath(2), revision: 6 }]);
  expect(directory.unreadable()).toEqual([]);
});

test('the later change counts, whatever comes first, and a deleted key stays deleted', () => {
  expect(
    story([(d) => d.put(record('two'), 7), (d) => d.apply([put('one', 5)]), (d) => d.apply([put('two', 7)])]),
  ).toEqual(['two', 'two', 'two']);
  expect(
    story([
      (d) => d.apply([put('one', 5)]),
      (d) => d.remove(2),
      (d) => d.apply([put('two', 6)]),
      (d) => d.apply([gone(7)]),
      (d) => d.put(record('two'), 6),
    ]),
  ).toEqual(['one', undefined, undefined, undefined, undefined]);
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
  expect(story([(d) => d.apply([put('one', 5), gone(6)]), (d) => d.apply([put('one', 5)])])).toEqual([
    undefined,
    'one',
  ]);
});

test('a secret that was right is right no longer than its key is active, not expired and not rotated', () => {
  const directory = new KeyDirectory();
  const isRight = (secret: string, wallMs = 0): boolean => directory.authenticate(secret, wallMs) !== null;
  const key = { ...record('one'), expiresAt: new Date(1_000).toISOString() };
  directory.put(key, 5);
  expect([isRight('one'), isRight('one', 999), isRight('one', 1_000), isRight('one', 999)]).toEqual([
    true,
    true,
    false,
    true,
  ]);
  directory.put({ ...key, isActive: false }, 6);
  expect(isRight('one')).toBe(false);
  directory.put(
    {
      ...key,
      digest: secretDigest('two').toString('hex'),
      previous: { digest: key.digest, expiresAt: new Date(500).toISOString() },
    },
    7,
  );
  expect([isRight('two', 999), isRight('one', 499), isRight('one', 500), isRight('three')]).toEqual([
    true,
    true,
    false,
    false,
  ]);
  directory.remove(2);
  expect([isRight('one'), isRight('two')]).toEqual([false, false]);
});

test('each of more secrets than are remembered is its own key', () => {
  const directory = new KeyDirectory();
  const ids = Array.from({ length: 1_500 }, (_, i) => i + 1);
  directory.load(
    ids.map((id) => ({ key: keyPath(id), value: keyToValue(record(`secret ${id}`, id)), revision: id })),
    1_500,
  );
  for (let round = 0; round < 2; round++)
    expect(ids.every((id) => directory.authenticate(`secret ${id}`, 0)?.id === id)).toBe(true);
});
