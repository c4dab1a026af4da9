import { createHmac, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { derivedKey } from '../../../shared/base/secret/derived-key';
import type { ClusterStore } from '../../../shared/cluster-store/cluster-store';

const PATH = '/q/cursor-secret';
const SECRET = /^[0-9a-f]{64}$/;
const SECRET_BYTES = 32;
/** Bytes of a seal, and its characters in base64url without padding. */
const SEAL_BYTES = 16;
export const SEAL_LENGTH = 22;
/** Every failed attempt means that another process made one. */
const ATTEMPTS_MAX = 16;

/**
 * Seals cursors, so that only what a search has answered is taken for one: what others write there could have shards
 * look for as much as they like. Whoever has the secret takes the cursors of the others.
 */
export class CursorSeal {
  private readonly key: KeyObject;

  constructor(secret: string) {
    this.key = derivedKey(secret, 'seals of cursors, 1');
  }

  close(text: string): string {
    return text + this.sealOf(text).toString('base64url');
  }

  /** null: it is not sealed, or with another secret. */
  open(cursor: string): string | null {
    const text = cursor.slice(0, -SEAL_LENGTH);
    const given = Buffer.from(cursor.slice(-SEAL_LENGTH), 'base64url');
    return given.length === SEAL_BYTES && timingSafeEqual(given, this.sealOf(text)) ? text : null;
  }

  private sealOf(text: string): Buffer {
    return createHmac('sha256', this.key).update(text).digest().subarray(0, SEAL_BYTES);
  }
}

/**
 * The secret by which all processes that share a cluster store seal cursors, made by the first that asks. So cursors
 * outlive restarts. Errors: unavailable.
 */
export async function cursorSecretIn(store: Pick<ClusterStore, 'get' | 'transact'>): Promise<string> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    const entry = await store.get(PATH);
    if (entry !== null && SECRET.test(entry.value)) return entry.value;
    const made = randomBytes(SECRET_BYTES).toString('hex');
    const guards = [{ key: PATH, revision: entry?.revision ?? 0 }];
    const { applied } = await store.transact(guards, [{ type: 'put', key: PATH, value: made }]);
    if (applied) return made;
  }
  // One that is not in the store would be the secret of this process alone.
  throw new QuiverError('unavailable', 'the cluster store did not take a secret for cursors; try again');
}
