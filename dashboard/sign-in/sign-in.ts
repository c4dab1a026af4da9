import { call } from '../api/client';
import { signIn } from '../state/session';

const LINK = /^#sign-in=(.+)$/;

/** The token of a sign-in link, `/ui#sign-in=TOKEN`; null without one. */
export function tokenInAddress(): string | null {
  return LINK.exec(location.hash)?.[1] ?? null;
}

let redeeming: string | null = null;

/** Signs in by the token in the address, which is taken out of it first: it must not stay in the history. */
export async function redeemLink(): Promise<void> {
  const token = tokenInAddress();
  if (token === null || token === redeeming) return;
  redeeming = token;
  history.replaceState(null, '', '#/');
  dispatchEvent(new HashChangeEvent('hashchange'));
  const { api_key: key } = await call<'post_sign_in'>('POST', '/v1/sign_in', {
    body: { token: decodeURIComponent(token) },
    key: null,
  });
  await signInByKey(key);
}

/** By a key or a bearer token. Throws what the service says to it. */
export async function signInByKey(key: string): Promise<void> {
  const {
    role,
    name,
    key_id: keyId,
    expires_at: expiresAt,
  } = await call<'get_me'>('GET', '/v1/me', {
    key,
  });
  signIn({ key, role, name, keyId, expiresAt });
}
