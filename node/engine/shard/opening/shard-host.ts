import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isDamage, isQuiverError, QuiverError } from '../../../../shared/base/errors/quiver-error';
import type { ShardPublications } from '../../../../shared/contract/shard/inline-search';
import type { ShardId, ShardSpec } from '../../../../shared/contract/shard/shard-client';
import type { ShardStatus } from '../../../../shared/contract/shard/shard-read';
import { RetryBackoff } from '../../../../shared/base/time/retry-backoff';
import { syncFolder } from '../../../../shared/base/files/stable-folder';
import { refusalOfDisk } from '../../files/disk-trouble';
import { LaterFormatError } from '../../files/later-format';
import { removeTrialFiles } from '../../files/trial-files';
import { diskTakesWrites } from '../../kv/disk-room';
import { shardNoteName, StoreNotes } from '../../kv/store-notes';
import type { KeptLog, ShippableLog } from '../backup/shippable-log';
import { keptAside, NotedOpening } from './noted-opening';
import type { Shard } from '../shard';
import { specText } from '../../records/shard-format';
import { ShardPublisher } from '../shard-publisher';
import type { ReplicaObservation } from '../shard-observation';
import type { ShardOptions } from '../shard-options';
import { blankSpec, forgetRest, hasNoRest } from './rest-note';
import type { RestingShard } from './resting-shards';
import { allEnded, lookAt, openAt, REOPEN_PAUSES, ShardLifecycle, shuttingDown } from './shard-lifecycle';
import { type RestOptions, ShardRests } from './shard-rests';
import { WriteBudget } from '../writing/write-queue';
import { isMissing } from '../../../../shared/base/files/missing-file';

/**
 * What a collection's folder holds besides its shards: what it takes to list it again (embedded/collection-notes.ts).
 */
export const COLLECTION_NOTE = 'collection.json';

export interface ShardHostOptions extends ShardOptions {
  /** Most shards open at once. */
  openShardsMax: number;
  /** When shards are closed that are not used; default: never. */
  rests?: RestOptions | undefined;
  /** Where it is noted which shards there are; default: `notes` in the folder of the shards. */
  notes?: StoreNotes | undefined;
  /** Waits until what a shard keeps for shipping need not be kept any more, for a while. Never rejects. */
  beforeDrop?: (log: ShippableLog) => Promise<void>;
}

/** How long a shard that is to be opened waits for the files that others have open. */
const ROOM_MS = 5_000;
/** Collection uids become folder names, so they are held to a safe alphabet. */
const UID = /^[A-Za-z0-9-]{1,64}$/;

/**
 * The shards of an embedded process, in `folder`: shards/<collection uid>/<shard number>, each with a RocksDB of its
 * own. One store per shard rather than one per process: a shard is dropped by removing its folder, copied by copying
 * it, and a damaged one harms no other; the price is some open files and a small memtable each.
 * A place is made by who opens its shard and hears when that fails: only what was open once is tried again.
 * A shard is made once. It is noted then, apart from its data (StoreNotes): a shard whose data are gone later, or are
 * an earlier copy, stays closed, and calls are told so.
 */
export class ShardHost implements ShardPublications {
  private readonly lifecycles = new Map<string, ShardLifecycle<Shard>>();
  /** Shards whose data are being removed. */
  private readonly leaving = new Map<string, Promise<void>>();
  /** Shards that were to be opened when as many were open as may be. */
  private readonly left = new Map<string, { spec: ShardSpec; mustExist: boolean }>();
  /** Shards that can't be opened because of what is on the disk, with what calls are told of it. */
  private readonly damaged = new Map<string, QuiverError>();
  private readonly budget = new WriteBudget();
  private readonly publisher = new ShardPublisher();
  private readonly opening: NotedOpening;
  private readonly rests: ShardRests;
  /** Shards that were closed because they were not used, and are being opened. */
  private readonly waking = new Map<string, Promise<Shard>>();
  private closing: Promise<void> | null = null;

