import { randomBytes, timingSafeEqual } from 'node:crypto';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Clock } from '../../../shared/base/time/clock';
import type { KeysService, Role } from './keys-service';
import { secretDigest } from './secret';

/** How long a link works: enough to read the terminal and click, too short to be found in a log later. */
export const LINK_MINUTES = 10;
const LINK_MS = LINK_MINUTES * 60_000;
/** 256 bits, as of a key. */
const TOKEN_BYTES = 32;

/** What somebody gets for a link. */
export interface SignedIn {
  apiKey: string;
  role: Role;
  keyId: number;
}

export interface SignIn {
  /** The key behind a link, once. Errors: unauthenticated for a token that is unknown, used or too old. */
  redeem(token: string): Promise<SignedIn>;
}

interface Link {
  /** SHA-256 of the token. */
  digest: Buffer;
  secret: string;
  endMs: number;
}

/**
 * The one-time link by which whoever started the service for the first time gets into the dashboard without copying a
 * key. There is at most one, in memory only. It belongs to the main thread, so it is used once whichever thread is
 * asked.
 */
export class OneTimeSignIn implements SignIn {
  private link: Link | null = null;

  constructor(private readonly parts: { keys: Pick<KeysService, 'authenticate'>; clock: Pick<Clock, 'monotonicMs'> }) {}

  /** Makes the link for a key's secret, and answers its token. A link that was made before ends. */
  offer(secret: string): string {
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    this.link = { digest: secretDigest(token), secret, endMs: this.parts.clock.monotonicMs() + LINK_MS };
    return token;
  }

  async redeem(token: string): Promise<SignedIn> {
    const { clock, keys } = this.parts;
    if (this.link !== null && clock.monotonicMs() >= this.link.endMs) this.link = null;
    // Digests have one length, and are compared in constant time.
    if (this.link === null || !timingSafeEqual(this.link.digest, secretDigest(token))) throw noSuchLink();
    const { secret } = this.link;
    this.link = null;
    // The key may have a new secret by now.
    const key = keys.authenticate(secret);
    if (key === null) throw noSuchLink();
    return { apiKey: secret, role: key.role, keyId: key.id };
  }
}

function noSuchLink(): QuiverError {
  return new QuiverError(
    'unauthenticated',
    `this sign-in link is unknown, was used, or is older than ${LINK_MINUTES} minutes: sign in with an API key; the first start printed the admin key once, and API_KEY sets a new one`,
  );
}
