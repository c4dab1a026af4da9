import { openTokens, type OpenTokens } from '../../../../../../coordinator/service/keys/tokens/open-tokens';
import type { TokenVerifier } from '../../../../../../coordinator/service/keys/tokens/token-verifier';
import { readConfig } from '../../../../../../shared/base/config/config';
import { systemClock } from '../../../../../../shared/base/time/clock';
import { eventually } from '../../../../../support/eventually';
import { LogMemory } from '../../../../../support/shards/shard-node';
import { TokenIssuer } from '../../../../../support/servers/token-issuer';

/** Tokens that a real issuer signed, and what somebody would send who wants to pass for one. */

const issuer = new TokenIssuer();
const log = new LogMemory();
let wallMs = Date.now();
let monotonicMs = 0;
const opened: OpenTokens[] = [];

beforeAll(async () => {
  issuer.addKey('rsa', 'RS256');
  issuer.addKey('pss', 'PS256');
  issuer.addKey('ec', 'ES256');
  issuer.addKey('ed', 'EdDSA');
  await issuer.start();
});

afterEach(async () => {
  wallMs = Date.now();
  issuer.mischief = null;
  for (const tokens of opened.splice(0)) tokens.close();
});

afterAll(() => issuer.stop());

/** A verifier by its settings, and the keys behind it. `clock` moves only by hand. */
function open(environment: Record<string, string> = {}): {
  verifier: TokenVerifier;
  keys: NonNullable<OpenTokens['keys']>;
} {
  const config = readConfig({ JWT_ISSUER: issuer.url, JWT_AUDIENCE: issuer.audience, ...environment }, 1);
  const clock = { wallMs: () => wallMs, monotonicMs: () => monotonicMs };
  const tokens = openTokens({ config, clock: { ...systemClock, ...clock }, log: log as never });
  opened.push(tokens);
  return { verifier: tokens.verifier as TokenVerifier, keys: tokens.keys as NonNullable<OpenTokens['keys']> };
}

const nowSeconds = (): number => Math.floor(wallMs / 1_000);

test.each(['rsa', 'pss', 'ec', 'ed'])('a token that was signed with the key %s is taken', async (kid) => {
  const { verifier } = open();
  const exp = nowSeconds() + 100;
  const caller = await verifier.authenticate(issuer.token({ role: 'readwrite', exp }, { kid }));
  expect(caller).toMatchObject({
    id: null,
    name: 'ada',
    role: 'readwrite',
    collections: null,
    expiresAt: new Date(exp * 1_000).toISOString(),
    token: { subject: 'ada' },
  });
});

test.each<[string, (issuer: TokenIssuer) => string, RegExp]>([
  ['has no signature', (i) => i.forged({ alg: 'none' }), /algorithm/],
  ['says so in other letters', (i) => i.forged({ alg: 'NoNe' }), /algorithm/],
  [
    'is signed with the public key as if it were a secret',
    (i) => i.forged({ alg: 'HS256', kid: 'rsa' }, {}, i.publicPem('rsa')),
    /algorithm/,
  ],
  [
    'claims the algorithm of another key',
    (i) => i.token({}, { kid: 'rsa', header: { alg: 'ES256' } }),
    /does not show/,
  ],
  [
    'brings its own key',
    (i) => i.token({}, { kid: 'rsa', header: { kid: 'mine', jwk: { kty: 'oct', k: 'AA' } } }),
    /does not show/,
  ],
  [
    'says where its key is',
    (i) => i.token({}, { kid: 'rsa', header: { kid: 'mine', jku: `${i.url}/mine`, x5u: `${i.url}/mine` } }),
    /does not show/,
  ],
  [
    'was changed',
    (i) =>
      i
        .token()
        .replace(
          /\.[^.]+\./,
          `.${Buffer.from(JSON.stringify({ iss: i.url, aud: 'quiver', sub: 'eve', exp: 9e9, role: 'admin' })).toString('base64url')}.`,
        ),
    /signature/,
  ],
  ['is of another issuer', (i) => i.token({ iss: 'https://elsewhere.example' }), /another issuer/],
  ['has no issuer', (i) => i.token({ iss: undefined }), /no claim iss/],
  ['is for another audience', (i) => i.token({ aud: ['mail', 'files'] }), /another audience/],
  ['has no audience', (i) => i.token({ aud: undefined }), /no claim aud/],
  ['has expired', (i) => i.token({ exp: nowSeconds() - 31 }), /expired/],
  ['never expires', (i) => i.token({ exp: undefined }), /no claim exp/],
  ['expires at no time', (i) => i.token({ exp: 'never' }), /claim exp/],
  ['expires at an infinite time', (i) => i.tokenWithText('exp', '1e999'), /claim exp is no time/],
  ['expires later than any date', (i) => i.token({ exp: 8.64e12 + 1 }), /claim exp is no time/],
  ['is valid since an infinite time', (i) => i.tokenWithText('nbf', '-1e999'), /claim nbf is no time/],
  ['was made at an infinite time', (i) => i.tokenWithText('iat', '-1e999'), /claim iat is no time/],
  ['is not valid yet', (i) => i.token({ nbf: nowSeconds() + 60 }), /not valid yet/],
  ['has no subject', (i) => i.token({ sub: undefined }), /claim sub/],
  ['has a subject that is no text', (i) => i.token({ sub: 7 }), /claim sub/],
  ['has a header that must be understood', (i) => i.token({}, { header: { crit: ['x'], x: 1 } }), /malformed|form/],
  ['is huge', (i) => i.token({ groups: 'x'.repeat(20_000) }), /characters/],
  ['is no token', () => 'not.a.token', /no signed JSON Web Token/],
])('a token that %s is refused', async (_, make, reason) => {
  const { verifier } = open();
  const refusal = await verifier.authenticate(make(issuer)).catch((error: unknown) => error);
  expect(refusal).toMatchObject({ kind: 'unauthenticated', message: expect.stringMatching(reason) });
  // Neither what is expected of a token nor anything of this one.
  expect((refusal as Error).message).not.toMatch(/127\.0\.0\.1|quiver|ada|eyJ/);
  expect(issuer.asked).not.toContain('/mine');
});

