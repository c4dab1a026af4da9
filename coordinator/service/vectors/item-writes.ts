import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import {
  type DedupOperation,
  EACH_VERSION,
  NO_VERSION,
  type CallOptions,
  type ItemOperation,
  ANY_VERSION,
  type ShardClient,
  type ShardId,
  type WriteOutcome,
  type WriteResult,
} from '../../../shared/contract/shard/shard-client';
import type { AnswerOf } from '../../../shared/contract/shard/shard-read';
import type { Clock } from '../../../shared/base/time/clock';
import type { CollectionRecord } from '../collections/collection-record';
import type { ScatterGather } from '../routing/scatter-gather';
import { groupByShard, inCallOrder, shardOf } from '../routing/shard-router';
import { hasSameVectors, type ShardSets } from '../routing/shard-sets';
import { checkDimension } from './dimension-check';
import type { EncodedWriteOptions } from '../routing/encoded-writes';
import type { EncodedItems, UpsertStatus } from '../service';
import { dedupOf, keyReused, type Once, revocableOf, revocationOf } from '../idempotency/write-dedup';
import { judgedBefore, dedupRecordsOf, notedOutcomes, verdictText } from './begun-write';

/** What became of one operation of a write. */
export interface ItemResult {
  outcome: WriteOutcome;
  /**
   * The version that the item got; of a conflict, that of the item that is there. null: there is no item, or its shard
   * counts no versions yet.
   */
  version: number | null;
}

/** What of an operation says whether it conflicts. */
export type Judged = Pick<ItemOperation, 'externalId' | 'expected' | 'alone'>;

/**
 * Gives operations the vectors that they have in a collection whose vectors are of another model since they were made.
 * They were not done. Errors: what is wrong with them there.
 */
export type RemakeVectors = (collection: CollectionRecord, operations: readonly ItemOperation[]) => Promise<void>;

/** What a write has besides its operations. */
interface WriteParts {
  marked?: MarkedWrite | undefined;
  remake?: RemakeVectors | undefined;
}

/** Of vectors that callers gave. Errors: dimension_mismatch. */
export const asGiven: RemakeVectors = async (collection, operations) => {
  for (const operation of operations) {
    const vector = operation.type === 'delete' ? undefined : operation.vector;
    if (vector !== undefined)
      checkDimension(collection, vector, `the vector of external_id ${JSON.stringify(operation.externalId)}`);
  }
};

/** Conflicts that an error names; the others are counted. */
const CONFLICTS_SHOWN_MAX = 100;
/** Items that are looked at in one read: a request takes 4 MiB, and an id may have 512 characters of four bytes. */
const JUDGED_AT_ONCE = 2_000;

/** Writes operations on items to the shards of a collection. */
export class ItemWrites {
  constructor(
    private readonly parts: {
      shards: Pick<ShardClient, 'read' | 'write'>;
      scatter: ScatterGather;
      sets: ShardSets<CollectionRecord>;
      clock: Pick<Clock, 'monotonicMs' | 'wallMs'>;
    },
  ) {}

  /**
   * What became of each operation, in order. Only an operation that is alone has the outcome `conflict`. Errors:
   * conflict, when another operation conflicts: then nothing was done, unless the message says so; those of the shards.
   * With `once`, what was done under it before is not done again, and has the outcome of then. Errors then also:
   * key_reused. `settle` is awaited before anything is stored, and not where a condition is seen to stand against all
   * of it. `remake`: default: callers gave the vectors.
   */
  async write(
    collection: CollectionRecord,
    operations: ItemOperation[],
    call: CallOptions,
    once?: Once,
    settle?: () => Promise<void>,
    remake?: RemakeVectors,
  ): Promise<ItemResult[]> {
    if (operations.length === 0) return [];
    const isBound = operations.some(({ expected, alone }) => expected !== undefined && alone !== true);
    // A shard judges a single operation by itself, but only when it stores it.
    const isJudged = isBound && (operations.length > 1 || settle !== undefined);
    if (once !== undefined)
      return this.writeOnce(collection, operations, call, new OnceWrite(once), { isBound, isJudged, settle, remake });
    if (isJudged) await this.mustBeAsExpected(collection, operations, call);
    // Without it, no turn is lost: what is written goes out at once.
    if (settle !== undefined) await settle();
    const results = await this.writeAll(collection, operations, call, { remake });
    if (isBound) mustNotConflict(operations, results);
    return results;
  }