  private constructor(
    private readonly folder: string,
    private readonly options: ShardHostOptions,
    private readonly notes: StoreNotes,
  ) {
    this.opening = new NotedOpening(options, notes);
    this.rests = new ShardRests({
      ...(options.rests ?? { afterMs: 0, openMax: Infinity }),
      lifecycles: this.lifecycles,
      folderOf: (spec) => this.folderOf(spec),
      noteClosed: (shard, path) => this.opening.noteClosed(shard, path),
      wake: (name) =>
        void this.wake(name).catch((error: unknown) =>
          options.logger.error({ error, shard: name }, 'a shard with expired items could not be opened'),
        ),
      wallMs: options.wallMs ?? Date.now,
      logger: options.logger,
    });
  }

  /** Prepares the folder and finishes drops that a crash cut short; opens nothing. Errors: those of the file system. */
  static async start(folder: string, options: ShardHostOptions): Promise<ShardHost> {
    await mkdir(join(folder, 'shards'), { recursive: true });
    await rm(join(folder, 'trash'), { recursive: true, force: true });
    removeTrialFiles(folder);
    return new ShardHost(
      folder,
      options,
      options.notes ?? (await StoreNotes.load(join(folder, 'notes'), options.logger)),
    );
  }

  /**
   * Opens a shard; nothing happens when it is open, or closed because it is not used. One that is not there and was
   * never noted is made, unless it `mustExist`; where shards are closed that nobody uses, its records are made with its
   * first change. Errors: storage_failed, also when as many are open as may be; storage_damaged; unavailable.
   */
  async open(spec: ShardSpec, { mustExist }: { mustExist: boolean }): Promise<void> {
    const name = nameOf(spec);
    if (!this.lifecycles.has(name)) {
      if (mustExist) await this.leaveAtRest(name, spec);
      if (this.rests.resting.get(name) === undefined && (mustExist || !this.mayBeBlank(spec))) await this.untilRoom();
    }
    for (let left = this.leaving.get(name); left !== undefined; left = this.leaving.get(name))
      await left.catch(() => undefined);
    if (this.closing !== null) throw shuttingDown();
    let lifecycle = this.lifecycles.get(name);
    const known = lifecycle ?? this.rests.resting.get(name);
    if (known === undefined && !mustExist && this.mayBeBlank(spec)) return this.rests.makeBlank(name, { ...spec });
    if (known === undefined) {
      // The files that one more would open are those by which the process is reached.
      const { openShardsMax } = this.options;
      if (this.lifecycles.size >= openShardsMax) {
        this.left.set(name, { spec: { ...spec }, mustExist });
        throw tooMany(openShardsMax, 'storage_failed');
      }
      this.left.delete(name);
      this.damaged.delete(name);
      lifecycle = this.placeFor(name, { ...spec }, mustExist);
      this.lifecycles.set(name, lifecycle);
    } else if (specText(known.spec) !== specText(spec)) {
      throw new QuiverError('storage_failed', `the shard is ${specText(known.spec)}, not ${specText(spec)}`);
    }
    await lifecycle?.ready;
    // Somebody else is about to make it.
    await this.rests.resting.get(name)?.made;
  }

  /**
   * The open shard. Errors: not_found; unavailable while it is being opened again and can't be; storage_damaged when it
   * can't be opened because of what is on the disk; storage_failed when others have taken its place. It is opened once
   * one of them is gone.
   */
  async shard(id: ShardId): Promise<Shard> {
    if (this.closing !== null) throw shuttingDown();
    const lifecycle = this.lifecycles.get(nameOf(id));
    if (lifecycle !== undefined) return lifecycle.ready;
    if (this.rests.resting.get(nameOf(id)) !== undefined) return this.wake(nameOf(id));
    const left = this.left.get(nameOf(id));
    if (left !== undefined) {
      await this.open(left.spec, left);
      return this.shard(id);
    }
    const damage = this.damaged.get(nameOf(id));
    if (damage !== undefined) throw damage;
    throw new QuiverError('not_found', `shard ${id.shard} of collection ${id.collectionUid} is not on this node`);
  }

  /** What a shard answers that is closed because it is not used; null: ask it itself. */
  statusAtRest(id: ShardId): ShardStatus | null {
    return this.rests.resting.status(nameOf(id));
  }

  /** Closes shards of few items that nobody has used for so long, in milliseconds, until their next use. */
  restUnused(leastMs: number): Promise<void> {
    return this.rests.restUnused(leastMs);
  }

