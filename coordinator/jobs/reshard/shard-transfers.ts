import { setTimeout as sleep } from 'node:timers/promises';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import type {
  CallOptions,
  ImportOperation,
  DedupOperation,
  ShardClient,
  ShardId,
  StageOperation,
} from '../../../shared/contract/shard/shard-client';
import type {
  AnswerOf,
  ReadKind,
  RequestOf,
  ShardTransfer,
  StoredItem,
} from '../../../shared/contract/shard/shard-read';
import type { ShardStage } from '../../../shared/contract/shard/shard-stage';
import type { Clock } from '../../../shared/base/time/clock';
import { RetryBackoff } from '../../../shared/base/time/retry-backoff';
import { ofShards } from '../driving/obstacle';
import { importedDedup, DEDUP_PAGE } from '../../service/idempotency/moved-dedup';
import { groupByShard } from '../../service/routing/shard-router';
import type { ShardSet } from '../../service/collections/reshard-record';

/** Shards that are asked at once. */
const AT_ONCE = 16;

/** Items of one page: as much as a large batch of a client. Texts and metadata count, too. */
const PAGE_ITEMS_MAX = 1000;
const PAGE_BYTES = 4 * 1024 * 1024;
const WRITE_LENGTH_MAX = 4 * 1024 * 1024;

/** The shard has heard of a later term: somebody else goes on with the reshard, or its record is an old one. */
export class OutdatedTerm extends Error {}

/** An id with its item, or null where it has none. */
export interface ItemState {
  externalId: string;
  item: StoredItem | null;
}

/** Between two attempts of a call: the shard may have a new primary by then. */
const PAUSES = { firstMs: 20, longestMs: 1_000 };

/**
 * What a driver of a reshard asks of shards, in its term, again until `timeoutMs` are over when it failed for a reason
 * that may pass. But for a write whose outcome is unknown (commit_unknown): a copy of it may still be on its way, and
 * come behind what is written later. After one, nothing more may be written in this term; the next term keeps the copy
 * out.
 */
export class ShardTransfers {
  constructor(
    private readonly parts: {
      shards: Pick<ShardClient, 'read' | 'write'>;
      clock: Pick<Clock, 'monotonicMs'>;
      /** The name of the collection, for what is told of its shards. */
      collection: string;
      /** The uid of the shards that are to be its own, where some of these are asked. */
      newUid?: string;
      reshard: string;
      term: number;
      timeoutMs: number;
      /** No call begins, or goes on, later than this; default: there is no such moment. */
      untilMs?: number;
    },
  ) {}

  /** Brings all shards of the set to a stage. Errors: OutdatedTerm; those of the shards. */
  async stageAll(set: ShardSet, stage: ShardStage, forget: (shard: number) => number = () => 0): Promise<void> {
    await inBatches(idsOf(set), (id) => this.stage(id, stage, forget(id.shard)));
  }

  /**
   * Opens all shards of the set. Those that count versions go on above `versionFloor`; 0: nobody counted any. `tracks`:
   * from their first change on, they note what changes.
   */
  async openAll(set: ShardSet, versionFloor: number, tracks = false): Promise<void> {
    const { reshard, term } = this.parts;
    const open: StageOperation = { type: 'stage', term, reshard, stage: 'open', forget: 0 };
    if (versionFloor !== 0) open.versionFloor = versionFloor;
    await inBatches(idsOf(set), (id) =>
      this.stageIn(id, tracks ? [open, { type: 'stage', term, reshard, stage: 'tracking', forget: 0 }] : [open]),
    );
  }

  /** Until when what is asked of shards may take, by monotonic time; Infinity: as long as it takes. */
  get untilMs(): number {
    return this.parts.untilMs ?? Infinity;
  }

  /** What all shards of the set answer. Errors: those of the shards. */
  readAll<Kind extends ReadKind>(set: ShardSet, kind: Kind, request: RequestOf<Kind>): Promise<AnswerOf<Kind>[]> {
    return inBatches(idsOf(set), (id) =>
      this.persistently(id, (call) => this.parts.shards.read(id, kind, request, call)),
    );
  }