  /**
   * As `write`, of items of one shard, until the token is revoked. Errors also: conflict, when it was, or when a write
   * was made under it before.
   */
  async writeRevocable(
    collection: CollectionRecord,
    operations: ItemOperation[],
    call: CallOptions,
    token: string,
    remake?: RemakeVectors,
  ): Promise<ItemResult[]> {
    // One shard judges all of them, when it stores them.
    const results = await this.writeAll(collection, operations, call, { marked: new RevocableWrite(token), remake });
    mustNotConflict(operations, results);
    return results;
  }

  /**
   * Once it resolves, a write under the token is done, or never will be, whoever makes it. `externalId`: of its shard.
   * Errors: those of the shard.
   */
  async revoke(collection: CollectionRecord, token: string, externalId: string, call: CallOptions): Promise<void> {
    const { sets, scatter, shards, clock } = this.parts;
    await sets.inOne(collection, call, async (current) => {
      const shard = shardOf(externalId, current.shards);
      const [outcome] = await scatter.write(current, [shard], call, async (id) => {
        const { outcomes } = await shards.write(id, [revocationOf(token, clock.wallMs())], call);
        return outcomes[0];
      });
      if (outcome === 'refused')
        throw new QuiverError('resharded', 'the collection changes its number of shards; the call may be retried');
    });
  }

  /**
   * As `write`, of items none of which has a condition. Errors: those of the shards. When it has succeeded, nobody
   * reads the memory of the items any more, but for the parts that say so.
   */
  async writeEncoded(
    collection: CollectionRecord,
    items: EncodedItems,
    call: CallOptions,
    { write, ttlMs }: EncodedWriteOptions,
  ): Promise<{ statuses: UpsertStatus[]; versions: (number | null)[] }> {
    const parts = items.parts(collection.shards, ttlMs);
    const { scatter } = this.parts;
    const shards = parts.map(({ shard }) => shard);
    const answers = await scatter.write(collection, shards, call, (id, i) => write(id, parts[i].bytes, call));
    let isRefused = false;
    const outcomes: WriteOutcome[] = new Array(items.count);
    const versions: (number | null)[] = new Array(items.count);
    for (const [i, { result, bytes, isShared }] of answers.entries()) {
      Object.assign(parts[i], { bytes, isShared });
      const { places } = parts[i];
      for (let n = 0; n < result.outcomes.length; n += 1) {
        const place = places === null ? n : places[n];
        outcomes[place] = result.outcomes[n];
        if (result.outcomes[n] === 'refused') isRefused = true;
      }
      versionsOf(result).forEach((version, n) => (versions[places === null ? n : places[n]] = version));
    }
    if (!isRefused) return { statuses: outcomes as UpsertStatus[], versions };
    const first = outcomes.map((outcome, i): ItemResult => ({ outcome, version: versions[i] }));
    const results = await this.writeRefused(collection, items.operations(), first, call, {});
    return {
      statuses: results.map(({ outcome }) => outcome as UpsertStatus),
      versions: results.map(({ version }) => version),
    };
  }

  /**
   * As `write`, where all of it was done under `once` before; null: something is to be done. What it takes to make the
   * operations need not be done again then. Errors: conflict, key_reused; those of the shards.
   */
  async known(
    collection: CollectionRecord,
    operations: readonly Judged[],
    call: CallOptions,
    once: Once,
  ): Promise<ItemResult[] | null> {
    const { sets, scatter, shards, clock } = this.parts;
    const marks = await sets.inOne(collection, call, (current) =>
      dedupRecordsOf({ scatter, shards }, current, once, clock.wallMs(), call),
    );
    if (marks.every((dedup) => dedup === null)) return null;
    try {
      const outcomes = notedOutcomes(
        marks,
        operations.map(({ externalId }) => externalId),
        once,
      );
      if (outcomes === null) return null;
      const results = outcomes.map(({ outcome, version }): ItemResult => ({ outcome, version: version || null }));
      mustNotConflict(operations, results);
      once.repeated();
      return results;
    } catch (error) {
      if (isQuiverError(error) && error.kind === 'conflict') once.repeated();
      throw error;
    }
  }

