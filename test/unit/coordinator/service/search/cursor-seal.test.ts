import { CursorSeal, cursorSecretIn } from '../../../../../coordinator/service/search/cursor-seal';
import { KeyValueClusterStore } from '../../../../../embedded/cluster-store/key-value-cluster-store';
import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';

/** coordinator/service/search/cursor-seal.ts: all processes of a cluster store have one secret. */

test('processes that ask at once have the same secret, and so has each that asks later', async () => {
  const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  const secrets = await Promise.all([cursorSecretIn(store), cursorSecretIn(store), cursorSecretIn(store)]);
  const later = await cursorSecretIn(store);
  expect(new Set([...secrets, later]).size).toBe(1);
  expect(new CursorSeal(later).open(new CursorSeal(secrets[0]).close('a cursor'))).toBe('a cursor');
});

test('an entry that is no secret is replaced', async () => {
  const store = await KeyValueClusterStore.open({ store: new MemoryKeyValueStore() });
  await store.transact([], [{ type: 'put', key: '/q/cursor-secret', value: 'none' }]);
  const secret = await cursorSecretIn(store);
  expect(secret).toMatch(/^[0-9a-f]{64}$/);
  expect(await cursorSecretIn(store)).toBe(secret);
});

test('a secret that the store did not take is not used', async () => {
  const refusing = { get: async () => null, transact: async () => ({ applied: false as const, current: [null] }) };
  await expect(cursorSecretIn(refusing)).rejects.toMatchObject({ kind: 'unavailable' });
});