  /**
   * What is there of these ids of the set, in the order of the ids. `filling`: it is being filled, and serves nobody.
   * Errors: those of the shards.
   */
  async statesIn(set: ShardSet, externalIds: readonly string[], { filling = false } = {}): Promise<ItemState[]> {
    const groups = groupByShard([...externalIds], set.shards, (externalId) => externalId);
    const found = new Map<string, ItemState>();
    await inBatches(groups, async ({ shard, items }) => {
      for await (const states of this.statesOf({ collectionUid: set.uid, shard }, items, { filling }))
        for (const state of states) found.set(state.externalId, state);
    });
    return externalIds.map((externalId) => found.get(externalId)!);
  }

  /** As `stageAll`, and one that does not get there keeps none of the others from it. */
  async stageEach(set: ShardSet, stage: ShardStage): Promise<void> {
    const failures = await inBatches(idsOf(set), (id) =>
      this.stage(id, stage, 0).then(
        () => null,
        (error: unknown) => ({ error }),
      ),
    );
    for (const failure of failures) if (failure !== null) throw failure.error;
  }

  private stage(id: ShardId, stage: ShardStage, forget: number): Promise<void> {
    const { reshard, term } = this.parts;
    return this.stageIn(id, [{ type: 'stage', term, reshard, stage, forget }]);
  }

  /** One after the other, in one write. */
  private async stageIn(id: ShardId, stages: StageOperation[]): Promise<void> {
    const { shards, term } = this.parts;
    const { outcomes } = await this.persistently(id, (call) => shards.write(id, stages, call));
    if (outcomes.includes('outdated'))
      throw new OutdatedTerm(`shard ${id.shard} of ${id.collectionUid} is beyond term ${term}`);
  }

  /**
   * The state of a shard, with the ids that changed after `after`. It takes no more writes of clients a second, for
   * some seconds.
   */
  look(id: ShardId, after = 0, limit = PAGE_ITEMS_MAX, writesPerSecond?: number): Promise<ShardTransfer> {
    return this.persistently(id, (call) =>
      this.parts.shards.read(id, 'transfer', { after, limit, writesPerSecond }, call),
    );
  }

  lookAtAll(set: ShardSet): Promise<ShardTransfer[]> {
    return inBatches(idsOf(set), (id) => this.look(id, Number.MAX_SAFE_INTEGER, 1));
  }

  /** The highest stamp of the shard's items. */
  async lastStamp(id: ShardId): Promise<number> {
    return (await this.persistently(id, (call) => this.parts.shards.read(id, 'status', null, call))).lastStamp;
  }

  /** The next items in the order of insertion; none at the end. */
  scan(
    id: ShardId,
    after: { stamp: number; externalId: string } | null,
    limit: number,
    vectors = true,
  ): Promise<StoredItem[]> {
    return this.persistently(id, (call) =>
      this.parts.shards.read(
        id,
        'scan',
        {
          after,
          limit,
          filter: null,
          vectors,
          versions: true,
          expiries: true,
          dates: true,
          bytesMax: PAGE_BYTES,
        },
        call,
      ),
    );
  }

  /** What is there of these ids now, in parts of bounded length. */
  async *statesOf(
    id: ShardId,
    externalIds: string[],
    { vectors = true, filling = false } = {},
  ): AsyncGenerator<ItemState[]> {
    const left = [...new Set(externalIds)];
    while (left.length > 0) {
      const items = await this.persistently(id, (call) =>
        this.parts.shards.read(
          id,
          'fetch',
          {
            externalIds: left,
            vectors,
            versions: true,
            expiries: true,
            dates: true,
            ...(filling && { filling }),
            bytesMax: PAGE_BYTES,
          },
          call,
        ),
      );
      yield left.splice(0, items.length).map((externalId, i) => ({ externalId, item: items[i] }));
    }
  }

  /**
   * Puts the items, or takes them away, in the shards of the set that they belong to. Errors: OutdatedTerm; those of
   * the shards.
   */
  async import(set: ShardSet, states: ItemState[]): Promise<void> {
    const { shards, term } = this.parts;
    const groups = groupByShard(states, set.shards, ({ externalId }) => externalId);
    await inBatches(groups, async (group) => {
      const target = { collectionUid: set.uid, shard: group.shard };
      const operations = group.items.map(({ externalId, item }): ImportOperation => ({
        type: 'import',
        term,
        externalId,
        item: item === null ? null : imported(item),
      }));
      for (const part of partsOf(operations)) {
        const { outcomes } = await this.persistently(target, (call) => shards.write(target, part, call));
        if (outcomes.includes('outdated'))
          throw new OutdatedTerm(`shard ${group.shard} of ${set.uid} takes nothing in term ${term}`);
      }
    });
  }

