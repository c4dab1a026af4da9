import { callerOf } from '../../../../../../coordinator/service/keys/tokens/token-claims';
import { keysIn } from '../../../../../../coordinator/service/keys/tokens/read-keys';
import { readConfig } from '../../../../../../shared/base/config/config';
import { tokenSettings, type TokenSettings } from '../../../../../../shared/base/config/token-settings';

const NEEDED = { JWT_ISSUER: 'https://issuer.example', JWT_AUDIENCE: 'quiver' };
const settings = (environment: Record<string, string> = {}): TokenSettings =>
  tokenSettings(readConfig({ ...NEEDED, ...environment }, 1)) as TokenSettings;
const caller = (claims: object, environment: Record<string, string> = {}) =>
  callerOf({ sub: 'ada', ...claims }, settings(environment));

describe('the role of a token', () => {
  test('is the highest that its claim names, as a text or a list', () => {
    expect(caller({ role: 'readonly' }).role).toBe('readonly');
    expect(caller({ role: ['x', 'readonly', 'admin', 'readwrite'] }).role).toBe('admin');
    expect(caller({ role: 'openid readwrite' }).role).toBe('readwrite');
  });

  test('is found by a path, by a name with dots, and by what its values mean', () => {
    expect(
      caller(
        { realm_access: { roles: ['ops'] } },
        { JWT_ROLE_CLAIM: 'realm_access.roles', JWT_ROLE_MAP: 'apps=readwrite, ops=admin' },
      ).role,
    ).toBe('admin');
    expect(
      caller(
        { 'https://x.example/roles': ['https://x.example/?a=b'] },
        { JWT_ROLE_CLAIM: 'https://x.example/roles', JWT_ROLE_MAP: 'https://x.example/?a=b=readonly' },
      ).role,
    ).toBe('readonly');
  });

  test('is none where the claim says none, or names a role that is mapped to nothing; unless there is a default', () => {
    for (const role of [undefined, null, 7, {}, [], 'Admin', [7, { admin: true }]])
      expect(() => caller({ role })).toThrow(/gives no role/);
    expect(() => caller({ role: 'admin' }, { JWT_ROLE_MAP: 'ops=admin' })).toThrow(/gives no role/);
    expect(() => caller({}, { JWT_ROLE_CLAIM: '__proto__.constructor.name' })).toThrow(/gives no role/);
    expect(caller({}, { JWT_DEFAULT_ROLE: 'readonly' }).role).toBe('readonly');
  });
});

describe('the collections of a token', () => {
  const limited = { JWT_COLLECTIONS_CLAIM: 'collections' };

  test('are names and prefixes, with the role of the token or one of their own', () => {
    expect(caller({ role: 'readonly', collections: ['articles', 'team-a-*:readwrite'] }, limited)).toMatchObject({
      role: 'readonly',
      collections: [
        { name: 'articles', role: 'readonly' },
        { prefix: 'team-a-', role: 'readwrite' },
      ],
    });
    expect(caller({ collections: 'articles:readonly' }, limited)).toMatchObject({
      role: 'readonly',
      collections: [{ name: 'articles', role: 'readonly' }],
    });
  });

  test('are all of them only by a star; an admin of some administers these and nothing else', () => {
    expect(caller({ role: 'admin', collections: ['*'] }, limited)).toMatchObject({ role: 'admin', collections: null });
    expect(caller({ role: 'admin', collections: ['a-*'] }, limited)).toMatchObject({
      role: 'readwrite',
      collections: [{ prefix: 'a-', role: 'admin' }],
    });
    expect(caller({ role: 'admin', collections: ['*:readonly'] }, limited)).toMatchObject({
      role: 'readwrite',
      collections: [{ prefix: '', role: 'readonly' }],
    });
  });

  test('are none without the claim, or with an entry that is not understood', () => {
    for (const collections of [undefined, null, [], '', {}])
      expect(() => caller({ role: 'admin', collections }, limited)).toThrow(/names no collection/);
    for (const entry of ['a.b', 'a*b', ':admin', 'a:owner', '**', 'a/..'])
      expect(() => caller({ role: 'readonly', collections: ['ok', entry] }, limited)).toThrow(/entry that is not/);
    expect(() => caller({ collections: ['articles'] }, limited)).toThrow(/gives no role/);
    expect(() =>
      caller({ role: 'readonly', collections: Array.from({ length: 101 }, (_, i) => `c${i}`) }, limited),
    ).toThrow(/more than 100/);
  });
});

test('another claim may say who it is', () => {
  expect(
    caller({ role: 'readonly', act: { email: 'ada@x.example' } }, { JWT_SUBJECT_CLAIM: 'act.email' }),
  ).toMatchObject({ name: 'ada@x.example' });
});

