import type { ApiKeyView } from '../../../../../coordinator/service/keys/keys-service';
import { OneTimeSignIn } from '../../../../../coordinator/service/keys/sign-in';

const key = { id: 1, name: 'default', role: 'admin' } as ApiKeyView;

function signIn(): {
  signIn: OneTimeSignIn;
  clock: { nowMs: number; monotonicMs: () => number };
  secrets: Set<string>;
} {
  const clock = { nowMs: 5, monotonicMs: () => clock.nowMs };
  const secrets = new Set(['qv_first']);
  return {
    clock,
    secrets,
    signIn: new OneTimeSignIn({ clock, keys: { authenticate: (secret) => (secrets.has(secret) ? key : null) } }),
  };
}

describe('a one-time link', () => {
  test('gives the key once', async () => {
    const under = signIn();
    const token = under.signIn.offer('qv_first');
    expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
    await expect(under.signIn.redeem(`${token}x`)).rejects.toMatchObject({ kind: 'unauthenticated' });
    expect(await under.signIn.redeem(token)).toEqual({ apiKey: 'qv_first', role: 'admin', keyId: 1 });
    await expect(under.signIn.redeem(token)).rejects.toMatchObject({
      kind: 'unauthenticated',
      message: expect.stringContaining('sign in with an API key'),
    });
  });

  test('of two that come at once signs one in', async () => {
    const under = signIn();
    const token = under.signIn.offer('qv_first');
    const outcomes = await Promise.allSettled([under.signIn.redeem(token), under.signIn.redeem(token)]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  test('ends after ten minutes', async () => {
    const under = signIn();
    const first = under.signIn.offer('qv_first');
    under.clock.nowMs += 10 * 60_000;
    await expect(under.signIn.redeem(first)).rejects.toMatchObject({ kind: 'unauthenticated' });
    const second = under.signIn.offer('qv_first');
    under.clock.nowMs += 10 * 60_000 - 1;
    expect((await under.signIn.redeem(second)).apiKey).toBe('qv_first');
  });

  test('does not work where none was made, or when its key has another secret by now', async () => {
    const under = signIn();
    await expect(under.signIn.redeem('')).rejects.toMatchObject({ kind: 'unauthenticated' });
    const token = under.signIn.offer('qv_first');
    under.secrets.clear();
    await expect(under.signIn.redeem(token)).rejects.toMatchObject({ kind: 'unauthenticated' });
  });
});
