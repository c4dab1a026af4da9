/** What a recovery must leave alone. */
export interface OtherProcesses {
  /** Whether another process still runs, and so may be uploading. */
  isAlive: (instanceId: string) => boolean;
  /** How long another process may take to create a collection. */
  creationMs: number;
  /** For how long writes of a process that is gone may still be under way. */
  writesMs: number;
  /** A collection that takes longer to open holds up no other; default: it does, because this process has the work. */
  patienceMs?: number;
  /** Aborted when this process stops: what was not started is left for the next time. */
  stop?: AbortSignal;
  /**
   * Called when the collections are open, and awaited: what follows may have to wait for a reshard to go on. Not once
   * `stop` is aborted.
   */
  onOpened?: () => Promise<void>;
}
