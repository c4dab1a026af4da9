import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type { DedupProgress, DedupRecord } from '../../../shared/contract/writes/dedup-record';
import type { CallOptions, ShardClient } from '../../../shared/contract/shard/shard-client';
import type { StoredItem } from '../../../shared/contract/shard/shard-read';
import type { Clock } from '../../../shared/base/time/clock';
import { dedupRecordsOf } from './begun-write';
import { openText } from '../../../shared/base/secret/sealed-text';
import { openedId, stepNote } from '../../../shared/contract/shard/step-note';
import { keyReused, dedupOf, type Once } from '../idempotency/write-dedup';
import type { ScatterGather, ShardedCollection } from '../routing/scatter-gather';
import { shardOf } from '../routing/shard-router';
import type { ShardSets } from '../routing/shard-sets';
import {
  brokenOff,
  type FilteredResult,
  type FilteredWrite,
  foundBytesOf,
  pageItemsOf,
  writeStep,
} from './filtered-write';
import { isLastPage } from './insertion-order-reader';

/** How far a shard is, which is one of `shards`: kept with its mark, sealed. */
interface Reached {
  shards: number;
  shard: number;
  /** The last item that was dealt with, all of them, or none (null). */
  reached: 'all' | { stamp: number; externalId: string } | null;
}

interface ShardPass extends Reached {
  step: number;
  done: number;
  excess: number;
  first: string | null;
}

/**
 * As writeMatching, and done once: each shard notes with every step how far it is and what it has done, so that whoever
 * repeats the call goes on from there, and the result is that of all attempts together. Two who do so at once take
 * turns. Errors: as writeMatching; key_reused.
 */
export async function writeMatchingOnce<Collection extends ShardedCollection & { dim: number }>(
  parts: {
    shards: Pick<ShardClient, 'read' | 'write'>;
    scatter: ScatterGather;
    sets: Pick<ShardSets<Collection>, 'inOne'>;
    clock: Pick<Clock, 'wallMs'>;
    /** Throws where no more of it may be done; what was done before is answered in any case. */
    mayGoOn?: (current: Collection) => void;
  },
  collection: Collection,
  write: FilteredWrite,
  call: CallOptions,
  once: Once,
): Promise<FilteredResult> {
  const pass = new OncePass(parts, write, call, once);
  try {
    await parts.sets.inOne(collection, call, (current) => pass.run(current, () => parts.mayGoOn?.(current)));
  } catch (error) {
    throw pass.result.done === 0 || !isQuiverError(error) ? error : brokenOff(error, pass.result.done, write);
  }
  if (!pass.hasWritten) once.repeated();
  return pass.result;
}

class OncePass {
  hasWritten = false;
  private passes: ShardPass[] = [];
  /** Of the sets of shards before this one. */
  private earlier: ShardPass[] = [];

  constructor(
    private readonly parts: {
      shards: Pick<ShardClient, 'read' | 'write'>;
      scatter: ScatterGather;
      clock: Pick<Clock, 'wallMs'>;
    },
    private readonly write: FilteredWrite,
    private readonly call: CallOptions,
    private readonly once: Once,
  ) {}

  get result(): FilteredResult {
    const all = [...this.earlier, ...this.passes];
    const sum = (count: (pass: ShardPass) => number): number => all.reduce((total, pass) => total + count(pass), 0);
    return {
      done: sum(({ done }) => done),
      excess: { count: sum(({ excess }) => excess), first: all.find(({ first }) => first !== null)?.first ?? null },
    };
  }

  /** Errors: resharded; those of the shards, and of `mayGoOn`. */
  async run(collection: ShardedCollection & { dim: number }, mayGoOn: () => void): Promise<void> {
    const { scatter, shards, clock } = this.parts;
    const { call, once } = this;
    const marks = await dedupRecordsOf(this.parts, collection, once, clock.wallMs(), call);
    this.passes = marks.map((dedup, shard) => passOf(dedup, { shards: collection.shards, shard }, once));
    this.earlier = marks.flatMap((dedup) => (dedup?.earlier ?? []).map((progress) => fromProgress(progress, once)));
    if (isComplete(this.earlier)) return;
    if (this.open().length > 0) mayGoOn();
    const limit = pageItemsOf(collection.dim);
    for (let open = this.open(); open.length > 0; open = this.open()) {
      const bytesMax = foundBytesOf(open.length);
      const pages = await scatter.read(collection, shardsOf(open), call, (id, i) =>
        shards.read(
          id,
          'scan',
          {
            after: open[i].reached as { stamp: number; externalId: string } | null,
            limit,
            bytesMax,
            filter: this.write.filter,
            vectors: false,
            texts: false,
          },
          call,
        ),
      );
      const items = pages.flatMap((page) => page.filter((item) => !this.isDealtWith(item)));
      const refusals = await writeStep(this.write, { items, done: this.result.done }, (stored) =>
        scatter.write(collection, shardsOf(open), call, (id, i) =>
          this.step(id, open[i], { page: pages[i], isLast: isLastPage(pages[i], limit, bytesMax) }, stored),
        ),
      );
      if (refusals.includes(true))
        throw new QuiverError('resharded', 'the collection changes its number of shards; the call may be retried');
    }
  }