describe('the limits of a token', () => {
  const set = { JWT_RATE_LIMIT_PER_MINUTE: '600', JWT_QUOTA_ITEMS: '1000', JWT_QUOTA_PERIOD: 'day' };
  const limits = (claim: unknown, environment: Record<string, string> = { ...set, JWT_LIMITS_CLAIM: 'app.limits' }) => {
    const { rateLimitPerMinute, quota } = caller({ role: 'readwrite', app: { limits: claim } }, environment);
    return { rateLimitPerMinute, quota };
  };
  const defaults = { rateLimitPerMinute: 600, quota: { items: 1000, bytes: null, period: 'day' } };

  test('are none where nothing is set, and else those of the settings', () => {
    expect(limits({ quota: { items: 1 } }, {})).toEqual({ rateLimitPerMinute: null, quota: null });
    expect(limits({ quota: { items: 1 } }, set)).toEqual(defaults);
    expect(limits(undefined, { JWT_QUOTA_BYTES: '5' })).toEqual({
      rateLimitPerMinute: null,
      quota: { items: null, bytes: 5, period: 'month' },
    });
    for (const claim of [undefined, null, {}]) expect(limits(claim)).toEqual(defaults);
  });

  test('are those of its claim, an object or a text of JSON, as far as it has them', () => {
    expect(limits({ rate_limit_per_minute: 0 })).toEqual({ ...defaults, rateLimitPerMinute: 0 });
    expect(limits({ quota: { bytes: 7 } })).toEqual({ ...defaults, quota: { items: null, bytes: 7, period: 'day' } });
    expect(limits('{"rate_limit_per_minute": 9, "quota": {"items": 5, "period": "total"}}')).toEqual({
      rateLimitPerMinute: 9,
      quota: { items: 5, bytes: null, period: 'total' },
    });
    expect(limits({ rate_limit_per_minute: null, quota: null })).toEqual({ ...defaults, quota: null });
  });

  test('are not guessed from a claim that is not understood: the token is refused', () => {
    for (const claim of ['gold', 7, true, [], [{ quota: null }]])
      expect(() => limits(claim)).toThrow(/^the token's claim app\.limits is no object with limits/);
    expect(() => limits({ quotas: {} })).toThrow(
      /app\.limits has "quotas", which is none of rate_limit_per_minute, quota/,
    );
    expect(() => limits('{"__proto__": {}}')).toThrow(/has "__proto__"/);
    expect(() => limits({ quota: { item: 1 } })).toThrow(/has "item" in its quota/);
    expect(() => limits({ quota: 5 })).toThrow(/a quota that is no object/);
    for (const quota of [
      {},
      { items: 0 },
      { items: '5' },
      { items: 1.5 },
      { items: 1, period: 'hour' },
      { items: 1, period: null },
    ])
      expect(() => limits({ quota })).toThrow(/does not hold limits: quota/);
    for (const rate of [-1, 1.5, '60', {}])
      expect(() => limits({ rate_limit_per_minute: rate })).toThrow(/does not hold limits: rate_limit_per_minute/);
  });
});

test('only public parts of public keys are kept', () => {
  const keys = [
    { kty: 'oct', k: 'c2VjcmV0', kid: 'shared' },
    { kty: 'EC', crv: 'P-256', x: 'x', y: 'y', d: 'private', kid: 'a', x5u: 'https://elsewhere.example' },
    null,
    'x',
  ];
  expect(keysIn(JSON.stringify({ keys }), 'here')).toEqual([{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y', kid: 'a' }]);
  for (const text of ['', 'x', '[]', 'null', '{}', '{"keys": []}', JSON.stringify({ keys: keys.slice(0, 1) })])
    expect(() => keysIn(text, 'here')).toThrow(/here holds/);
});

test.each([
  [{ JWT_ISSUER: '', JWT_AUDIENCE: 'x' }, /JWT_ISSUER to be set/],
  [
    { JWT_ISSUER: '', JWT_AUDIENCE: '', JWT_QUOTA_ITEMS: '5' },
    /JWT_QUOTA_ITEMS="5" is not valid: expected JWT_ISSUER to be set/,
  ],
  [{ JWT_ISSUER: '', JWT_AUDIENCE: '', JWT_LIMITS_CLAIM: 'limits' }, /JWT_LIMITS_CLAIM/],
  [{ JWT_QUOTA_ITEMS: '-1' }, /JWT_QUOTA_ITEMS/],
  [{ JWT_QUOTA_PERIOD: 'week' }, /JWT_QUOTA_PERIOD/],
  [{ JWT_AUDIENCE: ' , ' }, /JWT_AUDIENCE/],
  [{ JWT_ALGORITHMS: 'RS256,HS256' }, /JWT_ALGORITHMS="HS256"/],
  [{ JWT_ALGORITHMS: 'none' }, /JWT_ALGORITHMS="none"/],
  [{ JWT_ISSUER: 'accounts' }, /JWT_JWKS_URL or JWT_JWKS_FILE/],
  [{ JWT_JWKS_URL: 'file:///keys' }, /JWT_JWKS_URL/],
  [{ JWT_JWKS_URL: 'https://x.example/keys', JWT_JWKS_FILE: '/keys' }, /JWT_JWKS_FILE/],
  [{ JWT_ROLE_MAP: 'ops' }, /JWT_ROLE_MAP/],
  [{ JWT_ROLE_MAP: 'ops=owner' }, /JWT_ROLE_MAP/],
  [{ JWT_DEFAULT_ROLE: 'admin' }, /JWT_DEFAULT_ROLE/],
])('settings that can not be meant end the start: %j', (environment, message) => {
  expect(() => readConfig({ ...NEEDED, ...environment }, 1)).toThrow(message);
});
