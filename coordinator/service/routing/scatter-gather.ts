import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { CallOptions, ShardId } from '../../../shared/contract/shard/shard-client';
import type { Clock } from '../../../shared/base/time/clock';
import { deadlineTimer } from '../../../shared/base/time/deadline';
import type { CallProfiling } from './call-profiling';
import { collectionNotFound } from './collection-not-found';

/** What a call needs to know about a collection to reach its shards. */
export interface ShardedCollection {
  /** Of its shards: those of another number have another one. */
  uid: string;
  /**
   * Stays the same for the life of the collection; that of its first shards. Absent where nothing but its shards is
   * left.
   */
  identity?: string;
  name: string;
  shards: number;
}

interface ShardFailure {
  shard: number;
  /** null: no answer within the deadline. */
  error: unknown;
}

/** Asks one shard; `index` is its index among the shards asked. */
export type ShardCall<T> = (id: ShardId, index: number) => Promise<T>;

/**
 * Asks shards of a collection, all at once and under one deadline. Either all of them answer, or the call fails with
 * one error after the last has settled (so that nothing of a failed write is still under way, except past the
 * deadline):
 * - an error that is not about reachability (overloaded, storage_failed, …) as the shard gave it, lowest shard first;
 *   of what is stored it says which shard of which collection it is;
 * - `not_found` of the collection if a shard is gone because the collection was dropped meanwhile; if others are in its
 *   place, `resharded` of a read and `commit_unknown` of a write;
 * - otherwise `unavailable`, or `commit_unknown` for a write that may have been applied in part; both name the shards.
 */
export class ScatterGather {
  private readonly clock: Clock;
  private readonly timeoutMs: number;
  private readonly uidOf: (collection: ShardedCollection) => Promise<string | null>;
  private readonly profiling: CallProfiling | null;

  /**
   * `uidOf` answers the uid that the collection's shards have now, null when it is gone; called only if a shard is
   * missing.
   */
  constructor(options: {
    clock: Clock;
    timeoutMs: number;
    uidOf: (collection: ShardedCollection) => Promise<string | null>;
    profiling?: CallProfiling | undefined;
  }) {
    this.profiling = options.profiling ?? null;
    this.clock = options.clock;
    this.timeoutMs = options.timeoutMs;
    this.uidOf = options.uidOf;
  }

  /**
   * The deadline of a call that starts now, for all of its rounds. Default: the time that a client's request may take.
   */
  begin(timeoutMs = this.timeoutMs): CallOptions {
    return { deadlineMs: this.clock.monotonicMs() + timeoutMs, profile: this.profiling?.current };
  }

  /** As `begin`, for a call that may take so long where a client's request may not. */
  beginLong(timeoutMs: number): CallOptions {
    return this.begin(Math.max(timeoutMs, this.timeoutMs));
  }

  /** Answers of all shards, in the order of the shards. */
  readAll<T>(collection: ShardedCollection, call: CallOptions, ask: ShardCall<T>): Promise<T[]> {
    return this.gather(collection, allShards(collection.shards), call, ask, false);
  }

  /** Answers of the listed shards, in the order of the list. */
  read<T>(collection: ShardedCollection, shards: number[], call: CallOptions, ask: ShardCall<T>): Promise<T[]> {
    return this.gather(collection, shards, call, ask, false);
  }

  /** Like {@link read}, for calls that change something. */
  write<T>(collection: ShardedCollection, shards: number[], call: CallOptions, ask: ShardCall<T>): Promise<T[]> {
    return this.gather(collection, shards, call, ask, true);
  }

  private gather<T>(
    collection: ShardedCollection,
    shards: number[],
    call: CallOptions,
    ask: ShardCall<T>,
    isWrite: boolean,
  ): Promise<T[]> {
    if (shards.length === 0) return Promise.resolve([]);
    return new Promise((resolve, reject) => {
      const answers: T[] = new Array(shards.length);
      const isOpen: boolean[] = new Array(shards.length).fill(true);
      const failures: ShardFailure[] = [];
      let openCount = shards.length;
      const settle = (): void => {
        clearTimeout(timer);
        if (failures.length === 0) resolve(answers);
        else
          this.errorOf(collection, failures, isWrite, isWrite && mayBeApplied(failures, shards.length)).then(
            reject,
            reject,
          );
      };
      const timer = deadlineTimer(Math.ceil(call.deadlineMs - this.clock.monotonicMs()), () => {
        shards.forEach((shard, i) => isOpen[i] && failures.push({ shard, error: null }));
        openCount = -1;
        settle();
      });
      for (let i = 0; i < shards.length; i += 1) {
        ask({ collectionUid: collection.uid, shard: shards[i] }, i).then(
          (answer) => {
            answers[i] = answer;
            isOpen[i] = false;
            if (--openCount === 0) settle();
          },
          (error: unknown) => {
            if (openCount < 0) return;
            failures.push({ shard: shards[i], error });
            isOpen[i] = false;
            if (--openCount === 0) settle();
          },
        );
      }
    });
  }

