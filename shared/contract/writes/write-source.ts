/** Identifies a write, so that it is applied once however often it is sent. */
export interface WriteSource {
  /** The coordinator's session: a new one at each start. */
  session: string;
  /** Rises with each write of the session to the shard. Stays the same when a write is sent again. */
  requestNumber: number;
  /**
   * Every write of the session to the shard with a lower number is finished or was given up, and must not be applied
   * any more.
   */
  settledBelow: number;
}
