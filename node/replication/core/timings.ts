/** Times of the replication protocol in milliseconds, all measured by a process's own monotonic clock. */
export const TIMINGS = {
  /**
   * How long an acknowledgement allows the primary to serve reads: longer than a garbage collection, shorter than
   * clients wait.
   */
  leaseMs: 1500,
  /**
   * The primary counts on this share less and the replica on this share more, because clocks run at different speeds.
   */
  driftMargin: 0.15,
  /**
   * A replica that acknowledges nothing for this long leaves the in-sync set: ten missed heartbeats, still within the
   * lease.
   */
  replicaTimeoutMs: 1000,
  /**
   * A replica that answers but stores nothing for this long leaves, too: longer than a healthy disk stalls under load.
   */
  stallTimeoutMs: 3000,
  /**
   * A disk that takes this long, more often than not, for what it has to store next is slow: ten times a healthy one
   * under load. Every write waits for it.
   */
  slowStoreMs: 100,
  /** For how long it has to be so: longer than a compaction or a backup beside it. */
  slowForMs: 10_000,
  /**
   * A slow replica is left out of the in-sync set until it was not slow for this long, so that it does not come and go.
   */
  slowOutMs: 60_000,
  /**
   * A primary with a slow disk hands over only so long after the cluster store last confirmed something of it, and four
   * times as long as it takes for what it stores: writes wait meanwhile, and would wait for an outage of the cluster
   * store.
   */
  slowHandoverMs: 1000,
  /** So often it asks whether the cluster store is there for that. */
  slowAskMs: 10_000,
  /**
   * A primary whose own log stores nothing for this long gives its role to another: later than a follower leaves for
   * the same reason, so that a stall that all feel does not change who leads.
   */
  ownStallTimeoutMs: 4000,
  /**
   * So does a primary that can't commit and hears none of the others for this long. The session of a node that died is
   * over by then, so that it can't be chosen.
   */
  desertedTimeoutMs: 4500,
  /** A replica must have answered this recently to be added to the in-sync set: three heartbeats. */
  freshMs: 300,
  /**
   * A replica that catches up is given up, as far as keeping the log for it goes, when it stored nothing for this long:
   * longer than it takes to open what was copied to it.
   */
  catchUpPauseMs: 30_000,
  /** A heartbeat carries the commit position and renews leases; a tenth of the replica time-out. */
  heartbeatMs: 100,
  /**
   * The same while nothing happens, because most shards of a large cluster are quiet at any moment. A follower's share
   * in the lease (SHARE_TAKEN_MS) outlasts two of these pauses with time to spare for a primary that is busy with
   * reads. The heartbeats of a node's quiet shards fall on the same moments, and share messages.
   */
  quietHeartbeatMs: 200,
  /** A shard is quiet when its log has not grown for this long and everybody knows all of it. */
  quietAfterMs: 1000,
  /**
   * The same while nobody reads a quiet shard either, as most: half a lease, so that a first read finds one, though a
   * heartbeat is late. Followers have no shares meanwhile. Three quiet pauses, so that the moments of both fall
   * together.
   */
  unreadHeartbeatMs: 600,
  /**
   * A shard is unread when its primary has heard of no read for this long. Reads that only followers answer end with
   * it, and the next one wakes the primary: seldom enough for that not to matter.
   */
  unreadAfterMs: 30_000,
  /**
   * The same while a quiet shard has been neither read nor written for long, as nearly all of a cluster of many: with a
   * hundred nodes, what such shards say is most of what a node does. It has no lease between two of these, so a first
   * read waits for a round trip. A follower that fell silent is noticed as much later than from an unread shard, if
   * nobody reads or writes: seconds after its session, by which all others notice. Eight unread pauses, so that the
   * moments of both fall together.
   */
  dormantHeartbeatMs: 4800,
  /**
   * A shard is dormant when it was unread and unwritten for this long: who comes back within minutes finds it awake.
   */
  dormantAfterMs: 180_000,
  /**
   * An unanswered change of the assignment is sent again after this time, which is well above slow answers of the
   * cluster store. A refused one is requested again after this time, too, then after twice as long each time.
   */
  changeRetryMs: 400,
  /**
   * The longest of these pauses: what is waited for is a session that begins again, and it costs availability
   * meanwhile.
   */
  refusedPauseMaxMs: 1600,
  /**
   * While the cluster store is behind what a replica knows, only a repair of the map helps, which takes seconds at
   * least.
   */
  behindRetryMs: 5000,
} as const;

/** How much may be under way at once; beyond it the sender waits or the write is refused. */
export const LIMITS = {
  /** Entries in one append: a stream message of small writes stays far below gRPC's default of 4 MiB. */
  appendEntriesMax: 128,
  /**
   * Appends with entries that one peer has not stored yet. At the limit, entries collect into fewer and larger appends.
   */
  appendsInFlightMax: 4,
  /** Entries that are not committed yet: about a second of small writes. */
  uncommittedEntriesMax: 2048,
  /** Bytes of payload that are not committed yet. */
  uncommittedBytesMax: 64 * 1024 * 1024,
  /** Entries in one apply: keeps the event loop responsive while a replica catches up. */
  applyEntriesMax: 256,
  /**
   * Sessions whose writes are remembered in memory: four times as many as with the records (settled-writes.ts), which
   * after a restart are all there is. So it is those that bound how many sessions may write at the same time.
   */
  sessionsMax: 1024,
} as const;

/** For how long after sending an append its acknowledgement allows the primary to serve reads. */
export const LEASE_TAKEN_MS = TIMINGS.leaseMs * (1 - TIMINGS.driftMargin);

/** For how long after receiving an append a replica does not become an active primary itself. */
export const LEASE_GRANTED_MS = TIMINGS.leaseMs * (1 + TIMINGS.driftMargin);

/**
 * For how long a follower answers reads with a share in its primary's lease: seven heartbeats, and so short that the
 * share of a follower that fell silent is over for the primary before it leaves the in-sync set (replicaTimeoutMs).
 */
export const SHARE_TAKEN_MS = 700;

/** For how long the primary counts on that, from when it received the acknowledgement that earned the share. */
export const SHARE_GIVEN_MS = (SHARE_TAKEN_MS * (1 + TIMINGS.driftMargin)) / (1 - TIMINGS.driftMargin);