  /**
   * Takes over what an old shard, one of `oldShards`, remembers of writes that are done once, after the number `after`.
   * Answers the number up to which it did. Errors: OutdatedTerm; those of the shards.
   */
  async importDedup(id: ShardId, oldShards: number, set: ShardSet, after: number): Promise<number> {
    const { shards, term } = this.parts;
    let upTo = after;
    for (;;) {
      const records = await this.persistently(id, (call) =>
        shards.read(id, 'marks', { token: null, after: upTo, limit: DEDUP_PAGE }, call),
      );
      if (records.length === 0) return upTo;
      await inBatches(idsOf(set), async (target) => {
        const operations = records.map((record): DedupOperation =>
          importedDedup(record, { from: id, oldShards, to: target.shard, newShards: set.shards, term }),
        );
        const { outcomes } = await this.persistently(target, (call) => shards.write(target, operations, call));
        if (outcomes.includes('outdated'))
          throw new OutdatedTerm(`shard ${target.shard} of ${set.uid} takes nothing in term ${term}`);
      });
      upTo = records[records.length - 1].sequence;
    }
  }

  private async persistently<Result>(id: ShardId, run: (call: CallOptions) => Promise<Result>): Promise<Result> {
    const { clock, timeoutMs, untilMs = Infinity } = this.parts;
    const startMs = clock.monotonicMs();
    if (startMs >= untilMs)
      throw new QuiverError('unavailable', 'what was to be done while clients wait takes too long');
    const deadlineMs = Math.min(startMs + timeoutMs, untilMs);
    const pauses = new RetryBackoff(PAUSES);
    for (;;) {
      try {
        return await run({ deadlineMs });
      } catch (error) {
        const pauseMs = pauses.nextMs();
        if (
          !isQuiverError(error) ||
          !error.retryable ||
          error.kind === 'resharded' ||
          error.kind === 'commit_unknown' ||
          clock.monotonicMs() + pauseMs >= deadlineMs
        )
          throw this.named(id, error);
        await sleep(pauseMs);
      }
    }
  }

  private named(id: ShardId, error: unknown): unknown {
    const { collection, newUid } = this.parts;
    return isQuiverError(error)
      ? ofShards(
          `${id.collectionUid === newUid ? 'new shard' : 'shard'} ${id.shard} of collection "${collection}"`,
          error,
        )
      : error;
  }
}

/** Texts and metadata may be long: a write has a bounded length, in characters and bytes of vectors. */
function* partsOf(operations: ImportOperation[]): Generator<ImportOperation[]> {
  let part: ImportOperation[] = [];
  let length = 0;
  for (const operation of operations) {
    const { item } = operation;
    part.push(operation);
    length += item === null ? 0 : item.vector.byteLength + item.metadata.length + (item.text?.length ?? 0);
    if (length < WRITE_LENGTH_MAX) continue;
    yield part;
    part = [];
    length = 0;
  }
  if (part.length > 0) yield part;
}

/** Items of a page, by the bytes of their vectors. */
export function pageItems(dim: number): number {
  return Math.max(1, Math.min(PAGE_ITEMS_MAX, Math.floor(PAGE_BYTES / (dim * Float32Array.BYTES_PER_ELEMENT))));
}

export function idsOf({ uid, shards }: ShardSet): ShardId[] {
  return Array.from({ length: shards }, (_, shard) => ({ collectionUid: uid, shard }));
}

/** Every item runs, in batches; the first error that is found is thrown when the batch has come to its end. */
export async function inBatches<Item, Result>(items: Item[], run: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  for (let at = 0; at < items.length; at += AT_ONCE) {
    for (const settled of await Promise.allSettled(items.slice(at, at + AT_ONCE).map(run))) {
      if (settled.status === 'rejected') throw settled.reason;
      results.push(settled.value);
    }
  }
  return results;
}

function imported({
  vector,
  stamp,
  metadata,
  text,
  version,
  expiry,
  dated,
  externalId,
}: StoredItem): NonNullable<ImportOperation['item']> {
  if (vector === undefined) throw new QuiverError('internal', `a shard gave no vector of ${externalId}`);
  return { vector, stamp, metadata, text, version, expiry, dated };
}
