import { isQuiverError } from '../errors/quiver-error';
import { type Logger, silentLogger } from '../logs/logger';
import type { ClusterStore } from '../cluster-store/cluster-store';
import { RetryBackoff } from '../time/retry-backoff';
import type { SessionStore, StoreSession } from '../cluster-store/session-store';

/**
 * One entry of the cluster store that is there for as long as its owner lives: how a process says that it is a member.
 * It is put under a session; when the session is lost, or somebody deletes the entry, it is put again under a new one.
 * While the store is away it keeps trying, for ever. The entry of an earlier life of the same owner is overwritten.
 */
export class RegisteredEntry {
  private readonly store: ClusterStore & SessionStore;
  private readonly key: string;
  private readonly ttlSeconds: number;
  private readonly logger: Logger;
  private readonly backoff = new RetryBackoff();
  private readonly closing = new AbortController();
  private readonly running: Promise<void>;
  private value: string;
  private session: StoreSession | null = null;
  /** Whether the store may hold another value than ours, or none. */
  private mustPut = true;
  /** Revision of our last put; 0: none under the present session. */
  private putRevision = 0;
  /** Somebody else ended the entry, most likely by ending its session. */
  private deleted = false;
  private stopWatch: (() => void) | null = null;
  private wake: () => void = () => undefined;

  /** Begins at once. `value`: JSON text. `ttlSeconds`: how long the entry outlives a process that died, at least 2. */
  constructor(options: { store: ClusterStore & SessionStore; key: string; value: string; ttlSeconds: number; logger?: Logger }) {
    this.store = options.store;
    this.key = options.key;
    this.value = options.value;
    this.ttlSeconds = options.ttlSeconds;
    this.logger = (options.logger ?? silentLogger).child({ key: options.key });
    this.running = this.run();
  }

  /** Whether the entry is there, as far as is known: it stays true while the store can't be reached. */
  get isRegistered(): boolean {
    return this.putRevision > 0 && this.session !== null && !this.session.isLost && !this.deleted;
  }

  /** Puts another value; of several at once the last counts. */
  update(value: string): void {
    this.value = value;
    this.mustPut = true;
    this.wake();
  }

  /** Removes the entry; when the store can't be reached it vanishes after the TTL. Never rejects. */
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
    await this.session?.close();
  }

  /** Brings the store to what it should hold. */
  private async settle(): Promise<void> {
    const session = await this.liveSession();
    if (!this.mustPut) return;
    this.mustPut = false;
    try {
      const result = await this.store.transact([], [{ type: 'put', key: this.key, value: this.value, session: session.id }]);
      if (result.applied) this.putRevision = result.revision;
    } catch (error) {
      this.mustPut = true;
      throw error;
    }
    this.stopWatch ??= this.store.watch(this.key, this.putRevision, (events) => {
      for (const event of events) if (event.key === this.key && event.type === 'delete' && event.revision > this.putRevision) this.deleted = true;
      if (this.deleted) this.wake();
    });
  }

  private async liveSession(): Promise<StoreSession> {
    if (this.session !== null && !this.session.isLost && !this.deleted) return this.session;
    const { session } = this;
    // The end of the old session deletes the entry, too, which may be heard of after the next put is on its way.
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
