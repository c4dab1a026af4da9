import { createHash } from 'node:crypto';
import type { ApiKeyView } from './keys-service';
import { keyIdentity, type KeyWriter } from './quota/key-quota';

/** Who makes a request: a key, or the subject of a bearer token. */
export interface Caller extends Pick<
  ApiKeyView,
  'name' | 'role' | 'collections' | 'allowedNetworks' | 'rateLimitPerMinute' | 'quota' | 'expiresAt'
> {
  /** Of the key; null: it is a token. */
  id: number | null;
  /** Of the token; absent: it is a key. `identity` is the same for all tokens of a subject. */
  token?: { subject: string; identity: string };
}

/** Whoever the data belong to, by whom alone they are reached: as key 1, without limits. */
export const OWNER: Caller = Object.freeze({
  id: 1,
  name: 'default',
  role: 'admin',
  collections: null,
  allowedNetworks: null,
  rateLimitPerMinute: null,
  quota: null,
  expiresAt: null,
});

/** The requests of all tokens are counted together under this id, which no key has: subjects are without number. */
export const TOKENS_USAGE_ID = 0;

/** The name of a caller that no other has, of a bounded length and without marks: `key:7`, `token:…`. */
export function identityOf({ id, token }: Pick<Caller, 'id' | 'token'>): string {
  return token?.identity ?? keyIdentity(id as number);
}

/** The caller's quota as writes need it; undefined, nearly always: it has none. */
export function writerOf(caller: Caller | null): KeyWriter | undefined {
  return caller === null || caller.quota === null ? undefined : { identity: identityOf(caller), quota: caller.quota };
}

/** The identity of a subject. What an issuer calls its subjects may be long, and hold anything. */
export function tokenIdentity(issuer: string, subject: string): string {
  return `token:${createHash('sha256')
    .update(JSON.stringify([issuer, subject]))
    .digest('base64url')}`;
}