  /**
   * A write that is bound by conditions on several items is decided by one shard, that of its first item: either it has
   * noted a conflict, and nothing is ever done, or it has its part of the write, and the others get theirs.
   */
  private async writeOnce(
    collection: CollectionRecord,
    operations: ItemOperation[],
    call: CallOptions,
    onceWrite: OnceWrite,
    {
      isBound,
      isJudged,
      settle,
      remake,
    }: { isBound: boolean; isJudged: boolean; settle: (() => Promise<void>) | undefined } & Pick<WriteParts, 'remake'>,
  ): Promise<ItemResult[]> {
    const { sets, scatter, shards, clock } = this.parts;
    const parts: WriteParts = { marked: onceWrite, remake };
    // A shard that has no part in this request may have one in another with the same key.
    if (collection.shards > 1)
      await sets.inOne(collection, call, (current) =>
        dedupRecordsOf({ scatter, shards }, current, onceWrite.once, clock.wallMs(), call),
      );
    let results: ItemResult[];
    if (isJudged) {
      const conflict = await this.mustBeAsExpected(collection, operations, call).then(() => null, conflictIn);
      if (conflict !== null) await this.decide(collection, operations[0], conflict, call, onceWrite);
      if (settle !== undefined) await settle();
      const first = groupByShard(operations, collection.shards, ({ externalId }) => externalId).find(({ items }) =>
        items.includes(operations[0]),
      )!.items;
      const decided = await this.writeAll(collection, first, call, parts);
      mustNotConflict(first, decided);
      const isDecided = new Set(first);
      const rest = operations.filter((operation) => !isDecided.has(operation));
      const written = await this.writeAll(collection, rest, call, parts);
      const resultOf = new Map([
        ...first.map((operation, i) => [operation, decided[i]] as const),
        ...rest.map((operation, i) => [operation, written[i]] as const),
      ]);
      results = operations.map((operation) => resultOf.get(operation)!);
    } else {
      if (settle !== undefined) await settle();
      results = await this.writeAll(collection, operations, call, parts);
    }
    if (!onceWrite.isFresh) onceWrite.once.repeated();
    if (isBound) mustNotConflict(operations, results);
    return results;
  }

  /**
   * Notes the conflict, unless the write was begun before. Errors: conflict, this one or that of the first time;
   * key_reused.
   */
  private async decide(
    collection: CollectionRecord,
    { externalId }: ItemOperation,
    conflict: QuiverError,
    call: CallOptions,
    { once }: OnceWrite,
  ): Promise<void> {
    const { sets, scatter, shards, clock } = this.parts;
    const outcome = await sets.inOne(collection, call, async (current) => {
      const [group] = groupByShard([externalId], current.shards, (id) => id);
      const [[dedup]] = await scatter.write(current, [group.shard], call, async (id) => {
        const { outcomes } = await shards.write(
          id,
          [dedupOf(once, clock.wallMs(), { note: verdictText(conflict, once) })],
          call,
        );
        if (outcomes[0] === 'absent') throw await judgedBefore(shards, id, once, call);
        return outcomes;
      });
      if (dedup === 'refused')
        throw new QuiverError('resharded', 'the collection changes its number of shards; the call may be retried');
      return dedup;
    });
    if (outcome === 'withheld') throw keyReused();
    if (outcome === 'inserted') throw conflict;
  }

  private async writeAll(
    collection: CollectionRecord,
    operations: ItemOperation[],
    call: CallOptions,
    parts: WriteParts,
  ): Promise<ItemResult[]> {
    if (operations.length === 0) return [];
    const results = await this.writeTo(collection, operations, call, parts.marked);
    return results.some(({ outcome }) => outcome === 'refused')
      ? this.writeRefused(collection, operations, results, call, parts)
      : results;
  }

  /**
   * A shard does its part of a write or none of it, by itself. So where there are several, all are asked first: nothing
   * is written while any of the items is not as expected. Errors: conflict.
   */
  private async mustBeAsExpected(
    collection: CollectionRecord,
    operations: ItemOperation[],
    call: CallOptions,
  ): Promise<void> {
    const { sets, scatter, shards } = this.parts;
    const judged = expectingFirst(operations);
    const found = await sets.inOne(collection, call, async (current) => {
      const groups = groupByShard(judged, current.shards, ({ externalId }) => externalId);
      const answers = await scatter.read(
        current,
        groups.map(({ shard }) => shard),
        call,
        async (id, i) => {
          const { items } = groups[i];
          const answers: AnswerOf<'fetch'> = [];
          for (let at = 0; at < items.length; at += JUDGED_AT_ONCE) {
            const externalIds = items.slice(at, at + JUDGED_AT_ONCE).map(({ externalId }) => externalId);
            const request = { externalIds, vectors: false, texts: false, versions: true };
            answers.push(...(await shards.read(id, 'fetch', request, call)));
          }
          return answers;
        },
      );
      return judged.length === 0 ? [] : inCallOrder(groups, answers);
    });
    const conflicts = judged.flatMap((operation, i) => {
      const version = found[i] === null ? NO_VERSION : (found[i].version ?? found[i].stamp);
      return isExpected(operation, version) ? [] : [{ operation, version }];
    });
    if (conflicts.length > 0) throw conflictOf(conflicts);
  }

