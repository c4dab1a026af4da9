/**
 * A store whose entries can live as long as their owner: an entry put under a session is deleted with it (`session` of
 * a put in ClusterStore). Implemented over etcd, where a session is a lease.
 */
export interface SessionStore {
  /**
   * Opens a session and keeps it alive until it is closed or lost, or its store is closed (then it expires by itself).
   * `ttlSeconds` (integer, at least 2: etcd's minimum with its default timings) is how long the session outlives an
   * owner that no longer renews it. Its entries are deleted up to half a second later. Errors: unavailable when the
   * store can't be reached.
   */
  openSession(options: { ttlSeconds: number }): Promise<StoreSession>;
}

/**
 * One session. While the store can't be reached, it keeps trying and is neither alive nor lost. It is lost only when
 * the store says that it is gone.
 */
export interface StoreSession {
  readonly id: string;
  /** True once the store has said that the session, and every entry bound to it, is gone. */
  readonly isLost: boolean;
  /**
   * Calls `listener` once when the session is lost, never during this call. If it is lost already, the call follows at
   * once, in a microtask. A session that its owner closed is not lost.
   */
  onLost(listener: () => void): void;
  /**
   * Calls `listener` at once, and after each renewal, with the time until which the store keeps the session whatever
   * becomes of its owner: in milliseconds by the clock that all threads of the process share.
   */
  onKept(listener: (untilMs: number) => void): void;
  /**
   * Ends the session and deletes its entries. If the store can't be reached, they are deleted after the TTL. Never
   * rejects.
   */
  close(): Promise<void>;
}
