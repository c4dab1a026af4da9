/** Times of the replication protocol in milliseconds, all of them measured by a process's own monotonic clock. */
export const TIMINGS = {
  /** How long an acknowledgement lets the primary serve reads: longer than a garbage collection, shorter than a client's patience. */
  leaseMs: 1500,
  /** The primary counts on that much less and the replica on that much more, for clocks that run at different speeds. */
  driftMargin: 0.15,
  /** A replica that acknowledged nothing for this long leaves the in-sync set: ten missed heartbeats, still within the lease. */
  replicaTimeoutMs: 1000,
  /** A replica that answers but stores nothing for this long leaves too: above the stalls that a healthy disk shows under load. */
  stallTimeoutMs: 3000,
  /** A replica has to have answered this recently to be taken into the in-sync set: three heartbeats. */
  freshMs: 300,
  /** A heartbeat carries the commit position and renews leases; a tenth of the replica time-out. */
  heartbeatMs: 100,
  /** An unanswered change of the assignment is sent again after this: well above the cluster store's slow answers. */
  changeRetryMs: 400,
} as const;

/** What may be under way at once; beyond it the sender waits or the write is refused. */
export const LIMITS = {
  /** Entries in one append: a stream message of small writes stays far below gRPC's usual 4 MiB. */
  appendEntriesMax: 128,
  /** Appends with entries that one peer has not stored: with more, the entries gather into fewer and larger ones. */
  appendsInFlightMax: 4,
  /** Entries not yet committed: about a second of small writes. */
  uncommittedEntriesMax: 2048,
  /** Bytes of payload not yet committed. */
  uncommittedBytesMax: 64 * 1024 * 1024,
  /** Entries in one apply: keeps the event loop responsive while a replica catches up. */
  applyEntriesMax: 256,
  /** Sessions whose writes are remembered: far more than coordinators that live at once. */
  sessionsMax: 1024,
} as const;

/** For how long from sending an append its acknowledgement lets the primary read. */
export const LEASE_TAKEN_MS = TIMINGS.leaseMs * (1 - TIMINGS.driftMargin);

/** For how long from receiving an append a replica keeps from becoming an active primary itself. */
export const LEASE_GRANTED_MS = TIMINGS.leaseMs * (1 + TIMINGS.driftMargin);
