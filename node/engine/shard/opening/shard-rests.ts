import type { Shard } from '../shard';
import { IdleShards } from './idle-shards';
import { blankFacts, type RestFacts, type RestNote, readRest, writeRest } from './rest-note';
import { type RestingShard, RestingShards } from './resting-shards';
import type { ShardLogger } from '../shard-options';
import type { ShardLifecycle } from './shard-lifecycle';
import { slowInterval } from '../removal/slow-interval';
import { QuiverError } from '../../../../shared/base/errors/quiver-error';
import { makeStableFolder } from '../../../../shared/base/files/stable-folder';
import type { ShardSpec } from '../../../../shared/contract/shard/shard-client';

export interface RestOptions {
  /** A shard that is not used for so long is closed until its next use, in milliseconds; 0: none ever is. */
  afterMs: number;
  /** Beyond so many open ones, the longest unused are closed before that time. */
  openMax: number;
  /** The clock of these times; default: the system's monotonic one. */
  monotonicMs?: (() => number) | undefined;
}

/** How often shards are looked at, at most. */
const CHECK_MS = 10_000;
/** Looks in the time after which a shard is closed. */
const LOOKS = 5;
/** While there is room for more files, nothing is closed that was used within this time: whoever used it may go on. */
const PRESSED_MS = 2_000;
/** Where there is none. */
const SHORT_MS = 100;
/** How often it is looked for one then, and for how long: some seconds. */
const SHORT_CHECK_MS = 25;
const SHORT_CHECKS = 200;
/** When there are too many, so large a part of them is closed at once. */
const PART = 0.1;
/** Closing waits for the disk, so some are closed at once. */
const CLOSED_AT_ONCE = 4;
/** So many more are opened while others are being closed; beyond, opening waits for that. */
const AHEAD = 64;

/** Closes shards that are not used, and knows what there is to know of them until they are opened again. */
export class ShardRests {
  readonly resting: RestingShards;
  private readonly idle = new IdleShards();
  /** Of which it is being found out whether they may be closed. */
  private readonly asked = new Set<string>();
  /** What was known of those that are open again. */
  private readonly known = new WeakMap<Shard, RestingShard>();
  /** Whose records were all compared with their checksums in the life of this process. */
  private readonly verified = new Set<string>();
  private making: Promise<void> | null = null;
  private resters: Promise<void> | null = null;
  private isEnded = false;
  private readonly nowMs: () => number;
  private readonly endLooks: () => void;

  constructor(
    private readonly parts: RestOptions & {
      lifecycles: Map<string, ShardLifecycle<Shard>>;
      folderOf: (spec: ShardSpec) => string;
      noteClosed: (shard: Shard, folder: string) => Promise<void>;
      /** Opens one that must not stay closed. Never throws. */
      wake: (name: string) => void;
      wallMs: () => number;
      logger: ShardLogger;
    },
  ) {
    this.resting = new RestingShards(parts.wallMs);
    this.nowMs = parts.monotonicMs ?? (() => performance.now());
    const { afterMs } = parts;
    this.endLooks = this.isOn
      ? slowInterval(Math.max(1_000, Math.min(CHECK_MS, afterMs / LOOKS)), () => this.look())
      : () => undefined;
  }

  get isOn(): boolean {
    return this.parts.afterMs > 0;
  }

  /** What was noted of a shard when it was closed, if only its use would tell more. */
  noted(spec: ShardSpec): RestNote | null {
    return this.isOn && spec.seed === undefined ? readRest(this.parts.folderOf(spec), spec) : null;
  }

  /**
   * Makes a shard of which nothing is made but its folder, and what is noted there, until somebody uses it. On stable
   * storage when it resolves. Errors: storage_failed; then it is not there.
   */
  async makeBlank(name: string, spec: ShardSpec): Promise<void> {
    const folder = this.parts.folderOf(spec);
    const facts = blankFacts(this.parts.wallMs());
    const made = makeStableFolder(folder)
      .then(() => writeRest(folder, spec, { facts, isBlank: true }))
      .catch((error: unknown) => {
        throw new QuiverError('storage_failed', `the shard can't be made: ${(error as Error).message}`, {
          cause: error,
        });
      });
    const resting: RestingShard = {
      spec,
      facts,
      isNoted: true,
      isStable: true,
      isBlank: true,
      made,
      closed: made.catch(() => undefined),
    };
    this.resting.put(name, resting);
    try {
      await made;
    } catch (error) {
      if (this.resting.get(name) === resting) this.resting.delete(name);
      throw error;
    }
  }