  private async writeTo(
    collection: CollectionRecord,
    operations: ItemOperation[],
    call: CallOptions,
    marked?: MarkedWrite,
  ): Promise<ItemResult[]> {
    const groups = groupByShard(operations, collection.shards, (operation) => operation.externalId);
    const answers = await this.parts.scatter.write(
      collection,
      groups.map((group) => group.shard),
      call,
      (id, i) =>
        marked === undefined
          ? this.parts.shards.write(id, groups[i].items, call)
          : this.writeWithDedup(id, groups[i].items, call, marked),
    );
    return inCallOrder(
      groups,
      answers.map((answer) => (marked === undefined ? itemResults(answer) : itemResults(answer).slice(1))),
    );
  }

  private async writeWithDedup(
    id: ShardId,
    operations: ItemOperation[],
    call: CallOptions,
    marked: MarkedWrite,
  ): Promise<WriteResult> {
    const { shards, clock } = this.parts;
    const result = await shards.write(id, [marked.markAt(clock.wallMs()), ...operations], call);
    const refusal = await marked.refusalOf(result.outcomes[0], shards, id, call);
    if (refusal !== null) throw refusal;
    return result;
  }

  /**
   * Shards that are about to be replaced refused some of the operations, without doing anything of them: those, and
   * only those, go to the shards that replace them, with vectors of the model that these are of. Errors:
   * commit_unknown, when that did not succeed in time and others were done.
   */
  private async writeRefused(
    collection: CollectionRecord,
    operations: ItemOperation[],
    first: ItemResult[],
    call: CallOptions,
    { marked, remake = asGiven }: WriteParts,
  ): Promise<ItemResult[]> {
    const { sets, clock } = this.parts;
    const results = [...first];
    let current = collection;
    let made = collection;
    let refused = results.flatMap(({ outcome }, i) => (outcome === 'refused' ? [i] : []));
    for (let attempt = 0; refused.length > 0; attempt += 1) {
      const isPart = refused.length < results.length;
      if (clock.monotonicMs() >= call.deadlineMs) throw inNoSet(collection, isPart);
      current = await sets.next(current, call, attempt);
      const left = refused.map((i) => operations[i]);
      const writeAgain = async (): Promise<ItemResult[]> => {
        if (!hasSameVectors(made, current)) await remake(current, left);
        made = current;
        return this.writeTo(current, left, call, marked);
      };
      const again = await writeAgain().catch((error: unknown) => {
        throw isPart ? partlyWritten(error) : error;
      });
      again.forEach((result, n) => (results[refused[n]] = result));
      refused = refused.filter((_, n) => again[n].outcome === 'refused');
    }
    return results;
  }
}

/** A write whose parts a shard takes by a mark. */
interface MarkedWrite {
  markAt(nowMs: number): DedupOperation;
  /** Why a shard did nothing, by what became of the mark; null: it did. */
  refusalOf(
    outcome: WriteOutcome,
    shards: Pick<ShardClient, 'read'>,
    id: ShardId,
    call: CallOptions,
  ): Promise<QuiverError | null>;
}

/** A write that is done once, under way. */
class OnceWrite implements MarkedWrite {
  /** Whether some shard has done its part now. */
  isFresh = false;

  constructor(readonly once: Once) {}

  markAt(nowMs: number): DedupOperation {
    return dedupOf(this.once, nowMs);
  }

  async refusalOf(...[outcome, shards, id, call]: Parameters<MarkedWrite['refusalOf']>): Promise<QuiverError | null> {
    if (outcome === 'withheld') return keyReused();
    if (outcome === 'absent') return judgedBefore(shards, id, this.once, call);
    if (outcome === 'inserted') this.isFresh = true;
    return null;
  }
}

/** A write that can be revoked. */
class RevocableWrite implements MarkedWrite {
  constructor(private readonly token: string) {}

  markAt(nowMs: number): DedupOperation {
    return revocableOf(this.token, nowMs);
  }

