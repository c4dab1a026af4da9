/** Names a write, so that it is applied once however often it is sent. */
export interface WriteSource {
  /** The coordinator's session: another one each time it starts. */
  session: string;
  /** Rises with each write of the session to the shard; kept when the same write is sent again. */
  requestNumber: number;
  /** Every write of the session to the shard with a lower number is finished or given up: it must not be applied any more. */
  settledBelow: number;
}
