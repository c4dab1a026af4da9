import { signInEndpoints } from '../../../../../coordinator/api/endpoints/sign-in-endpoints';
import type { EndpointCall } from '../../../../../coordinator/api/endpoints/endpoint';
import type { Caller } from '../../../../../coordinator/service/keys/caller';
import type { KeyQuotasService } from '../../../../../coordinator/service/service';
import { QuiverError } from '../../../../../shared/base/errors/quiver-error';

const quota = { items: 5, bytes: null, period: 'total' as const };
const caller: Caller = {
  id: 7,
  name: 'bounded',
  role: 'readwrite',
  collections: null,
  allowedNetworks: null,
  rateLimitPerMinute: null,
  quota,
  expiresAt: null,
};

function me(key: Caller, usedOf: KeyQuotasService['usedOf']): Promise<unknown> {
  const endpoint = signInEndpoints({
    signIn: { redeem: () => Promise.reject(new Error('not asked')) },
    keyQuotas: { usedOf },
  }).find(({ template }) => template === '/v1/me')!;
  return Promise.resolve(endpoint.handle({ key } as EndpointCall));
}

test('who a caller is can be told while what is used of its quota can not', async () => {
  const away = () => Promise.reject(new QuiverError('unavailable', 'the cluster store can not be reached'));
  expect(JSON.stringify(await me(caller, away))).toMatch(/bounded.*quota_used\\?":null/);
  const broken = () => Promise.reject(new QuiverError('storage_failed', 'the stored count is unreadable'));
  await expect(me(caller, broken)).rejects.toThrow(/unreadable/);
});

test('nothing is asked for a caller without a quota', async () => {
  const never = () => Promise.reject(new Error('asked'));
  expect(JSON.stringify(await me({ ...caller, quota: null }, never))).toMatch(/quota_used\\?":null/);
  const used = await me(caller, async ({ identity }) => ({
    items: identity === 'key:7' ? 3 : 0,
    bytes: null,
    period: 'total',
    resetsAt: null,
  }));
  expect(JSON.stringify(used)).toMatch(/quota_used\\?":\{\\?"items\\?":3/);
});