  private async errorOf(
    collection: ShardedCollection,
    failures: ShardFailure[],
    isWrite: boolean,
    isUnknown: boolean,
  ): Promise<unknown> {
    failures.sort((a, b) => a.shard - b.shard);
    const decisive = failures.find(({ error }) => error !== null && !isOutOfReach(error) && !isGone(error));
    // These promise that nothing was written. That holds for this shard, but others may have written.
    const promise =
      isUnknown && isQuiverError(decisive?.error) && decisive.error.kind === 'overloaded' ? decisive.error : null;
    if (decisive !== undefined && promise === null) return storageErrorOf(collection, decisive) ?? decisive.error;
    if (failures.some(({ error }) => isGone(error))) {
      const uid = await this.uidOf(collection);
      if (uid === null) return collectionNotFound(collection.name);
      // Other shards took their place some time ago. Of a write, they may have it from there.
      if (uid !== collection.uid && !isWrite)
        return new QuiverError(
          'resharded',
          `collection "${collection.name}" has other shards now; the call may be retried`,
        );
      if (uid !== collection.uid) return shardsUnavailable(collection, failures, true);
    }
    return shardsUnavailable(collection, failures, isUnknown);
  }
}

/** Where it says what an operator can do. */
const ADVICE_PAGE = 'docs/operations.md';
/** Shards that a message and a log line name. */
const SHOWN_MAX = 20;

function shardsUnavailable(collection: ShardedCollection, failures: ShardFailure[], isUnknown: boolean): QuiverError {
  const missing = failures.map(({ shard }) => shard);
  const more = missing.length > SHOWN_MAX ? ` and ${missing.length - SHOWN_MAX} more` : '';
  const which = `${missing.length === 1 ? 'shard' : 'shards'} ${missing.slice(0, SHOWN_MAX).join(', ')}${more} of ${collection.shards} of collection "${collection.name}"`;
  const state = `${missing.length === 1 ? 'is' : 'are'} unavailable`;
  const advice = isUnknown
    ? 'the write may have been applied in part, and the call may be retried'
    : 'the call may be retried';
  return new QuiverError(isUnknown ? 'commit_unknown' : 'unavailable', `${which} ${state}; ${advice}`, {
    cause: failures.find(({ error }) => error !== null)?.error,
    details: {
      collection: collection.name,
      collectionUid: collection.uid,
      missingShards: missing.slice(0, SHOWN_MAX),
      missingCount: missing.length,
    },
  });
}

/** null: it is something else. */
function storageErrorOf(collection: ShardedCollection, { shard, error }: ShardFailure): QuiverError | null {
  if (!isQuiverError(error) || (error.kind !== 'storage_damaged' && error.kind !== 'storage_failed')) return null;
  // What is found while a shard is open says no more than that.
  const isAdvised = error.kind === 'storage_failed' || error.message.includes(ADVICE_PAGE);
  const advice = isAdvised
    ? ''
    : `; put them back from a copy, or restore the collection from a backup (${ADVICE_PAGE}, "When data are gone")`;
  return new QuiverError(
    error.kind,
    `shard ${shard} of ${collection.shards} of collection "${collection.name}": ${error.message}${advice}`,
    { cause: error, details: error.details },
  );
}

/** Nothing was written only if every shard that was asked certainly refused. */
function mayBeApplied(failures: ShardFailure[], askedCount: number): boolean {
  return (
    failures.length < askedCount ||
    failures.some(({ error }) => error === null || (isQuiverError(error) && error.kind === 'commit_unknown'))
  );
}

function isOutOfReach(error: unknown): boolean {
  return isQuiverError(error) && (error.kind === 'unavailable' || error.kind === 'commit_unknown');
}

function isGone(error: unknown): boolean {
  return isQuiverError(error) && error.kind === 'not_found';
}

/** Lists of shard numbers by count: every read of a collection uses the same list. */
const shardLists = new Map<number, number[]>();

function allShards(count: number): number[] {
  let list = shardLists.get(count);
  if (list === undefined) {
    list = Array.from({ length: count }, (_, shard) => shard);
    shardLists.set(count, list);
  }
  return list;
}
