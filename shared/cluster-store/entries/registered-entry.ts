import { isQuiverError, QuiverError } from '../../base/errors/quiver-error';
import { type Logger, silentLogger } from '../../base/logs/logger';
import type { ClusterStore, StoreEvent } from '../cluster-store';
import { RetryBackoff } from '../../base/time/retry-backoff';
import type { SessionStore, StoreSession } from '../session-store';
import type { MemberName } from './member-name';

/** Follows since when an entry is there; it is as long as its session is kept, unless it is told otherwise. */
export interface EntryTenure {
  /** The entry was put under this session, perhaps once more. */
  begun(session: StoreSession): void;
  /** The entry is gone, or may be. */
  ended(): void;
}

/**
 * One entry of the cluster store that exists as long as its owner lives: with it, a process registers as a member. It
 * is put under a session. When the session is lost, or somebody deletes the entry, it is put again under a new session.
 * When the store was put back to a time before the entry was as it is now, it is put again under the same one.
 * While the store is away it keeps trying, without end. An entry that is there already is overwritten; with a name,
 * only if it is this member's.
 */
export class RegisteredEntry {
  private readonly store: ClusterStore & SessionStore;
  private readonly key: string;
  private readonly ttlSeconds: number;
  private readonly logger: Logger;
  private readonly name: Pick<MemberName, 'asked' | 'isFree' | 'isOurs' | 'isTaken'> | null;
  private readonly onTaken: (refusal: QuiverError) => void;
  private readonly tenure: EntryTenure | null;
  private readonly backoff = new RetryBackoff();
  private readonly closing = new AbortController();
  private readonly running: Promise<void>;
  private value: string;
  private session: StoreSession | null = null;
  /** Whether the store may hold another value than ours, or none. */
  private mustPut = true;
  /** Revision of our last put; 0: no put under the present session yet. */
  private putRevision = 0;
  /** Somebody else deleted the entry, most likely by ending its session. */
  private deleted = false;
  private stopWatch: (() => void) | null = null;
  private wake: () => void = () => undefined;

  /**
   * Starts at once. `value`: JSON text. `ttlSeconds`: how long the entry outlives a process that died, at least 2.
   * `onTaken` is called when another process keeps the name; until this one ends, it keeps trying.
   */
  constructor(options: {
    store: ClusterStore & SessionStore;
    key: string;
    value: string;
    ttlSeconds: number;
    logger?: Logger;
    name?: Pick<MemberName, 'asked' | 'isFree' | 'isOurs' | 'isTaken'>;
    onTaken?: (refusal: QuiverError) => void;
    tenure?: EntryTenure;
  }) {
    this.store = options.store;
    this.name = options.name ?? null;
    this.onTaken = options.onTaken ?? (() => undefined);
    this.tenure = options.tenure ?? null;
    this.key = options.key;
    this.value = options.value;
    this.ttlSeconds = options.ttlSeconds;
    this.logger = (options.logger ?? silentLogger).child({ key: options.key });
    this.running = this.run();
  }

  /** Whether the entry exists, as far as is known. It stays true while the store can't be reached. */
  get isRegistered(): boolean {
    return this.putRevision > 0 && this.session !== null && !this.session.isLost && !this.deleted;
  }

  /** Puts another value. Of several calls in a row, the last one counts. */
  update(value: string): void {
    this.value = value;
    this.mustPut = true;
    this.wake();
  }

  /** Removes the entry. If the store can't be reached, it is deleted after the TTL. Never rejects. */
  async close(): Promise<void> {
    this.closing.abort();
    this.wake();
    await this.running;
  }

  private async run(): Promise<void> {
    let failing = false;
    while (!this.closing.signal.aborted) {
      try {
        await this.settle();
        if (failing) this.logger.info({}, 'registered again');
        failing = false;
        this.backoff.reset();
        await this.somethingToDo();
      } catch (error) {
        if (!isQuiverError(error)) throw error;
        if (!failing) this.logger.warn({ error }, 'can not register at present');
        failing = true;
        await this.backoff.pause(this.closing.signal);
      }
    }
    this.stopWatch?.();
    this.tenure?.ended();
    await this.session?.close();
  }

  /** Makes the store hold what it should. */
  private async settle(): Promise<void> {
    const session = await this.liveSession();
    if (!this.mustPut) return;
    this.mustPut = false;
    try {
      this.putRevision = await this.put(session);
      this.tenure?.begun(session);
    } catch (error) {
      this.mustPut = true;
      throw error;
    }
    this.stopWatch ??= this.store.watch(this.key, this.putRevision, (events) => {
      for (const event of events) if (event.key === this.key) this.apply(event);
      if (this.deleted || this.mustPut) this.wake();
    });
  }

  /**
   * What is told of an earlier revision than our put is either older than that put, or the store was put back since.
   * Which of them is not known, and another put is right for both. What another process put later stays.
   */
  private apply(event: StoreEvent): void {
    if (event.type === 'delete' && event.revision > this.putRevision) this.deleted = true;
    else if (event.type === 'delete' || (event.revision < this.putRevision && event.value !== this.value))
      this.mustPut = true;
    if (this.deleted || this.mustPut) this.tenure?.ended();
  }

  /** Answers the revision of the put. Errors: already_exists when another process has the name; unavailable. */
  private async put(session: StoreSession): Promise<number> {
    const { key, value, name } = this;
    for (let standing = this.putRevision; ;) {
      const answer = this.store.transact(name === null ? [] : [{ key, revision: standing }], [
        { type: 'put', key, value, session: session.id },
      ]);
      const result = await (name === null ? answer : name.asked(answer));
      if (result.applied) {
        name?.isFree();
        return result.revision;
      }
      const [found] = result.current;
      if (found !== null && name?.isOurs(found.value) === false) {
        const refusal = name.isTaken(found.value);
        if (refusal !== null) this.onTaken(refusal);
        throw new QuiverError('already_exists', 'another process is registered under the name');
      }
      standing = found?.revision ?? 0;
    }
  }

  private async liveSession(): Promise<StoreSession> {
    if (this.session !== null && !this.session.isLost && !this.deleted) return this.session;
    const { session } = this;
    // Stop watching first: the end of the old session also deletes the entry, and that event may arrive after the next
    // put was sent.
    this.stopWatch?.();
    this.stopWatch = null;
    this.session = null;
    this.putRevision = 0;
    this.mustPut = true;
    this.deleted = false;
    if (session !== null) {
      this.logger.warn({ session: session.id }, 'the registration was lost');
      await session.close();
    }
    this.session = await this.store.openSession({ ttlSeconds: this.ttlSeconds });
    this.session.onLost(() => this.wake());
    return this.session;
  }

  private async somethingToDo(): Promise<void> {
    while (!this.closing.signal.aborted && !this.mustPut && this.isRegistered) {
      await new Promise<void>((wake) => {
        this.wake = wake;
      });
    }
  }
}
