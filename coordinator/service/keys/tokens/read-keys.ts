import { readFile } from 'node:fs/promises';
import type { TokenSettings } from '../../../../shared/base/config/token-settings';
import { QuiverError } from '../../../../shared/base/errors/quiver-error';
import { underDeadline } from '../../../../shared/base/time/deadline';
import type { PublicKey, ReadKeys } from './issuer-keys';

/** An issuer that is slower than this keeps callers waiting for too long. */
const FETCH_MS = 5_000;
/** Sets of keys have some kilobytes. */
const BYTES_MAX = 1024 * 1024;
const KEYS_MAX = 100;
/** Of keys that have a public part. A shared secret is none: whoever reads it could sign with it. */
const KINDS: readonly unknown[] = ['RSA', 'EC', 'OKP'];
/** What keys of these kinds show to everybody (RFC 7517, 7518, 8037); nothing else of them is kept. */
const PUBLIC_MEMBERS = ['kty', 'use', 'key_ops', 'alg', 'kid', 'n', 'e', 'crv', 'x', 'y'];

/** How the keys of an issuer are read. */
export function keyReader(keys: TokenSettings['keys']): ReadKeys {
  switch (keys.type) {
    case 'file':
      return async () => keysIn(await readFile(keys.path, 'utf8'), 'JWT_JWKS_FILE');
    case 'url':
      return async () => keysIn(await textAt(keys.url), keys.url);
    case 'discovery':
      return async () => {
        const url = await discovered(keys.issuer);
        return keysIn(await textAt(url), url);
      };
  }
}

/** Where the issuer says that its keys are (OpenID Connect Discovery 1.0, section 4). */
async function discovered(issuer: string): Promise<string> {
  const place = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const found = parsed(await textAt(place), place) as { issuer?: unknown; jwks_uri?: unknown };
  if (found.issuer !== issuer)
    throw new QuiverError(
      'unavailable',
      `${place} is about another issuer than JWT_ISSUER: ${JSON.stringify(found.issuer)}`,
    );
  const { jwks_uri: url } = found;
  // Who could change what goes over the wire could put own keys there.
  if (
    typeof url !== 'string' ||
    !(url.startsWith('https://') || (url.startsWith('http://') && issuer.startsWith('http://')))
  ) {
    throw new QuiverError('unavailable', `${place} names no jwks_uri over HTTPS`);
  }
  return url;
}

/** The public keys in a JSON Web Key Set. Errors: unavailable. */
export function keysIn(text: string, place: string): PublicKey[] {
  const { keys } = parsed(text, place) as { keys?: unknown };
  if (!Array.isArray(keys)) throw new QuiverError('unavailable', `${place} holds no set of keys`);
  const usable = (keys as unknown[]).filter(
    (key): key is PublicKey => typeof key === 'object' && key !== null && KINDS.includes((key as PublicKey).kty),
  );
  if (usable.length === 0) throw new QuiverError('unavailable', `${place} holds no public key`);
  if (usable.length > KEYS_MAX) throw new QuiverError('unavailable', `${place} holds more than ${KEYS_MAX} keys`);
  return usable.map((key) =>
    Object.fromEntries(PUBLIC_MEMBERS.filter((name) => Object.hasOwn(key, name)).map((name) => [name, key[name]])),
  );
}

function parsed(text: string, place: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch (cause) {
    throw new QuiverError('unavailable', `${place} holds no JSON`, { cause });
  }
  throw new QuiverError('unavailable', `${place} holds no JSON object`);
}

/** The deadline is also that of the body. */
function textAt(url: string): Promise<string> {
  return underDeadline(FETCH_MS, null, async (signal) => {
    const answer = await fetch(url, { redirect: 'error', headers: { accept: 'application/json' }, signal }).catch(
      (cause: Error) => {
        throw new QuiverError('unavailable', `${url} could not be read: ${reasonOf(cause)}`, { cause });
      },
    );
    if (!answer.ok) {
      await answer.body?.cancel();
      throw new QuiverError('unavailable', `${url} answered with HTTP ${answer.status}`);
    }
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    for await (const piece of answer.body ?? []) {
      bytes += (piece as Uint8Array).length;
      if (bytes > BYTES_MAX) throw new QuiverError('unavailable', `${url} has more than ${BYTES_MAX} bytes`);
      pieces.push(piece as Uint8Array);
    }
    return Buffer.concat(pieces).toString('utf8');
  });
}

/** `fetch` itself says little more than that it failed. */
function reasonOf({ message, cause }: Error): string {
  return cause instanceof Error && cause.message !== '' ? cause.message : message;
}
