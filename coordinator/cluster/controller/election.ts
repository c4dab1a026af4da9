import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import { type Logger, silentLogger } from '../../../shared/base/logs/logger';
import type { ClusterStore, Guard } from '../../../shared/cluster-store/cluster-store';
import { RetryBackoff } from '../../../shared/base/time/retry-backoff';
import type { SessionStore, StoreSession } from '../../../shared/cluster-store/session-store';

/**
 * Campaigns for a path of the cluster store. At most one candidate leads: the one whose entry is there. The entry is
 * bound to the leader's session, so another candidate takes over within the TTL and half a second after the leader
 * died, and at once when it resigns.
 *
 *     waiting ──► leader ──► deposed ──► waiting
 *
 * A leader may learn late that it was deposed (its process was frozen, the store out of reach). So every change that it
 * makes in the store must have `guard` among its guards; it then fails from the moment another may be elected.
 */
export class Election {
  private readonly store: ClusterStore & SessionStore;
  private readonly path: string;
  private readonly value: string;
  private readonly ttlSeconds: number;
  private readonly onElected: (guard: Guard) => void;
  private readonly onDeposed: () => void;
  private readonly logger: Logger;
  private readonly backoff = new RetryBackoff();
  private readonly closing = new AbortController();
  private running: Promise<void> | null = null;
  private session: StoreSession | null = null;
  private held: Guard | null = null;

  /**
   * `value`: JSON text that says who the leader is. `ttlSeconds`: at least 2. `onElected` and `onDeposed` are called
   * alternately; after `onDeposed` the candidate campaigns again.
   */
  constructor(options: {
    store: ClusterStore & SessionStore;
    path: string;
    value: string;
    ttlSeconds: number;
    onElected?: (guard: Guard) => void;
    onDeposed?: () => void;
    logger?: Logger;
  }) {
    this.store = options.store;
    this.path = options.path;
    this.value = options.value;
    this.ttlSeconds = options.ttlSeconds;
    this.onElected = options.onElected ?? (() => undefined);
    this.onDeposed = options.onDeposed ?? (() => undefined);
    this.logger = (options.logger ?? silentLogger).child({ path: options.path });
  }

  /** Campaigns from now on; idempotent. To be called once this process can do what the leader has to. */
  begin(): void {
    if (!this.closing.signal.aborted) this.running ??= this.run();
  }

  get isLeader(): boolean {
    return this.held !== null;
  }

  /** The guard that every transaction of the leader must include; null when this candidate is not the leader. */
  get guard(): Guard | null {
    return this.held;
  }

  /** Resigns, so that another candidate is elected at once. Never rejects. */
  async close(): Promise<void> {
    this.closing.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    while (!this.closing.signal.aborted) {
      try {
        await this.campaign(await this.liveSession());
        this.backoff.reset();
      } catch (error) {
        if (!isQuiverError(error)) throw error;
        this.logger.debug({ error }, 'the campaign failed');
        // The entry may exist although no answer said so. It is deleted with its session; the next session starts
        // afresh.
        if (error.kind === 'commit_unknown') await this.leaveSession();
        await this.backoff.pause(this.closing.signal);
      }
    }
    await this.leaveSession();
  }

  private async liveSession(): Promise<StoreSession> {
    if (this.session?.isLost) this.session = null;
    this.session ??= await this.store.openSession({ ttlSeconds: this.ttlSeconds });
    return this.session;
  }

  private async leaveSession(): Promise<void> {
    const { session } = this;
    this.session = null;
    await session?.close();
  }

  /** One attempt: leads until that ends, or waits for the end of the present leader. */
  private async campaign(session: StoreSession): Promise<void> {
    if (this.closing.signal.aborted) return;
    const change = { type: 'put' as const, key: this.path, value: this.value, session: session.id };
    const result = await this.store.transact([{ key: this.path, revision: 0 }], [change]);
    if (result.applied) return this.lead(session, result.revision);
    // Listing first lets the watch know the entry, even if the store no longer has the event of its end.
    const { entries, revision } = await this.store.list(this.path);
    if (entries.some((entry) => entry.key === this.path)) await this.pathChanges(session, revision);
  }

  private async lead(session: StoreSession, revision: number): Promise<void> {
    this.held = { key: this.path, revision };
    this.logger.info({ revision }, 'elected');
    this.onElected(this.held);
    try {
      await this.pathChanges(session, revision);
    } finally {
      this.held = null;
      this.logger.info({ revision }, 'deposed');
      this.onDeposed();
      await this.leaveSession();
    }
  }

  /** Resolves when the entry is changed or deleted after `revision`, the session is lost, or the election is closed. */
  private async pathChanges(session: StoreSession, revision: number): Promise<void> {
    let stop: (() => void) | null = null;
    let wake: () => void = () => undefined;
    try {
      await new Promise<void>((resolve) => {
        wake = resolve;
        stop = this.store.watch(this.path, revision, (events) => {
          if (events.some((event) => event.key === this.path)) wake();
        });
        session.onLost(wake);
        this.closing.signal.addEventListener('abort', wake);
        if (this.closing.signal.aborted) wake();
      });
    } finally {
      this.closing.signal.removeEventListener('abort', wake);
      (stop as (() => void) | null)?.();
    }
  }
}
