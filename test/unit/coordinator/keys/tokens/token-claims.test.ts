import { callerOf } from '../../../../../coordinator/keys/tokens/token-claims';
import { keysIn } from '../../../../../coordinator/keys/tokens/read-keys';
import { readConfig } from '../../../../../shared/config/config';
import { tokenSettings, type TokenSettings } from '../../../../../shared/config/token-settings';

const NEEDED = { JWT_ISSUER: 'https://issuer.example', JWT_AUDIENCE: 'quiver' };
const settings = (environment: Record<string, string> = {}): TokenSettings => tokenSettings(readConfig({ ...NEEDED, ...environment }, 1)) as TokenSettings;
const caller = (claims: object, environment: Record<string, string> = {}) => callerOf({ sub: 'ada', ...claims }, settings(environment));

describe('the role of a token', () => {
  test('is the highest that its claim names, as a text or a list', () => {
    expect(caller({ role: 'readonly' }).role).toBe('readonly');
    expect(caller({ role: ['x', 'readonly', 'admin', 'readwrite'] }).role).toBe('admin');
    expect(caller({ role: 'openid readwrite' }).role).toBe('readwrite');
  });

  test('is found by a path, by a name with dots, and by what its values mean', () => {
    expect(caller({ realm_access: { roles: ['ops'] } }, { JWT_ROLE_CLAIM: 'realm_access.roles', JWT_ROLE_MAP: 'apps=readwrite, ops=admin' }).role).toBe('admin');
    expect(caller({ 'https://x.example/roles': ['https://x.example/?a=b'] }, { JWT_ROLE_CLAIM: 'https://x.example/roles', JWT_ROLE_MAP: 'https://x.example/?a=b=readonly' }).role).toBe('readonly');
  });

  test('is none where the claim says none, or names a role that is mapped to nothing; unless there is a default', () => {
    for (const role of [undefined, null, 7, {}, [], 'Admin', [7, { admin: true }]]) expect(() => caller({ role })).toThrow(/gives no role/);
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
    expect(caller({ collections: 'articles:readonly' }, limited)).toMatchObject({ role: 'readonly', collections: [{ name: 'articles', role: 'readonly' }] });
  });

  test('are all of them only by a star; an admin of some administers these and nothing else', () => {
    expect(caller({ role: 'admin', collections: ['*'] }, limited)).toMatchObject({ role: 'admin', collections: null });
    expect(caller({ role: 'admin', collections: ['a-*'] }, limited)).toMatchObject({ role: 'readwrite', collections: [{ prefix: 'a-', role: 'admin' }] });
    expect(caller({ role: 'admin', collections: ['*:readonly'] }, limited)).toMatchObject({ role: 'readwrite', collections: [{ prefix: '', role: 'readonly' }] });
  });

  test('are none without the claim, or with an entry that is not understood', () => {
    for (const collections of [undefined, null, [], '', {}]) expect(() => caller({ role: 'admin', collections }, limited)).toThrow(/names no collection/);
    for (const entry of ['a.b', 'a*b', ':admin', 'a:owner', '**', 'a/..']) expect(() => caller({ role: 'readonly', collections: ['ok', entry] }, limited)).toThrow(/entry that is not/);
    expect(() => caller({ collections: ['articles'] }, limited)).toThrow(/gives no role/);
    expect(() => caller({ role: 'readonly', collections: Array.from({ length: 101 }, (_, i) => `c${i}`) }, limited)).toThrow(/more than 100/);
  });
});

test('another claim may say who it is', () => {
  expect(caller({ role: 'readonly', act: { email: 'ada@x.example' } }, { JWT_SUBJECT_CLAIM: 'act.email' })).toMatchObject({ name: 'ada@x.example' });
});

test('only public parts of public keys are kept', () => {
  const keys = [{ kty: 'oct', k: 'c2VjcmV0', kid: 'shared' }, { kty: 'EC', crv: 'P-256', x: 'x', y: 'y', d: 'private', kid: 'a', x5u: 'https://elsewhere.example' }, null, 'x'];
  expect(keysIn(JSON.stringify({ keys }), 'here')).toEqual([{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y', kid: 'a' }]);
  for (const text of ['', 'x', '[]', 'null', '{}', '{"keys": []}', JSON.stringify({ keys: keys.slice(0, 1) })]) expect(() => keysIn(text, 'here')).toThrow(/here holds/);
});

test.each([
  [{ JWT_ISSUER: '', JWT_AUDIENCE: 'x' }, /JWT_ISSUER to be set/],
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