  private open(): ShardPass[] {
    return this.passes.filter(({ reached }) => reached !== 'all');
  }

  /** Answers whether the shard refuses writes. */
  private async step(
    id: { collectionUid: string; shard: number },
    pass: ShardPass,
    { page, isLast }: { page: StoredItem[]; isLast: boolean },
    stored: (item: StoredItem) => void,
  ): Promise<boolean> {
    const { shards, clock } = this.parts;
    const { once, write, call } = this;
    const items = page.filter((item) => !this.isDealtWith(item));
    const last = page.at(-1);
    const reached = last === undefined || isLast ? 'all' : { stamp: last.stamp, externalId: last.externalId };
    const note: Reached = { shards: pass.shards, shard: pass.shard, reached };
    const operations = items.map(({ externalId }) => write.operationOf(externalId));
    const { outcomes } = await shards.write(
      id,
      [
        dedupOf(once, clock.wallMs(), { step: pass.step, note: stepNote(JSON.stringify(note), once.sealingKey) }),
        ...operations,
      ],
      call,
    );
    const [dedup, ...done] = outcomes;
    if (dedup === 'refused') return true;
    if (dedup === 'withheld' || dedup === 'absent') throw keyReused();
    if (dedup === 'outdated') {
      // Another call under the same key went on meanwhile.
      const [found] = await shards.read(id, 'marks', { token: once.token, after: 0, limit: 1 }, call);
      const progress = found?.progress ?? null;
      if (progress === null || progress.step <= pass.step)
        throw new QuiverError('unavailable', 'what became of this request is no longer known; the call may be retried');
      Object.assign(pass, fromProgress(progress, once));
      return false;
    }
    this.hasWritten = true;
    done.forEach((outcome, n) => {
      if (outcome === write.done) {
        pass.done += 1;
        stored(items[n]);
      }
      if (outcome !== 'excess') return;
      pass.first ??= items[n].externalId;
      pass.excess += 1;
    });
    pass.step += 1;
    pass.reached = reached;
    return false;
  }

  /** Whether the shard that had the item in a set before was dealt with up to it. */
  private isDealtWith({ externalId, stamp }: StoredItem): boolean {
    return this.earlier.some(({ shards, shard, reached }) => {
      if (reached === null || shardOf(externalId, shards) !== shard) return false;
      return (
        reached === 'all' || stamp < reached.stamp || (stamp === reached.stamp && externalId <= reached.externalId)
      );
    });
  }
}

function passOf(dedup: DedupRecord | null, place: { shards: number; shard: number }, once: Once): ShardPass {
  if (dedup === null || dedup.progress === null)
    return { ...place, reached: null, step: 0, done: 0, excess: 0, first: null };
  return fromProgress(dedup.progress, once);
}

/** Errors: unavailable for what was not sealed under this key. */
function fromProgress({ step, done, excess, first, note }: DedupProgress, { sealingKey }: Once): ShardPass {
  const text = openText(note, sealingKey);
  if (text === null)
    throw new QuiverError('unavailable', 'what became of this request is no longer known; use another Idempotency-Key');
  const { shards, shard, reached } = JSON.parse(text) as Reached;
  return { shards, shard, reached, step, done, excess, first: first === null ? null : openedId(first, sealingKey) };
}

/**
 * Whether all shards of some set have dealt with everything. Of two sets of as many shards, those of one number have
 * the same items, and count once.
 */
function isComplete(passes: readonly ShardPass[]): boolean {
  const complete = new Map<number, Set<number>>();
  for (const { shards, shard, reached } of passes)
    if (reached === 'all') complete.set(shards, (complete.get(shards) ?? new Set()).add(shard));
  return [...complete].some(([shards, { size }]) => size === shards);
}

function shardsOf(passes: ShardPass[]): number[] {
  return passes.map(({ shard }) => shard);
}