  /** The shard was opened again of which this was known: as long as it is only read, it still holds. */
  wasResting(shard: Shard, known: RestingShard): void {
    this.known.set(shard, known);
  }

  isVerified(name: string): boolean {
    return this.verified.has(name);
  }

  /**
   * Before one more is opened. `filesFor`: how many can be open by the limit of files; then it waits until some others
   * are closed, as long as some may be soon. Others may take the room before who waited goes on: look again.
   */
  async room(filesFor: number): Promise<void> {
    const { lifecycles, openMax } = this.parts;
    if (!this.isOn || lifecycles.size < Math.min(openMax, filesFor)) return;
    this.making ??= this.rest(Math.min(openMax, filesFor) * (1 - PART), PRESSED_MS, true).finally(
      () => (this.making = null),
    );
    if (lifecycles.size >= openMax + AHEAD) await this.making;
    for (let looks = 0; looks < SHORT_CHECKS && lifecycles.size >= filesFor && !this.isEnded; looks += 1) {
      await this.rest(filesFor - 1, SHORT_MS, false);
      if (lifecycles.size >= filesFor) await new Promise((wake) => setTimeout(wake, SHORT_CHECK_MS));
    }
  }

  /** Closes a place for good, and notes how its shard was. Errors: those of closing. */
  async end(lifecycle: ShardLifecycle<Shard>): Promise<void> {
    const { noteClosed, folderOf } = this.parts;
    const shard = lifecycle.open;
    const facts =
      shard !== null && this.isOn && this.idle.isSmall(shard) ? await this.factsOf(shard).catch(() => null) : null;
    await lifecycle.end('closed');
    if (lifecycle.open === null) return;
    await noteClosed(lifecycle.open, folderOf(lifecycle.spec));
    if (
      facts === null ||
      lifecycle.open !== shard ||
      !shard.isSaved ||
      shard.lastOperation !== facts.status.lastOperation ||
      this.isStillNoted(shard)
    )
      return;
    await this.note(lifecycle.spec, facts);
  }

  /** Closes no more, and waits for those that are being closed. */
  async close(): Promise<void> {
    this.isEnded = true;
    this.endLooks();
    await this.making;
    await this.resters;
    await this.resting.settled();
  }

  /** Closes those of few items that were not used for so long. */
  restUnused(leastMs: number): Promise<void> {
    const nowMs = this.nowMs();
    const due: string[] = [];
    for (const [name, { open }] of this.parts.lifecycles) {
      if (open !== null && this.idle.idleMs(open, nowMs) >= leastMs && this.mayRest(open) && this.idle.isSmall(open))
        due.push(name);
    }
    return this.restAll(due);
  }

  private look(): void {
    for (const name of this.resting.due()) this.parts.wake(name);
    this.resters ??= this.restUnused(this.parts.afterMs).finally(() => (this.resters = null));
  }

  /** Closes them, some at once, while `isEnough` answers false. */
  private async restAll(names: readonly string[], isEnough = (): boolean => false): Promise<void> {
    let next = 0;
    const closeNext = async (): Promise<void> => {
      while (next < names.length && !isEnough()) await this.restOne(names[next++]);
    };
    await Promise.all(Array.from({ length: CLOSED_AT_ONCE }, closeNext));
  }

  /** Closes the longest unused until no more than `most` are open. */
  private async rest(most: number, idleMs: number, onlySmall: boolean): Promise<void> {
    const { lifecycles } = this.parts;
    const nowMs = this.nowMs();
    const idle: { name: string; shard: Shard; ms: number }[] = [];
    for (const [name, { open }] of lifecycles) {
      const ms = open === null ? 0 : this.idle.idleMs(open, nowMs);
      if (open !== null && ms >= idleMs) idle.push({ name, shard: open, ms });
    }
    idle.sort((a, b) => b.ms - a.ms);
    const due = idle
      .filter(({ shard }) => this.mayRest(shard) && (!onlySmall || this.idle.isSmall(shard)))
      .map(({ name }) => name);
    await this.restAll(due, () => lifecycles.size <= most || this.isEnded);
  }