test('a clock that is a little off is tolerated, no longer than the setting says', async () => {
  const { verifier } = open();
  const token = issuer.token({ exp: nowSeconds() - 20, nbf: nowSeconds() + 20 });
  await expect(verifier.authenticate(token)).resolves.toMatchObject({ name: 'ada' });
  // Also of what is known already.
  wallMs += 11_000;
  await expect(verifier.authenticate(token)).rejects.toThrow(/expired/);
  await expect(
    open({ JWT_TOLERANCE_SECONDS: '0' }).verifier.authenticate(issuer.token({ exp: nowSeconds() - 1 })),
  ).rejects.toThrow(/expired/);
});

test('a new key is found when a token first names it, and a key that is gone ends its tokens', async () => {
  const { verifier, keys } = open();
  const old = issuer.token({}, { kid: 'ec' });
  await verifier.authenticate(old);
  issuer.addKey('next', 'ES256');
  issuer.shown = issuer.shown.filter((kid) => kid !== 'ec');
  const token = issuer.token({}, { kid: 'next' });
  // Not within the pause: whoever invents names of keys does not make this process ask.
  const before = issuer.asked.length;
  await Promise.all(
    Array.from({ length: 50 }, (_, i) =>
      expect(verifier.authenticate(issuer.token({}, { kid: 'rsa', header: { kid: `invented-${i}` } }))).rejects.toThrow(
        /does not show/,
      ),
    ),
  );
  await expect(verifier.authenticate(token)).rejects.toThrow(/does not show/);
  expect(issuer.asked.length).toBe(before);
  await verifier.authenticate(old);
  monotonicMs += 30_000;
  await expect(verifier.authenticate(token)).resolves.toMatchObject({ name: 'ada' });
  await expect(verifier.authenticate(old)).rejects.toThrow(/does not show/);
  expect(issuer.asked.length).toBe(before + 2);
  expect(keys.count).toBe(4);
  issuer.shown.push('ec');
});

test('an issuer that is down stops no token whose key is known, and a token waits for the first keys', async () => {
  const { verifier } = open();
  await verifier.authenticate(issuer.token());
  const { port } = new URL(issuer.url);
  await issuer.stop();
  monotonicMs += 60_000;
  await expect(verifier.authenticate(issuer.token({ sub: 'bob' }))).resolves.toMatchObject({ name: 'bob' });
  await expect(verifier.authenticate(issuer.token({}, { header: { kid: 'other' } }))).rejects.toThrow(/does not show/);

  const late = open();
  await expect(late.verifier.authenticate(issuer.token())).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining('API keys work'),
  });
  expect(JSON.stringify(log)).toMatch(/could not be read/);
  await issuer.start(Number(port));
  // By itself, after a pause.
  await eventually('its keys are known', () => late.keys.count > 0);
  await expect(late.verifier.authenticate(issuer.token())).resolves.toMatchObject({ name: 'ada' });
  expect(late.keys.failed).toBeGreaterThan(0);
});

test('what an issuer answers is looked at: its name, its form, and no key of it that is secret', async () => {
  const wrong = open({ JWT_ISSUER: issuer.url.replace('127.0.0.1', 'localhost') });
  await expect(wrong.verifier.authenticate(issuer.token())).rejects.toMatchObject({ kind: 'unavailable' });
  issuer.mischief = 500;
  const broken = open({ JWT_JWKS_URL: `${issuer.url}/keys` });
  await expect(broken.verifier.authenticate(issuer.token())).rejects.toMatchObject({ kind: 'unavailable' });
  issuer.mischief = null;
  const other = open({ JWT_ISSUER: 'accounts', JWT_JWKS_URL: `${issuer.url}/keys` });
  await expect(other.verifier.authenticate(issuer.token({ iss: 'accounts' }))).resolves.toMatchObject({ name: 'ada' });
});

test('tokens of one subject are one caller, and those of two are two', async () => {
  const { verifier } = open();
  const identity = async (claims: object): Promise<string> =>
    String((await verifier.authenticate(issuer.token({ ...claims }))).token?.identity);
  const ada = await identity({});
  expect(await identity({ jti: 'another' })).toBe(ada);
  expect(await identity({ sub: 'ada@1000' })).not.toBe(ada);
  expect(ada).toMatch(/^token:[\w-]{43}$/);
});