  /** Removes a shard and its data; nothing happens when it is gone. */
  drop(id: ShardId): Promise<void> {
    const name = nameOf(id);
    let left = this.leaving.get(name);
    if (left === undefined) {
      left = this.remove(id, name).finally(() => this.leaving.delete(name));
      this.leaving.set(name, left);
    }
    return left;
  }

  /** Shards that open, change and close, for a thread with ShardViews. */
  follow(publish: (message: unknown) => void): () => void {
    return this.publisher.follow(publish);
  }

  /**
   * The shards that are open or closed because they are not used; each counts as the leader of itself, as
   * `GET /v1/cluster` has it.
   */
  async observe(): Promise<ReplicaObservation[]> {
    const open = await lookAt(this.lifecycles.values(), async (held) => {
      const data = await held.observe();
      const { collectionUid, shard } = held.spec;
      const { lastOperation } = data.status;
      return {
        collectionUid,
        shard,
        leads: true,
        epoch: 1,
        lastSequence: lastOperation,
        appliedSequence: lastOperation,
        pendingWrites: held.waitingWrites,
        lagMax: 0,
        data,
      };
    });
    return [...open, ...this.rests.resting.observations()];
  }

  /** The writes that open shards keep for shipping. */
  logs(): (ShippableLog & KeptLog)[] {
    return openAt(this.lifecycles.values()).flatMap(({ log }) => log ?? []);
  }

  /** Shards that there are, but for those that could not be opened. */
  get shardCount(): number {
    return this.lifecycles.size + this.rests.resting.size;
  }

  /** Those of them that are closed because they are not used. */
  get restingShards(): number {
    return this.rests.resting.size;
  }

  /** Shards that are to be open and are not, most likely because their disk fails. */
  get closedReplicas(): number {
    return this.lifecycles.size - openAt(this.lifecycles.values()).length + this.left.size + this.damaged.size;
  }

  /** Shards that were to be opened when as many were open as may be, and were not asked for since there is room. */
  get leftShards(): number {
    return this.left.size;
  }

  /** Bytes of writes that wait, of all shards. */
  get waitingWriteBytes(): number {
    return this.budget.takenBytes;
  }

  /** Closes every shard, with a checkpoint each; idempotent. */
  close(): Promise<void> {
    this.closing ??= this.closeAll();
    return this.closing;
  }

  private async closeAll(): Promise<void> {
    await this.rests.close();
    await Promise.allSettled(this.waking.values());
    const closings = [...this.lifecycles.values()].map((lifecycle) => this.rests.end(lifecycle));
    await allEnded([...closings, ...this.leaving.values()]).finally(() => this.lifecycles.clear());
  }