  private mayRest(shard: Shard): boolean {
    return this.idle.mayRest(shard, this.parts.wallMs());
  }

  /** Closes one until its next use, unless it is used meanwhile. Never rejects. */
  private async restOne(name: string): Promise<void> {
    const lifecycle = this.parts.lifecycles.get(name);
    const shard = lifecycle?.open;
    if (lifecycle === undefined || shard === null || shard === undefined || this.asked.has(name)) return;
    this.asked.add(name);
    try {
      const { uses } = shard;
      const facts = await this.factsOf(shard);
      // In a turn of its own: whoever has got the shard by then has begun to use it.
      await new Promise<void>((done) =>
        setImmediate(() =>
          done(facts === null || shard.uses !== uses ? undefined : this.closeIfUnused(name, lifecycle, shard, facts)),
        ),
      );
    } catch (error) {
      this.parts.logger.warn({ error, shard: name }, 'a shard that is not used stays open');
    } finally {
      this.asked.delete(name);
    }
  }

  /** From here on whoever asks for it has it opened again. At once, so that nobody gets it meanwhile. */
  private closeIfUnused(
    name: string,
    lifecycle: ShardLifecycle<Shard>,
    shard: Shard,
    facts: RestFacts,
  ): Promise<void> | undefined {
    const { lifecycles } = this.parts;
    if (this.isEnded || lifecycles.get(name) !== lifecycle || lifecycle.open !== shard || !this.mayRest(shard))
      return undefined;
    const isSmall = this.idle.isSmall(shard);
    lifecycles.delete(name);
    if (shard.isVerified) this.verified.add(name);
    const { seed: _, ...spec } = lifecycle.spec;
    const isBlank = shard.isOnlyRead && this.known.get(shard)?.isBlank === true;
    const resting: RestingShard = { spec, facts, isNoted: false, isStable: false, isBlank, closed: Promise.resolve() };
    const closed = this.closeUnused(lifecycle, shard, resting, isSmall).catch((error: unknown) => {
      this.parts.logger.error(
        { error, shard: name },
        'a shard that is not used failed to close; its next use opens it from its records',
      );
    });
    this.resting.put(name, Object.assign(resting, { closed }));
    return closed;
  }

  private async closeUnused(
    lifecycle: ShardLifecycle<Shard>,
    shard: Shard,
    resting: RestingShard,
    isSmall: boolean,
  ): Promise<void> {
    shard.isResting = true;
    await lifecycle.end('closed');
    await this.parts.noteClosed(shard, this.parts.folderOf(lifecycle.spec));
    resting.isStable = shard.isSaved;
    if (isSmall && shard.isSaved)
      resting.isNoted = this.isStillNoted(shard) || (await this.note(lifecycle.spec, resting.facts));
  }

  /**
   * What was noted before it was opened holds, because it was only read. That a shard is blank stays noted until its
   * records are made.
   */
  private isStillNoted(shard: Shard): boolean {
    const known = this.known.get(shard);
    return shard.isOnlyRead && (known?.isNoted === true || known?.isBlank === true);
  }

  /** Whether that could be done. */
  private async note(spec: ShardSpec, facts: RestFacts): Promise<boolean> {
    try {
      await writeRest(this.parts.folderOf(spec), spec, { facts, isBlank: false });
      return true;
    } catch (error) {
      // Without it, the next start opens the shard.
      this.parts.logger.warn(
        { error, collectionUid: spec.collectionUid, shard: spec.shard },
        'what is known of a closed shard could not be noted',
      );
      return false;
    }
  }

  /** null: it must stay open. */
  private async factsOf(shard: Shard): Promise<RestFacts | null> {
    const known = this.known.get(shard);
    if (known !== undefined && shard.isOnlyRead) return shard.restsUntilMs === -Infinity ? null : known.facts;
    const { status, checkpoint, marks } = await shard.observe();
    const { restsUntilMs } = shard;
    if (restsUntilMs === -Infinity) return null;
    return {
      status: { ...status, memoryBytes: 0 },
      // It is closed with one where anything is not in the last.
      checkpoint: checkpoint.unsavedChanges > 0 ? { atMs: this.parts.wallMs(), unsavedChanges: 0 } : checkpoint,
      marks,
      expiresAtMs: restsUntilMs === Infinity ? null : restsUntilMs,
    };
  }
}
