import { call } from '../api/client';
import type { Role } from '../api/shapes';
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
  const { api_key: key } = await call<{ api_key: string }>('POST', '/v1/sign_in', {
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
  } = await call<{ role: Role; name: string; key_id: number | null; expires_at: string | null }>('GET', '/v1/me', {
    key,
  });
  signIn({ key, role, name, keyId, expiresAt });
}
