import type { Guard, StoreChange, StoreEntry, TransactionResult } from '../../../shared/cluster-store/cluster-store';
import { type ErrorKind, QuiverError } from '../../../shared/base/errors/quiver-error';

/** Every outcome is one entry under this prefix. */
export const OUTCOMES_PREFIX = '/q/idempotency/';

/** A request that changes the cluster store once. A plain value: it goes from thread to thread. */
export interface StoreDedup {
  token: string;
  /** What is asked for; behind an `@`, of a collection that is called by an alias, which one that is. */
  digest: string;
  expiresAtMs: number;
  /**
   * Of this request alone: secrets in its outcome are stored encrypted under it (sealing-keys.ts). 256 bits,
   * hexadecimal.
   */
  sealingKey: string;
}

/** What became of a request: the result of its use case, or the refusal. */
export interface StoredOutcome {
  digest: string;
  expiresAtMs: number;
  result?: unknown;
  error?: { kind: ErrorKind; message: string };
}

/** Outcomes of requests that changed the cluster store, for who repeats them. */
export interface OutcomesService {
  /** null: the request is new. Errors: key_reused; unavailable. */
  find(dedup: StoreDedup): Promise<StoredOutcome | null>;
  /**
   * Keeps a refusal, and answers null; or answers what another request under the same key came to meanwhile. Errors: as
   * `find`.
   */
  refuse(dedup: StoreDedup, error: NonNullable<StoredOutcome['error']>): Promise<StoredOutcome | null>;
}

/**
 * Whether two digests are of the same request. An alias that has gone since, such as with its collection, makes it no
 * other; one that was moved does.
 */
export function isSameRequest(one: string, other: string): boolean {
  const [asked, collection] = one.split('@');
  const [askedThere, collectionThere] = other.split('@');
  return asked === askedThere && (collection ?? collectionThere) === (collectionThere ?? collection);
}

/**
 * What has to be in the transaction with which a use case does its work: the guard says that nobody else has done it,
 * and comes behind all others; the change says that it is done, and how it ended. Nothing without a mark.
 */
export function outcomeTransaction(
  dedup: StoreDedup | undefined,
  result: unknown,
): { guards: Guard[]; changes: StoreChange[] } {
  if (dedup === undefined) return { guards: [], changes: [] };
  const key = outcomePath(dedup.token);
  return { guards: [{ key, revision: 0 }], changes: [{ type: 'put', key, value: outcomeToValue(dedup, { result }) }] };
}

/**
 * To be called with the result of such a transaction. Errors: unavailable when another request under the same key did
 * the work.
 */
export function mustBeFirst(dedup: StoreDedup | undefined, result: TransactionResult): void {
  if (dedup !== undefined && !result.applied && result.current.at(-1) !== null)
    throw new QuiverError(
      'unavailable',
      'another request with the same Idempotency-Key was done meanwhile; the call may be retried',
    );
}

export function outcomePath(token: string): string {
  return OUTCOMES_PREFIX + token;
}

export function outcomeToValue(
  { digest, expiresAtMs }: StoreDedup,
  ended: Pick<StoredOutcome, 'result' | 'error'>,
): string {
  return JSON.stringify({ digest, expiresAtMs, ...ended } satisfies StoredOutcome);
}

/** Errors: storage_failed when the text is none: whether the request was done is not known then. */
export function outcomeFromEntry({ key, value }: Pick<StoreEntry, 'key' | 'value'>): StoredOutcome {
  try {
    const found = JSON.parse(value) as StoredOutcome;
    if (typeof found.digest === 'string' && Number.isFinite(found.expiresAtMs)) return found;
  } catch {
    // Said below.
  }
  throw new QuiverError('storage_failed', `the stored outcome of a request at ${key} is unreadable`);
}
