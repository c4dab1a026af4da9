/**
 * A store whose entries can live as long as their owner: puts that name a session vanish with it (`session` of a put in
 * ClusterStore). Implemented over etcd, where a session is a lease.
 */
export interface SessionStore {
  /**
   * Opens a session and keeps it alive until it is closed, lost, or its store is closed (then it runs out by itself).
   * `ttlSeconds` (integer, at least 2: etcd's minimum with its default timings) is how long it outlives an owner that
   * says nothing more; its entries vanish up to half a second after that.
   * Errors: unavailable when the store can't be reached.
   */
  openSession(options: { ttlSeconds: number }): Promise<StoreSession>;
}

/**
 * One session. While the store can't be reached it is neither alive nor lost: it goes on being tried, and only the
 * store's own word that it is gone makes it lost.
 */
export interface StoreSession {
  readonly id: string;
  /** True once the store has said that the session, and every entry bound to it, is gone. */
  readonly isLost: boolean;
  /**
   * Calls `listener` once when the session is lost, never inside of this call, and at once (in a microtask) when it is
   * lost already. A session that its owner closed is not lost.
   */
  onLost(listener: () => void): void;
  /** Ends the session and removes its entries; when the store can't be reached they vanish after the TTL. Never rejects. */
  close(): Promise<void>;
}