  async refusalOf(outcome: WriteOutcome): Promise<QuiverError | null> {
    if (outcome === 'inserted' || outcome === 'refused') return null;
    return new QuiverError('conflict', 'the write was revoked, or made before; nothing was written now');
  }
}

/** The error, if it is one; throws any other. */
function conflictIn(error: unknown): QuiverError {
  if (isQuiverError(error) && error.kind === 'conflict') return error;
  throw error;
}

function itemResults(result: WriteResult): ItemResult[] {
  const versions = versionsOf(result);
  return result.outcomes.map((outcome, i) => ({ outcome, version: versions[i] }));
}

/** As ItemResult has them, by operation. */
function versionsOf({ outcomes, firstVersion, present }: WriteResult): (number | null)[] {
  if (firstVersion === EACH_VERSION) return outcomes.map((_, i) => present[i] || null);
  let conflicts = 0;
  return outcomes.map((outcome, i) => {
    if (outcome === 'conflict') return present[conflicts++] || null;
    return firstVersion > 0 && (outcome === 'inserted' || outcome === 'updated') ? firstVersion + i : null;
  });
}

/**
 * Of operations, those whose expectation can be looked at before the write: one behind another operation on the same
 * item is judged by the shard alone.
 */
export function expectingFirst<Operation extends Pick<ItemOperation, 'externalId' | 'expected' | 'alone'>>(
  operations: readonly Operation[],
): Operation[] {
  const first = new Map<string, Operation>();
  for (const operation of operations) if (!first.has(operation.externalId)) first.set(operation.externalId, operation);
  return [...first.values()].filter(({ expected, alone }) => expected !== undefined && alone !== true);
}

function isExpected({ expected }: ItemOperation, version: number): boolean {
  return expected === ANY_VERSION ? version !== NO_VERSION : expected === version;
}

/**
 * Errors: conflict. A change that came between the look at all shards and the write may leave the parts of some of them
 * done.
 */
function mustNotConflict(operations: readonly Judged[], results: ItemResult[]): void {
  const conflicts = results.flatMap(({ outcome, version }, i) =>
    outcome === 'conflict' && operations[i].alone !== true
      ? [{ operation: operations[i], version: version ?? NO_VERSION }]
      : [],
  );
  if (conflicts.length === 0) return;
  const done = operations.flatMap(({ externalId }, i) =>
    results[i].outcome === 'conflict' || results[i].outcome === 'withheld' ? [] : [externalId],
  );
  throw conflictOf(conflicts, done);
}

function conflictOf(conflicts: { operation: Judged; version: number }[], done: string[] = []): QuiverError {
  const [first] = conflicts;
  const others = conflicts.length === 1 ? '' : `, and ${conflicts.length - 1} more`;
  const part =
    done.length === 0
      ? 'nothing was written'
      : `another change came between: ${done.length} operations on items of other shards were done`;
  return new QuiverError('conflict', `${conflictText(first.operation, first.version)}${others}; ${part}`, {
    shown: {
      conflicts: conflicts.slice(0, CONFLICTS_SHOWN_MAX).map(({ operation, version }) => ({
        external_id: operation.externalId,
        version: version === NO_VERSION ? null : version,
      })),
      ...(done.length > 0 && { written: done.slice(0, CONFLICTS_SHOWN_MAX) }),
    },
  });
}

/** What is not as an operation expects. `version`: that of the item; null or NO_VERSION: there is none. */
export function conflictText(
  { externalId, expected }: Pick<ItemOperation, 'externalId' | 'expected'>,
  version: number | null,
): string {
  const item = `external_id ${JSON.stringify(externalId)}`;
  if (version === null || version === NO_VERSION) return `${item} does not exist`;
  return expected === NO_VERSION
    ? `${item} exists already, in version ${version}`
    : `${item} has version ${version}, not ${expected}`;
}

function inNoSet({ name }: CollectionRecord, isPart: boolean): QuiverError {
  const message = `collection "${name}" is changing its number of shards, and did not take the write in time`;
  return new QuiverError(
    isPart ? 'commit_unknown' : 'unavailable',
    `${message}; ${isPart ? 'it may have been applied in part, and ' : ''}the call may be retried`,
  );
}

/** What says that nothing was written is not true of the whole call. */
export function partlyWritten(error: unknown): unknown {
  if (!isQuiverError(error) || error.kind === 'not_found') return error;
  return new QuiverError(
    'commit_unknown',
    `${error.message}; the write may have been applied in part, and the call may be retried`,
    { cause: error },
  );
}
