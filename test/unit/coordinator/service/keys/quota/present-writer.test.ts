import { presentWriter } from '../../../../../../coordinator/service/keys/quota/present-writer';
import { keyPath, UNBOUNDED_KEY } from '../../../../../../coordinator/service/keys/key-record';
import type { KeyQuota } from '../../../../../../coordinator/service/keys/quota/key-quota';

/** Whose quota counts for what was asked for a while ago. */

const quotaOf = (items: number): KeyQuota => ({ items, bytes: null, period: 'day' });
const then = { identity: 'key:7', quota: quotaOf(1) };

function storeWith(quota: KeyQuota | null) {
  const record = {
    ...UNBOUNDED_KEY,
    id: 7,
    name: 'k',
    role: 'readwrite',
    digest: 'a'.repeat(64),
    createdAt: '2026-01-01T00:00:00.000Z',
    isActive: true,
    expiresAt: null,
    quota,
  };
  return {
    get: async (key: string) =>
      key === keyPath(7) ? { key, value: JSON.stringify(record), revision: 1 } : Promise.resolve(null),
  };
}

test('a quota that was raised, or taken away, counts as it is now', async () => {
  expect(await presentWriter(storeWith(quotaOf(9)), then)).toEqual({ identity: 'key:7', quota: quotaOf(9) });
  expect(await presentWriter(storeWith(null), then)).toBeUndefined();
});

test('of a key that is gone, and of a token, that of then does', async () => {
  const gone = { ...then, identity: 'key:8' };
  expect(await presentWriter(storeWith(null), gone)).toEqual(gone);
  const token = { ...then, identity: 'token:7' };
  expect(await presentWriter(storeWith(null), token)).toEqual(token);
});
