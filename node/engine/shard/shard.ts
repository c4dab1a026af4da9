import { join } from 'node:path';
import { isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import { DEFAULT_METADATA_STORAGE } from '../../../shared/contract/shard/metadata-storage';
import {
  NO_TERM,
  type ShardSpec,
  type WriteOperation,
  type WriteResult,
} from '../../../shared/contract/shard/shard-client';
import {
  type AnswerOf,
  type ReadKind,
  type RequestOf,
  SHARED_READS,
  type ShardStatus,
} from '../../../shared/contract/shard/shard-read';
import type { KeyValueChange, KeyValueStore } from '../kv/key-value-store';
import { LaterKeyValueStore } from '../kv/later-key-value-store';
import { analyserFor } from '../../../shared/base/text/analyser-for';
import {
  isCounted,
  isDated,
  momentOf,
  operationsInSteps,
  stampMoment,
} from '../../../shared/contract/writes/operation-codec';
import { inSlices } from '../../../shared/base/time/work-slices';
import { RecordStore } from '../records/record-store';
import { SlotAllocator } from '../directory/slot-allocator';
import { answerRead, type ShardReader } from './reading/answer-read';
import { OwnLog } from './backup/own-log';
import { forgetLineage } from './backup/lineage';
import { forgetPositions } from '../positions/position-segments';
import { ShardBackups } from './backup/shard-backups';
import { seedOfMoment } from './backup/shard-of-moment';
import { removeUnfinished, seedShard } from './backup/shard-seeding';
import { removeOtherCheckpoints } from './opening/checkpoint';
import { forgetRest } from './opening/rest-note';
import { checkOperations, type ShardOperation } from './writing/checked-write';
import { ExpiryRemoval } from './removal/expiry-removal';
import { FieldBudget, type FieldClaim } from './reading/field-budget';
import { Checkpointer } from './opening/checkpointer';
import { type RecoveredShard, recoverShard } from './opening/recovery';
import { type StageState, mustAnswer, refusesReads, refusesWrites } from '../records/shard-stage-state';
import { claimRecords, specTextWith } from '../records/shard-format';
import type { ShardIndexes } from './shard-indexes';
import { ShardExpiry } from './removal/shard-expiry';
import { ShardItems } from './reading/shard-items';
import { ShardPurge, type TrimLog } from './removal/shard-purge';
import type { ShardPublisher } from './shard-publisher';
import type { ShardObservation } from './shard-observation';
import type { ShardOptions } from './shard-options';
import { ShardSearch } from './reading/shard-search';
import { WholeWrites } from './reading/whole-writes';
import { type ShardStageState, ShardWriter } from './writing/shard-writer';
import { makeStableFolder } from '../../../shared/base/files/stable-folder';
import { WritePace } from './writing/write-pace';
import { WriteBudget, WriteQueue } from './writing/write-queue';

/** Slow enough that readers and writers do not notice; a gigabyte takes a quarter of a minute. */
const VERIFY_BYTES_PER_SECOND = 64 * 1024 * 1024;

/** A purge gives up when no expired item was removed for so long; how often it looks. */
const REMOVED_WITHIN_MS = 60_000;
const REMOVED_CHECK_MS = 20;

/** What a shard reports to the host that opened it. */
export interface ShardDependencies {
  budget: WriteBudget;
  /** The shard can no longer answer correctly, and has to be closed and opened again. */
  onDiverged: (error: Error) => void;
  /** The shard's disk failed. Reads work; for writes it has to be closed and opened again. */
  onWriteFailed: (error: Error) => void;
  /**
   * The data on the disk differ from what was written. Reported once, whether a read or the check of all records found
   * it.
   */
  onDamaged: (error: Error) => void;
  /** Its data were here before: where they are gone, it is damaged, and nothing is made in their place. */
  mustExist?: boolean;
  /**
   * All of its records are on stable storage: they may be opened to be read alone until they are changed. Otherwise,
   * what is read may only be in the memory of the system, and opening them for writing makes it stable before anything
   * is answered by it.
   */
  isStable?: boolean;
  /** Nobody has used it yet, so that only its folder is there: its records are made with the first change. */
  isBlank?: boolean;
  /** All of its records were compared with their checksums in the life of this process: that is not done again. */
  isVerified?: boolean;
  /** Aborted when it is not to be opened any more: what takes long then ends. */
  ended?: AbortSignal | undefined;
  /**
   * Removes expired items by way of the log; answers false where another replica does. Default: a write of the shard.
   */
  removeExpired?: (externalIds: string[]) => Promise<boolean>;
  /** Drops from a replica's log what it has applied by the call. Default: there is no log. */
  trimLog?: TrimLog;
  /** The time by which the log of a replica is, no earlier than that of any of its entries. Default: the wall clock. */
  logTimeMs?: () => Promise<number>;
  /** Whom other threads follow to search the shard; default: none do. */
  publisher?: ShardPublisher;
}

/**
 * Why a shard is closed: for now (`closed`); because its data will be removed, which running calls report (`dropped`);
 * or to be opened again from its records at once, without a checkpoint (`reopened`).
 */
export type ClosingReason = 'closed' | 'dropped' | 'reopened';

/** One open shard: records, indexes, and the paths between them. Everything it has on disk is in its folder. */
export class Shard {
  private readonly reader: ShardReader;
  private readonly queue: WriteQueue;
  private readonly pace = new WritePace();
  private readonly checkpointer: Checkpointer;
  private readonly writer: ShardWriter;
  private readonly fields: FieldBudget;
  private readonly expiry: ShardExpiry;
  private readonly removal: ExpiryRemoval;
  private readonly whole = new WholeWrites();
  /** Decoded writes on their way through the log, by their payload. */
  private readonly admitted = new WeakMap<Buffer, ShardOperation[]>();
  /** Whether it was closed with a checkpoint of everything: then all of its changes are on stable storage. */
  isSaved = false;
  /** It is about to be closed until somebody uses it. */
  isResting = false;
  private wasOnlyRead: boolean | null = null;
  private diverged = false;
  private damaged = false;
  private writeFailed = false;
  private readonly endPublication: () => void;
  private readonly verifying = new AbortController();
  private closing: { reason: ClosingReason; done: Promise<void> } | null = null;
  /** Calls under way. */
  private running = 0;
  private used = 0;
  private verified = false;

  private constructor(
    readonly spec: ShardSpec,
    private readonly parts: {
      folder: string;
      records: RecordStore;
      options: ShardOptions;
      recovered: RecoveredShard;
      stageState: StageState;
      log: OwnLog | null;
    },
    private readonly dependencies: ShardDependencies,
  ) {
    const { folder, records, options, recovered } = parts;
    const { indexes, counters } = recovered;
    const { dim } = spec;
    const { limit, free } = indexes.directory.freeSlots();
    const slots = new SlotAllocator(limit, free);
    // The checkpoint may be of before the last writes, and the clock put back since.
    this.expiry = new ShardExpiry(
      indexes,
      options.wallMs ?? Date.now,
      Math.max(recovered.expiredByMs, parts.log?.latestMs ?? 0),
    );
    const stageState = stageStateOf(indexes, parts.stageState, () => this.pace.end());
    this.checkpointer = new Checkpointer(
      { folder, records, indexes, counters, dim, logger: options.logger, wallMs: () => this.expiry.now() },
      recovered,
    );
    const { checkpointer } = this;
    this.reader = {
      search: new ShardSearch({
        records,
        indexes,
        slots,
        counters,
        aside: (work) => this.whileOpen(work).catch(() => undefined),
      }),
      items: new ShardItems({ dim, records, indexes, counters }),
      records,
      indexes,
      slots,
      counters,
      stageState,
      pace: this.pace,
      purge: new ShardPurge({
        records,
        indexes,
        checkpointer,
        logger: options.logger,
        folder,
        removeExpired: () => this.untilRemoved(),
        trimLog: dependencies.trimLog ?? (async (waits) => parts.log?.forgotten(waits)),
      }),
      backups:
        options.backups === undefined
          ? null
          : new ShardBackups(
              {
                id: spec,
                dim,
                folder,
                records,
                counters,
                checkpointer,
                liveCount: () => indexes.directory.liveCount,
                log: options.backups.log && {
                  of: options.backups.log,
                  timeMs: () => this.logTimeMs(),
                  begin: () => this.beginLog(),
                },
              },
              options.backups,
              options.logger,
            ),
    };
    this.fields = new FieldBudget({ filters: () => indexes.filters, fieldsMax: options.fieldsMax ?? Infinity });
    this.writer = new ShardWriter({
      dim,
      records,
      indexes,
      slots,
      counters,
      stageState,
      expiry: this.expiry,
      whole: this.whole,
      specWith: (has) => specTextWith(spec, has),
      onChanges: (count) => this.checkpointer.noteChanges(count),
      onDiverged: (error) => this.diverge(error),
      onWriteFailed: (error) => {
        this.writeFailed = true;
        dependencies.onWriteFailed(error);
      },
    });
    this.queue = new WriteQueue({
      budget: dependencies.budget,
      commit: (requests) =>
        parts.log === null ? this.writer.commit(requests) : this.commitLogged(requests, parts.log),
    });
    // Where that fails, a backup tries it again.
    if (parts.log !== null) parts.log.onLeapt = () => void this.queue.push([]).catch(() => undefined);
    // What the gate refuses would be tried again and again, each time by an entry of the log.
    const mayBeAny = (): boolean => this.expiry.mayHaveExpired && !refusesWrites(stageState.now);
    this.removal = new ExpiryRemoval({
      mayBeAny,
      expired: async (limit) => (mayBeAny() ? this.expired(limit) : []),
      remove:
        dependencies.removeExpired ??
        (async (ids) =>
          (await this.write(ids.map((externalId) => ({ type: 'expire', externalId })))).outcomes.length > 0),
      logger: options.logger,
    });
    this.endPublication = dependencies.publisher?.publish(spec, indexes) ?? (() => undefined);
  }

  /**
   * Opens the shard in `folder`; makes it if it does not exist and need not. Errors: storage_failed, also for a folder
   * in use and for a shard of another dimension, metric or language; storage_damaged.
   */
  static async open(
    folder: string,
    spec: ShardSpec,
    options: ShardOptions,
    dependencies: ShardDependencies,
  ): Promise<Shard> {
    const { mustExist = false, isStable = false, isBlank = false } = dependencies;
    await removeUnfinished(folder);
    if (!mustExist && !isBlank) {
      await Shard.begin(folder, spec, options, dependencies.ended);
      await makeStableFolder(folder);
    }
    const openStore = (): Promise<KeyValueStore> =>
      options.openStore(join(folder, 'records'), { mustExist, reading: mustExist && isStable });
    const records = new RecordStore(
      isBlank ? new LaterKeyValueStore(() => Shard.makeStore(folder, spec, options)) : await openStore(),
    );
    let recovered: RecoveredShard | null = null;
    let shard: Shard | null = null;
    try {
      const { expiries } = isBlank ? { expiries: false } : await claimRecords(records, folder, spec, mustExist);
      recovered = await recoverShard({
        folder,
        records,
        factories: options.factories,
        analyser: analyserFor(spec.language ?? null),
        keywordFields: spec.keywordFields,
        keywordPositions: spec.keywordPositions !== false,
        logger: options.logger,
        nowMs: (options.wallMs ?? Date.now)(),
        expiries,
        metadata: spec.metadata ?? DEFAULT_METADATA_STORAGE,
        vectorOptions: {
          folder: join(folder, 'vectors'),
          dim: spec.dim,
          metric: spec.metric,
          quantization: spec.quantization,
          place: spec.vectors,
          recallTarget: options.recallTarget,
          buildThreads: options.buildThreads,
          onBackgroundError: (error) =>
            options.logger.error({ error, folder }, 'background work of the vector index failed'),
          // Before the shard exists, nobody has got an answer; the first caller meets the damage again.
          onDamaged: (error) => shard?.diverge(error),
        },
      });
      if (recovered.manifest === null) {
        await forgetLineage(folder);
        await forgetPositions(folder);
      }
      await removeOtherCheckpoints(folder, recovered.manifest?.number ?? null);
      const { backups } = options;
      const { lastOperation: operation, lastRecno } = recovered.counters;
      const log =
        backups?.log !== 'own'
          ? null
          : await OwnLog.open({
              id: spec,
              records,
              operation,
              isNew: operation === 0 && lastRecno === 0 && !(await records.isRestored()),
              wallMs: wallOf(options),
            });
      shard = new Shard(
        { ...spec },
        { folder, records, options, recovered, stageState: await records.stageState(), log },
        dependencies,
      );
      if (dependencies.isVerified !== true) void shard.verify();
      return shard;
    } catch (error) {
      recovered?.indexes.directory.close();
      await recovered?.indexes.vectors.close();
      await records.close();
      throw error;
    }
  }

  /** Makes the records of a blank one, which is none from then on. */
  private static async makeStore(folder: string, spec: ShardSpec, { openStore }: ShardOptions): Promise<KeyValueStore> {
    const store = await openStore(join(folder, 'records'), { mustExist: false });
    try {
      await claimRecords(new RecordStore(store), folder, spec);
      await forgetRest(folder);
      return store;
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  /** Fills the folder of one that begins with something. */
  private static async begin(
    folder: string,
    { seed, ...spec }: ShardSpec,
    options: ShardOptions,
    ended?: AbortSignal,
  ): Promise<void> {
    if (seed === undefined) return;
    if (seed.log === undefined) return seedShard(folder, { ...spec, seed }, options, ended);
    const fail = (error: Error): void => options.logger.error({ error, folder }, 'a shard that is restored failed');
    // What the log does is all that is done: an item that has expired by now may have been given more time behind the
    // backup.
    const removeExpired = async (): Promise<boolean> => false;
    const dependencies = {
      budget: new WriteBudget(),
      onDiverged: fail,
      onWriteFailed: fail,
      onDamaged: fail,
      removeExpired,
    };
    // What it takes from the log is shipped under its own name later on.
    const own = { ...options, backups: options.backups && { ...options.backups, log: undefined } };
    await seedOfMoment(folder, {
      spec: { ...spec, seed: { ...seed, log: seed.log } },
      options,
      ended,
      open: (path, source) => Shard.open(path, source, own, dependencies),
    });
  }

  /**
   * Errors: overloaded, commit_unknown (safe to repeat), storage_failed, internal for operations that callers must not
   * send.
   */
  write(operations: WriteOperation[]): Promise<WriteResult> {
    this.used += 1;
    return this.whileOpen(async () => {
      const { checked, claim } = await this.check(operations);
      const unguard = this.guard(checked);
      try {
        await this.keepPace(checked);
        return await this.queue.push(checked);
      } finally {
        claim.release();
        unguard();
      }
    });
  }

  /**
   * Refuses an encoded write (operation-codec.ts) that `applyLogged` could not apply, or that is beyond the limits of
   * the shard, and gives it its moment. Call it before a write goes into a log: what is in a log is not checked again,
   * so that replicas agree. Release it when the write is applied or has failed. Errors: limit_exceeded, internal.
   */
  async admit(payload: Buffer): Promise<{ release(): void }> {
    const { checked, claim } = await this.check(await inSlices(operationsInSteps(payload)));
    const unguard = this.guard(checked);
    const release = (): void => {
      claim.release();
      unguard();
    };
    try {
      await this.keepPace(checked);
    } catch (error) {
      release();
      throw error;
    }
    stampMoment(payload, this.expiry.now());
    this.admitted.set(payload, checked);
    return { release };
  }

  /** Ids of items that have expired, whose records are still to be removed. Errors: as `read`. */
  expired(limit: number): Promise<string[]> {
    return this.whileOpen(async () => {
      await this.expiry.settle();
      return this.expiry.removable(limit);
    });
  }

  /**
   * What has expired by now is removed, here or by the primary of the shard. Errors: unavailable when that does not go
   * on.
   */
  private async untilRemoved(): Promise<void> {
    const atMs = this.expiry.now();
    await this.removal.drain();
    await this.whileOpen(async () => this.expiry.settle());
    let last: number | null = null;
    let untilMs = Infinity;
    for (;;) {
      const slot = this.expiry.remainderOf(atMs);
      if (slot === null) return;
      this.checkOpen();
      const nowMs = performance.now();
      if (slot !== last) untilMs = nowMs + REMOVED_WITHIN_MS;
      if (nowMs > untilMs)
        throw new QuiverError(
          'unavailable',
          'the primary of the shard does not remove what has expired: purge again when it does',
        );
      last = slot;
      await new Promise((wake) => setTimeout(wake, REMOVED_CHECK_MS));
    }
  }

  private guard(operations: ShardOperation[]): () => void {
    if (!this.expiry.isUsed) return () => undefined;
    return this.expiry.guard(
      operations.flatMap((operation) =>
        operation.type === 'stage' || operation.type === 'expire' || operation.type === 'dedup'
          ? []
          : [operation.externalId],
      ),
    );
  }

  /** The same writes, kept beside the records until they are shipped. */
  private async commitLogged(requests: ShardOperation[][], log: OwnLog): Promise<WriteResult[]> {
    // What is kept is done again with the same moment.
    const moment = this.expiry.now();
    const payloads = await log.encoded(requests, moment);
    const { counters } = this.parts.recovered;
    try {
      const results = await this.writer.commit(requests, {
        sync: true,
        alongside: () => log.changes(payloads, counters.lastOperation + 1, moment),
        moments: requests.map(() => moment),
      });
      log.stored();
      return results;
    } catch (error) {
      log.lost();
      throw error;
    }
  }

  /**
   * Clients wait while the shard is copied faster than they write; those who copy do not. Errors: unavailable,
   * not_found.
   */
  private async keepPace(operations: ShardOperation[]): Promise<void> {
    if (
      operations.length === 0 ||
      operations[0].type === 'stage' ||
      operations[0].type === 'import' ||
      (operations[0].type === 'dedup' && operations[0].term !== NO_TERM)
    )
      return;
    await this.pace.wait(operations.length, performance.now());
    this.checkOpen();
  }

  /**
   * Applies encoded writes that a log already holds on stable storage, in order, and writes the changes of `alongside`
   * in the same step. None of it is synced, because the log repeats it after a crash. One call at a time, and never at
   * the same time as `write`. Errors: as `write`; after any of them the shard has to be opened again.
   */
  applyLogged(payloads: Buffer[], alongside: (results: WriteResult[]) => KeyValueChange[]): Promise<WriteResult[]> {
    return this.whileOpen(async () => {
      const requests: ShardOperation[][] = [];
      for (const payload of payloads) {
        requests.push(this.admitted.get(payload) ?? (await inSlices(operationsInSteps(payload))));
        // The log keeps the bytes for followers.
        this.admitted.delete(payload);
      }
      return this.writer.commit(requests, {
        sync: false,
        alongside,
        counted: payloads.map(isCounted),
        moments: payloads.map(momentOf),
        dated: payloads.map(isDated),
      });
    });
  }

  /** Its log has a write of this moment, be it applied long ago: what is read from now on is of no earlier one. */
  noteMoment(moment: number): void {
    this.expiry.advance(moment);
  }

  private async check(operations: WriteOperation[]): Promise<{ checked: ShardOperation[]; claim: FieldClaim }> {
    const claim = this.fields.open();
    try {
      const checked = await inSlices(
        checkOperations(operations, this.spec.dim, (metadata, { externalId }) => claim.add(metadata, externalId)),
      );
      return { checked, claim };
    } catch (error) {
      claim.release();
      throw error;
    }
  }

  /**
   * Errors: those of the read; unavailable and not_found when the shard closes meanwhile; resharded when it is not what
   * its collection consists of. An answer is as of a moment after the call at which the shard was.
   */
  read<Kind extends ReadKind>(kind: Kind, request: RequestOf<Kind>): Promise<AnswerOf<Kind>> {
    // Who looks at all shards uses none of them.
    if (kind !== 'status') this.used += 1;
    return this.whileOpen(() => {
      mustAnswer(this.reader.stageState.now, kind, request);
      const settling = this.expiry.settle();
      return settling === null ? this.answer(kind, request) : settling.then(() => this.answer(kind, request));
    });
  }

  private answer<Kind extends ReadKind>(
    kind: Kind,
    request: RequestOf<Kind>,
  ): AnswerOf<Kind> | Promise<AnswerOf<Kind>> {
    // Others do more than read, or say nothing of items.
    if (!SHARED_READS.has(kind) && kind !== 'count') return answerRead(this.reader, kind, request);
    return this.whole.read(() => answerRead(this.reader, kind, request));
  }

  /**
   * The same as the read, at every stage: what it holds is of interest to operators. Errors: unavailable, not_found.
   */
  status(): Promise<ShardStatus> {
    return this.whileOpen(async () => {
      await this.expiry.settle();
      return answerRead(this.reader, 'status', null);
    });
  }

  /** What the metrics show. Errors: as `read`. */
  async observe(): Promise<ShardObservation> {
    const status = await this.status();
    const { records, recovered } = this.parts;
    const logMs = await this.logTimeMs();
    // Read after it: a log that goes by this clock is not ahead of it.
    const wallMs = wallOf(this.parts.options)();
    const { vectors, directory, filters, keywords } = recovered.indexes;
    return this.whileOpen(async () => ({
      status,
      memory: {
        vectorIndex: vectors.status().memoryBytes,
        directory: directory.memoryBytes,
        filterIndex: filters.memoryBytes,
        keywordIndex: keywords.memoryBytes,
        store: records.memory(),
      },
      checkpoint: this.checkpointer.state,
      expiredItems: this.expiry.hiddenTotal,
      clockAheadMs: Math.max(0, logMs - wallMs, this.expiry.now() - (this.parts.options.wallMs ?? Date.now)()),
      marks: await records.marks.usage(),
    }));
  }

  /** The time by which its log is, and that no write of it is after; without a log, that of the clock. */
  private async logTimeMs(): Promise<number> {
    const { dependencies, parts } = this;
    return (await dependencies.logTimeMs?.()) ?? parts.log?.timeMs() ?? wallOf(parts.options)();
  }

  /**
   * Writes nothing into the log where that makes its place known from any of another history. Errors: those of writes.
   */
  private async beginLog(): Promise<void> {
    if (this.parts.log?.hasBegun === false) await this.queue.push([]);
  }

  /** The number of its last change. */
  get lastOperation(): number {
    return this.parts.recovered.counters.lastOperation;
  }

  /** Does something before its records change next, once. Errors of it fail nothing. */
  beforeNextChange(act: () => Promise<void>): void {
    this.parts.records.beforeNextWrite(act);
  }

  /** Its writes, where they are kept for shipping. */
  get log(): OwnLog | null {
    return this.parts.log;
  }

  /** Writes that wait for their turn. */
  get waitingWrites(): number {
    return this.queue.length;
  }

  /** Rises with each use since the last call. */
  get uses(): number {
    if (this.parts.recovered.indexes.directory.changes.takeUse()) this.used += 1;
    return this.used;
  }

  /**
   * Until when it needs not be open, unless somebody uses it; -Infinity: it does, because something is under way or
   * wanted.
   */
  get restsUntilMs(): number {
    const { stageState, purge, backups, indexes } = this.reader;
    const isBusy =
      this.running > 0 ||
      !this.queue.isSettled ||
      this.closing !== null ||
      this.diverged ||
      this.damaged ||
      this.parts.log !== null ||
      purge.isRunning ||
      backups?.isWanted === true;
    if (isBusy || stageState.now.stage !== 'open') return -Infinity;
    const { state, optimizing } = indexes.vectors.status().progress;
    const isMaking = optimizing || indexes.phrases.positions?.isMaking === true;
    return state === 'ready' && !isMaking ? this.expiry.restsUntilMs : -Infinity;
  }

  /** How many rows of vectors are read when it is opened, and their bytes; items as long as there are more of them. */
  get size(): { rows: number; bytes: number } {
    const { directory, vectors } = this.parts.recovered.indexes;
    const { progress, diskBytes } = vectors.status();
    return { rows: Math.max(progress.rows, directory.liveCount), bytes: diskBytes };
  }

  /** Whether nothing of its records was changed since it was opened, or until it was closed. */
  get isOnlyRead(): boolean {
    return this.wasOnlyRead ?? this.parts.records.isOnlyRead;
  }

  /** Whether all of its records were compared with their checksums since it was opened. */
  get isVerified(): boolean {
    return this.verified;
  }

  /** Resolves when no write is queued, and neither the vector index nor positions have background work. */
  async settled(): Promise<void> {
    await this.queue.settled();
    await this.parts.recovered.indexes.vectors.settled();
    await this.parts.recovered.indexes.phrases.positions?.settled();
  }

  /**
   * Writes the present state of the indexes, so that a later start does not have to repeat the operations before it.
   */
  checkpoint(): Promise<void> {
    return this.whileOpen(() => this.checkpointer.write());
  }

  /** Finishes what is queued, writes a checkpoint if the data stay and anything changed, and closes; idempotent. */
  close(reason: ClosingReason = 'closed'): Promise<void> {
    this.endPublication();
    this.closing ??= { reason, done: this.finish(reason) };
    return this.closing.done;
  }

  /** Tells the host, once, if this error is of damaged data; for whoever reads the shard's store beside it. */
  noteDamage(error: unknown): void {
    if (this.damaged || !isQuiverError(error) || error.kind !== 'storage_damaged') return;
    this.damaged = true;
    this.dependencies.onDamaged(error);
  }

  /**
   * Checks every file of the records once, in the background, so that damage is found before somebody needs the data.
   */
  private async verify(): Promise<void> {
    const { records, folder, options } = this.parts;
    try {
      await records.verify({ bytesPerSecond: VERIFY_BYTES_PER_SECOND, stop: this.verifying.signal });
      this.verified = !this.verifying.signal.aborted;
    } catch (error) {
      if (this.closing !== null) return;
      options.logger.error({ error, folder }, 'the check of the records failed');
      this.noteDamage(error);
    }
  }

  /** From here on nothing is read from the indexes: the host closes the shard and opens it from its records. */
  private diverge(error: Error): void {
    if (this.diverged || this.closing !== null) return;
    this.diverged = true;
    this.endPublication();
    this.dependencies.onDiverged(error);
  }

  /** Fails the writes of which nothing is stored yet: for a shard that is about to be removed. */
  abandonWrites(): void {
    this.queue.abandon(() => this.closedError('dropped'));
    this.writer.abandon(() => this.closedError('dropped'));
  }

  private async finish(reason: ClosingReason): Promise<void> {
    const { records, folder, options, recovered } = this.parts;
    this.verifying.abort();
    this.pace.end();
    const removed = this.removal.close();
    const purgeEnded = this.reader.purge.close();
    await this.reader.backups?.close();
    if (reason !== 'closed') {
      this.queue.abandon(() => this.closedError(reason));
      this.writer.abandon(() => this.closedError(reason));
    }
    await this.queue.settled();
    await this.parts.log?.close();
    await removed;
    await purgeEnded;
    await recovered.indexes.phrases.positions?.close();
    await this.checkpointer.stop();
    // The indexes of a diverged shard do not match its counters.
    if (reason === 'closed' && !this.diverged && this.checkpointer.isBehind) {
      const written = this.isResting ? this.checkpointer.settle() : this.checkpointer.writeLast();
      await written.catch((error: unknown) =>
        options.logger.error(
          { error, folder },
          'the closing checkpoint failed; the next start repairs from the records',
        ),
      );
    }
    // A write that failed may be in the log, and not on stable storage.
    const isSaved = reason === 'closed' && !this.diverged && !this.writeFailed && !this.checkpointer.isBehind;
    try {
      recovered.indexes.directory.close();
      await recovered.indexes.vectors.close();
    } finally {
      this.wasOnlyRead = records.isOnlyRead;
      await records.close(this.isResting);
    }
    this.isSaved = isSaved;
  }

  /**
   * Runs a call. If it fails because the shard is closing, or if a divergence may have made its answer wrong, it fails
   * with the error for that.
   */
  private async whileOpen<Result>(call: () => Result | Promise<Result>): Promise<Result> {
    this.checkOpen();
    let result: Result;
    this.running += 1;
    try {
      result = await call();
    } catch (error) {
      this.noteDamage(error);
      if (!isAboutWrite(error)) this.checkOpen();
      throw error;
    } finally {
      this.running -= 1;
    }
    if (this.diverged) throw this.closedError('reopened');
    return result;
  }

  private checkOpen(): void {
    if (this.closing !== null) throw this.closedError(this.closing.reason);
  }

  private closedError(reason: ClosingReason): QuiverError {
    const { shard, collectionUid } = this.spec;
    if (reason === 'dropped')
      return new QuiverError('not_found', `shard ${shard} of collection ${collectionUid} is not on this node`);
    return new QuiverError('unavailable', `shard ${shard} is being closed; the call may be retried`);
  }
}

/**
 * The gate, which other threads see, too: they answer nothing from the shard's memory while it refuses reads.
 * `onStaged` is called when it has come to another stage.
 */
function stageStateOf({ directory }: ShardIndexes, found: StageState, onStaged: () => void): ShardStageState {
  let now = found;
  if (refusesReads(now)) directory.changes.begin();
  return {
    get now() {
      return now;
    },
    pass(next) {
      if (refusesReads(next) && !refusesReads(now)) directory.changes.begin();
      if (!refusesReads(next) && refusesReads(now)) directory.changes.end();
      const isStaged = next.stage !== now.stage;
      now = next;
      if (isStaged) onStaged();
    },
  };
}

/** The clock by which logs are. */
function wallOf({ backups }: ShardOptions): () => number {
  return backups?.wallMs ?? Date.now;
}

/** An outcome that closing does not change. */
function isAboutWrite(error: unknown): boolean {
  return error instanceof QuiverError && (error.kind === 'commit_unknown' || error.kind === 'overloaded');
}
