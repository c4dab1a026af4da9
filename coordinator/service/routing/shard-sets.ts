import { setTimeout as sleep } from 'node:timers/promises';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { CallOptions } from '../../../shared/contract/shard/shard-client';
import type { Clock } from '../../../shared/base/time/clock';
import { collectionNotFound } from './collection-not-found';
import type { ShardedCollection } from './scatter-gather';

/** A collection's record is looked at again so often, in memory, while its set of shards is changing. */
const CHECK_EVERY_MS = 5;
/**
 * With an unchanged record, the same shards are asked again after this: the reshard was given up. The pause grows,
 * because each attempt of a write becomes an entry of a log.
 */
const AGAIN_MS = { first: 50, longest: 500 };

/** What says whether vectors of a collection are of the model of before. */
interface OfModel {
  name: string;
  vectorsSince?: string | undefined;
}

/** How long a call is begun again whose thread has not heard of the change, and how long it waits in between. */
const REMODELLED = { forMs: 5_000, pauseMs: 10 };

/** Errors: remodelled when the vectors of the collection are of another model by now. */
export function mustHaveSameVectors(then: OfModel, now: OfModel): void {
  if (hasSameVectors(then, now)) return;
  throw new QuiverError(
    'remodelled',
    `the vectors of collection "${then.name}" are of another model by now; the call may be retried`,
  );
}

export function hasSameVectors(then: Pick<OfModel, 'vectorsSince'>, now: Pick<OfModel, 'vectorsSince'>): boolean {
  return then.vectorsSince === now.vectorsSince;
}

/**
 * Runs what makes vectors of texts, or compares vectors, and again from its beginning when the collection's vectors are
 * of another model meanwhile. Where it answers at once, it is not waited for. Errors: those of `run`.
 */
export function ofOneModel<Result>(run: () => Result | Promise<Result>): Result | Promise<Result> {
  const first = run();
  return first instanceof Promise ? first.catch((error: unknown) => begunAgain(run, error)) : first;
}

async function begunAgain<Result>(run: () => Result | Promise<Result>, failure: unknown): Promise<Result> {
  const untilMs = performance.now() + REMODELLED.forMs;
  for (let error = failure; ;) {
    if (!isQuiverError(error) || error.kind !== 'remodelled' || performance.now() >= untilMs) throw error;
    await sleep(REMODELLED.pauseMs);
    try {
      return await run();
    } catch (next) {
      error = next;
    }
  }
}

/** Says which shards a collection consists of, as far as this thread knows. */
export interface CollectionLookUp<Collection> {
  known(name: string): Collection | null;
  /** Errors: not_found. */
  find(name: string): Promise<Collection>;
}

/**
 * Repeats what was asked of shards that are no longer those of their collection, with those that are. Each attempt is
 * with one set of shards, from its first call to its last, so no answer mixes two.
 */
export class ShardSets<Collection extends ShardedCollection & { vectorsSince?: string | undefined }> {
  constructor(private readonly parts: { catalog: CollectionLookUp<Collection>; clock: Pick<Clock, 'monotonicMs'> }) {}

  /**
   * Errors: those of `run`, but for `resharded` within the deadline; not_found when the collection was deleted
   * meanwhile.
   */
  inOne<Result>(
    collection: Collection,
    call: CallOptions,
    run: (collection: Collection) => Promise<Result>,
  ): Promise<Result> {
    return run(collection).catch((error: unknown) => this.again(collection, call, run, error, false));
  }

  /**
   * As `inOne`, of what asks with vectors, or for them: those of another model can't be compared. Errors also:
   * remodelled.
   */
  ofModel<Result>(
    collection: Collection,
    call: CallOptions,
    run: (collection: Collection) => Promise<Result>,
  ): Promise<Result> {
    return run(collection).catch((error: unknown) => this.again(collection, call, run, error, true));
  }

  private async again<Result>(
    stale: Collection,
    call: CallOptions,
    run: (collection: Collection) => Promise<Result>,
    failure: unknown,
    isOfModel: boolean,
  ): Promise<Result> {
    let current = stale;
    let error = failure;
    for (let attempt = 0; ; attempt += 1) {
      if (!isQuiverError(error) || error.kind !== 'resharded' || this.parts.clock.monotonicMs() >= call.deadlineMs)
        throw error;
      current = await this.next(current, call, attempt);
      if (isOfModel) mustHaveSameVectors(stale, current);
      try {
        return await run(current);
      } catch (next) {
        error = next;
      }
    }
  }

  /**
   * The collection with another set of shards than these, or after a pause, which grows with `attempt`, with the same.
   * Errors: not_found.
   */
  async next(stale: Collection, { deadlineMs }: CallOptions, attempt: number): Promise<Collection> {
    const { catalog, clock } = this.parts;
    const untilMs = Math.min(
      deadlineMs,
      clock.monotonicMs() + Math.min(AGAIN_MS.first * 2 ** attempt, AGAIN_MS.longest),
    );
    for (;;) {
      const current = catalog.known(stale.name) ?? (await catalog.find(stale.name));
      if (current.identity !== stale.identity) throw collectionNotFound(stale.name);
      const leftMs = untilMs - clock.monotonicMs();
      if (current.uid !== stale.uid || leftMs <= 0) return current;
      await sleep(Math.min(leftMs, CHECK_EVERY_MS));
    }
  }
}
