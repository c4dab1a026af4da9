import type { ApiKey } from '../../../../dashboard/api/shapes';
import { limitsBody, limitsOf, limitsText, NO_LIMITS } from '../../../../dashboard/keys/limit-text';

const KEY: ApiKey = {
  id: 2,
  name: 'a',
  role: 'readonly',
  created_at: '2026-01-01T00:00:00.000Z',
  is_active: true,
  expires_at: null,
  last_used_at: null,
  collections: [
    { name: 'articles', role: 'readonly' },
    { prefix: 'logs-', role: 'readwrite' },
  ],
  allowed_networks: ['10.0.0.0/8', '::1/128'],
  rate_limit_per_minute: 0,
  quota: { items: 1000, bytes: null, period: 'day' },
  previous_expires_at: null,
};
const BODY = {
  collections: [{ name: 'articles' }, { prefix: 'logs-', role: 'readwrite' }],
  allowed_networks: ['10.0.0.0/8', '::1/128'],
  rate_limit_per_minute: 0,
  quota: { items: 1000, bytes: null, period: 'day' },
};

test('the limits of a key go into a form and out of it as they are', () => {
  expect(limitsBody(limitsOf(KEY))).toEqual(BODY);
  expect(
    limitsBody(
      limitsOf({ ...KEY, collections: null, allowed_networks: null, rate_limit_per_minute: null, quota: null }),
    ),
  ).toEqual(limitsBody(NO_LIMITS));
  expect(limitsBody(NO_LIMITS)).toEqual({
    collections: null,
    allowed_networks: null,
    rate_limit_per_minute: null,
    quota: null,
  });
  expect(limitsBody({ ...NO_LIMITS, networks: ' 10.0.0.0/8 , ::1 ', bytes: '5' })).toMatchObject({
    allowed_networks: ['10.0.0.0/8', '::1'],
    quota: { items: null, bytes: 5, period: 'month' },
  });
});

test('limits are told in words', () => {
  expect(limitsText(KEY)).toBe('any rate; from 10.0.0.0/8, ::1/128; 1,000 items a day');
  expect(
    limitsText({
      ...KEY,
      allowed_networks: null,
      rate_limit_per_minute: 600,
      quota: { items: 1, bytes: 2_000_000, period: 'total' },
    }),
  ).toBe('600 requests a minute; 1 item and 2.0 MB in all');
  expect(limitsText({ ...KEY, allowed_networks: null, rate_limit_per_minute: null, quota: null })).toBe('');
});
