import type { ClusterStore, StoreEntry } from '../../../shared/cluster-store/cluster-store';
import { readableEntries } from '../readable-entries';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Clock } from '../../../shared/base/time/clock';
import {
  isSameRequest,
  outcomeFromEntry,
  outcomePath,
  OUTCOMES_PREFIX,
  type OutcomesService,
  outcomeToValue,
  type StoredOutcome,
  type StoreDedup,
} from './store-dedup';
import { keyReused } from './write-dedup';

/**
 * What is kept at most: the oldest go first. Each has a few hundred bytes. Those that began jobs are counted by
 * themselves: a folder of documents pushes out nothing else.
 */
const OUTCOMES_MAX = 10_000;
/** Those that have expired are looked for once in so many requests. */
const SWEEP_EVERY = 200;
/** Changes of one transaction, and as many guards; etcd allows 128 of each. */
const CHANGES_MAX = 100;

export class StoredOutcomes implements OutcomesService {
  private looked = 0;

  constructor(private readonly parts: { store: ClusterStore; clock: Pick<Clock, 'wallMs'> }) {}

  async find({ token, digest }: Pick<StoreDedup, 'token' | 'digest'>): Promise<StoredOutcome | null> {
    const found = await this.peek({ token });
    if (found !== null && !isSameRequest(found.digest, digest)) throw keyReused();
    return found;
  }

  /** The same, whatever the request was. Errors: unavailable. */
  async peek({ token }: Pick<StoreDedup, 'token'>): Promise<StoredOutcome | null> {
    this.looked += 1;
    if (this.looked % SWEEP_EVERY === 0) this.sweep().catch(() => undefined);
    const { store, clock } = this.parts;
    const entry = await store.get(outcomePath(token));
    if (entry === null) return null;
    const found = outcomeFromEntry(entry);
    if (found.expiresAtMs <= clock.wallMs()) {
      await store.transact([{ key: entry.key, revision: entry.revision }], [{ type: 'delete', key: entry.key }]);
      return null;
    }
    return found;
  }

  async refuse(dedup: StoreDedup, error: NonNullable<StoredOutcome['error']>): Promise<StoredOutcome | null> {
    const key = outcomePath(dedup.token);
    const { applied } = await this.parts.store.transact(
      [{ key, revision: 0 }],
      [{ type: 'put', key, value: outcomeToValue(dedup, { error }) }],
    );
    return applied ? null : this.find(dedup);
  }

  /** Deletes what has expired, and the oldest of too many. Harmless at any time. */
  async sweep(): Promise<void> {
    const { store, clock } = this.parts;
    const nowMs = clock.wallMs();
    const all = readableEntries((await store.list(OUTCOMES_PREFIX)).entries, (entry) => {
      const { expiresAtMs, result } = outcomeFromEntry(entry);
      return { entry, expiresAtMs, isOfJob: (result as { jobId?: unknown } | undefined)?.jobId !== undefined };
    });
    all.sort((a, b) => b.expiresAtMs - a.expiresAtMs);
    const kept = { job: 0, other: 0 };
    const gone = all
      .filter(({ expiresAtMs, isOfJob }) => {
        const later = kept[isOfJob ? 'job' : 'other']++;
        return expiresAtMs <= nowMs || later >= OUTCOMES_MAX;
      })
      .map(({ entry }) => entry);
    for (let at = 0; at < gone.length; at += CHANGES_MAX) await this.delete(gone.slice(at, at + CHANGES_MAX));
  }

  /**
   * All, or none if one of them is another by now: the same request may have been done again. Then the next sweep sees.
   */
  private async delete(entries: StoreEntry[]): Promise<void> {
    await this.parts.store.transact(
      entries.map(({ key, revision }) => ({ key, revision })),
      entries.map(({ key }) => ({ type: 'delete', key })),
    );
  }
}

/**
 * Runs a use case that takes the mark into the transaction of its work, unless that was done before: then its result is
 * that of then. So are refusals that depend on what there is. Errors: those of the use case; key_reused.
 */
export async function doneOnce<Result>(
  outcomes: OutcomesService,
  dedup: StoreDedup,
  repeated: () => void,
  run: (dedup: StoreDedup) => Promise<Result>,
): Promise<Result> {
  const again = ({ error, result }: StoredOutcome): Result => {
    repeated();
    if (error !== undefined) throw new QuiverError(error.kind, error.message);
    return result as Result;
  };
  const before = await outcomes.find(dedup);
  if (before !== null) return again(before);
  try {
    return await run(dedup);
  } catch (error) {
    // It may be done: the answer of the store was lost, or another request under the same key was quicker.
    const now =
      (await outcomes.find(dedup)) ??
      (isRefusal(error) ? await outcomes.refuse(dedup, { kind: error.kind, message: error.message }) : null);
    if (now === null) throw error;
    return again(now);
  }
}

/** What the same request might not meet later, when others have changed something. Nothing was done. */
function isRefusal(error: unknown): error is QuiverError {
  return (
    isQuiverError(error) && (error.kind === 'not_found' || error.kind === 'already_exists' || error.kind === 'conflict')
  );
}
