import {
  type CollectionScope,
  reachesSomewhere,
  roleFor,
} from '../../../../../coordinator/service/keys/collection-scope';

const key = (collections: CollectionScope[] | null) => ({ role: 'readonly' as const, collections });

test('a key without limits has its role for every collection', () => {
  expect(roleFor(key(null), 'anything')).toBe('readonly');
});

test('the narrowest scope decides: a name, then the longest prefix', () => {
  const scoped = key([
    { prefix: 'a-', role: 'readwrite' },
    { prefix: 'a-logs-', role: 'admin' },
    { name: 'a-logs-old', role: 'readonly' },
    { name: 'b' },
    { prefix: 'a-l' },
  ]);
  expect(
    ['a-', 'a-x', 'a-lx', 'a-logs-1', 'a-logs-old', 'b', 'bc', 'A-x', 'a'].map((name) => roleFor(scoped, name)),
  ).toEqual(['readwrite', 'readwrite', 'readonly', 'admin', 'readonly', 'readonly', null, null, null]);
});

test('a key reaches what one of its scopes reaches', () => {
  expect(reachesSomewhere(key([{ name: 'a' }]), 'readonly')).toBe(true);
  expect(reachesSomewhere(key([{ name: 'a' }]), 'readwrite')).toBe(false);
  expect(reachesSomewhere(key([{ name: 'a' }, { prefix: 'b', role: 'readwrite' }]), 'readwrite')).toBe(true);
  expect(reachesSomewhere(key([{ prefix: 'b', role: 'readwrite' }]), 'admin')).toBe(false);
});