  private async remove(id: ShardId, name: string): Promise<void> {
    const resting = this.rests.resting.get(name);
    this.rests.resting.delete(name);
    await resting?.closed;
    const lifecycle = this.lifecycles.get(name);
    const { beforeDrop } = this.options;
    if (lifecycle !== undefined && beforeDrop !== undefined)
      for (const { log } of openAt([lifecycle])) if (log !== null) await beforeDrop(log);
    this.lifecycles.delete(name);
    this.left.delete(name);
    this.damaged.delete(name);
    await lifecycle
      ?.end('dropped')
      .catch((error: unknown) =>
        this.options.logger.error({ error, shard: name }, 'a shard to be removed failed to close'),
      );
    const trash = join(this.folder, 'trash');
    await mkdir(trash, { recursive: true });
    const target = join(trash, randomUUID());
    const collection = join(this.folder, 'shards', id.collectionUid);
    try {
      await rename(join(this.folder, 'shards', name), target);
      await syncFolder(collection);
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
    // Not before: a shard that is noted is looked for.
    await this.notes.forget(shardNoteName(id));
    await rm(target, { recursive: true, force: true });
    for (const kept of await keptAside(this.folderOf(id))) await rm(kept, { recursive: true, force: true });
    const left = await readdir(collection).catch(() => null);
    if (left === null || left.some((entry) => entry !== COLLECTION_NOTE)) return;
    await rm(join(collection, COLLECTION_NOTE), { force: true });
    // Another of its shards may be made at the same moment.
    await rmdir(collection).catch(() => undefined);
  }

  /**
   * At a start: a shard of which everything is known by what was noted when it was closed stays closed until it is
   * used.
   */
  private async leaveAtRest(name: string, spec: ShardSpec): Promise<void> {
    const note = this.rests.resting.get(name) === undefined ? this.rests.noted(spec) : null;
    if (note === null) return;
    const { facts, isBlank } = note;
    const stored = shardNoteName(spec);
    if (
      !(isBlank
        ? !this.notes.isKnown(stored)
        : await this.notes.isWhole(stored, join(this.folderOf(spec), 'records'), facts.status.lastOperation))
    )
      return;
    if (
      this.closing !== null ||
      this.lifecycles.has(name) ||
      this.leaving.has(name) ||
      this.rests.resting.get(name) !== undefined
    )
      return;
    this.rests.resting.put(name, {
      spec: { ...spec },
      facts,
      isNoted: true,
      isStable: true,
      isBlank,
      closed: Promise.resolve(),
    });
  }

  /** Waits until one more can be open, or none of those that are is unused. */
  private async untilRoom(): Promise<void> {
    const { openShardsMax } = this.options;
    for (const untilMs = performance.now() + ROOM_MS; ;) {
      await this.rests.room(openShardsMax);
      if (
        this.lifecycles.size < openShardsMax ||
        this.closing !== null ||
        !this.rests.isOn ||
        performance.now() > untilMs
      )
        return;
    }
  }

  /**
   * Opens a shard that was closed because it was not used. Errors: as of {@link shard}; it is tried again by its next
   * use.
   */
  private wake(name: string): Promise<Shard> {
    let waking = this.waking.get(name);
    if (waking === undefined) {
      waking = this.openAgain(name).finally(() => this.waking.delete(name));
      this.waking.set(name, waking);
    }
    return waking;
  }

  private async openAgain(name: string): Promise<Shard> {
    const { resting } = this.rests;
    const found = resting.get(name);
    if (found === undefined) throw new QuiverError('not_found', `shard ${name} is not on this node`);
    await found.closed;
    await this.untilRoom();
    if (this.closing !== null) throw shuttingDown();
    if (resting.get(name) !== found) return this.shard(found.spec);
    if (this.lifecycles.size >= this.options.openShardsMax) throw tooMany(this.options.openShardsMax, 'overloaded');
    resting.delete(name);
    const lifecycle = this.placeFor(name, found.spec, true, found);
    this.lifecycles.set(name, lifecycle);
    try {
      return await lifecycle.ready;
    } catch (error) {
      if (!isDamage(error) && !this.lifecycles.has(name) && !this.leaving.has(name))
        resting.put(name, {
          ...found,
          isNoted: false,
          isStable: false,
          closed: lifecycle.end('closed').catch(() => undefined),
        });
      throw notOpenedNow(error);
    }
  }

  /**
   * `resting`: what is known of one that was closed. Its records are all on stable storage, where it says so, as long
   * as nobody has opened them.
   */
  private placeFor(
    name: string,
    spec: ShardSpec,
    mustExist: boolean,
    resting: RestingShard | null = null,
  ): ShardLifecycle<Shard> {
    const { logger } = this.options;
    let isStable = resting?.isStable === true;
    /** Records of a blank one that were begun can't be opened: what its note says is not believed any more. */
    let isBegunDamaged = false;
    const takeStable = (): boolean => {
      const was = isStable;
      isStable = false;
      return was;
    };
    const lifecycle: ShardLifecycle<Shard> = new ShardLifecycle(spec, {
      pausesFirst: false,
      open: async (ended) => {
        const folder = this.folderOf(spec);
        const isBlank = !isBegunDamaged && this.isBlank(spec);
        const isStableNow = takeStable();
        // A store that is noted is never blank again, should its note be lost.
        if (this.notes.isKnown(shardNoteName(spec)) && mayBeNotedBlank(folder)) await forgetRest(folder);
        // Nor is one of which a note was removed, by whoever was killed before that was synced.
        else if (!isBlank && !isStableNow && hasNoRest(folder)) await forgetRest(folder);
        return this.opening.open(folder, spec, mustExist || this.lifecycles.get(name)?.wasOpen === true, {
          ended,
          isStable: isStableNow,
          isVerified: this.rests.isVerified(name),
          isBlank,
          budget: this.budget,
          publisher: this.publisher,
          onDiverged: (error) => {
            logger.error({ error, shard: name }, 'a shard could not follow its own records and is opened anew');
            lifecycle.reopen();
          },
          onWriteFailed: (error) => {
            const isDamaged = isDamage(error);
            logger.error(
              { error, shard: name },
              isDamaged
                ? 'the first change of a shard found other records than were read; it is opened anew'
                : 'a shard could not write to its disk; it takes no writes until the disk does',
            );
            isBegunDamaged ||= isDamaged && isBlank;
            if (isDamaged) lifecycle.reopen();
            else void this.awaitDisk(name, lifecycle);
          },
          onDamaged: (error) =>
            logger.error({ error, shard: name }, 'stored data of a shard are damaged; what is not is served'),
        });
      },
      // However many attempts it took.
      onOpened: (shard) => resting !== null && this.rests.wasResting(shard, resting),
      onFailed: (error, retryMs) => {
        // What a disk that fails or is full keeps from being opened at a start, as well: nobody else asks for it again.
        const mayPass = mustExist && !isDamage(error) && !(error instanceof LaterFormatError);
        if (lifecycle.wasOpen || mayPass)
          return logger.error({ error, shard: name, retryMs }, 'a shard cannot be opened; it is tried again');
        this.lifecycles.delete(name);
        if (isDamage(error)) this.damaged.set(name, error);
        void lifecycle.end('closed');
      },
      closeFailed: (shard) =>
        shard
          .close('reopened')
          .catch((error: unknown) => logger.error({ error, shard: name }, 'a shard to be opened anew failed to close')),
    });
    return lifecycle;
  }

  /**
   * Whether nobody has written to it yet: its store is noted before anything is in it. Also where shards are not closed
   * any more. Errors: as of {@link blankSpec}.
   */
  private isBlank(spec: ShardSpec): boolean {
    return (
      spec.seed === undefined &&
      !this.notes.isKnown(shardNoteName(spec)) &&
      blankSpec(this.folderOf(spec)) === specText(spec)
    );
  }

  /** Whether nothing of a shard is there that is to be made, and nothing needs to be before it is used. */
  private mayBeBlank(spec: ShardSpec): boolean {
    return (
      this.rests.isOn &&
      spec.seed === undefined &&
      !this.notes.isKnown(shardNoteName(spec)) &&
      !existsSync(this.folderOf(spec))
    );
  }

  private folderOf(id: ShardId): string {
    return join(this.folder, 'shards', nameOf(id));
  }

  /** Opens a shard again when its disk takes writes again; until then it stays open, for its readers. */
  private async awaitDisk(name: string, lifecycle: ShardLifecycle<Shard>): Promise<void> {
    const pauses = new RetryBackoff(REOPEN_PAUSES);
    do await pauses.pause(lifecycle.ended);
    while (!lifecycle.ended.aborted && !(await diskTakesWrites(this.folder)));
    if (lifecycle.ended.aborted) return;
    this.options.logger.info({ shard: name }, 'the disk takes writes again; the shard is opened anew');
    lifecycle.reopen();
  }
}

/** Also where the note can't be read. */
function mayBeNotedBlank(folder: string): boolean {
  try {
    return blankSpec(folder) !== null;
  } catch {
    return true;
  }
}

/** Of a shard that its next use opens, too, because its disk may be whole by then. */
function notOpenedNow(error: unknown): unknown {
  if (isDamage(error) || (isQuiverError(error) && error.kind !== 'storage_failed') || refusalOfDisk(error) !== null)
    return error;
  return new QuiverError(
    'unavailable',
    `the shard can't be opened: ${(error as Error).message}; the call may be retried`,
    { cause: error },
  );
}

function tooMany(openShardsMax: number, kind: 'storage_failed' | 'overloaded'): QuiverError {
  return new QuiverError(
    kind,
    `the shard is not open: this process holds ${openShardsMax} shards, as many as its limit of open files (ulimit -n) allows; raise the limit or delete collections`,
  );
}

function nameOf(id: ShardId): string {
  if (!UID.test(id.collectionUid) || !Number.isInteger(id.shard) || id.shard < 0) {
    throw new QuiverError('internal', 'a shard id that cannot be a folder name', { details: { ...id } });
  }
  // Not path.join, which takes three microseconds of every read.
  return `${id.collectionUid}/${id.shard}`;
}
