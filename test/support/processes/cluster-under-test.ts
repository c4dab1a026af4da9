/** A process of the service, for faults. */
export interface ProcessUnderTest {
  role: 'embedded' | 'coordinator' | 'node' | 'etcd';
  id: string;
  readonly pid: number;
  /** False also when it ended by itself. */
  readonly isRunning: boolean;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGTERM; resolves when it is gone. */
  stop(): Promise<void>;
  /** Starts it on its data; resolves when it runs, which may be before it serves. */
  start(): Promise<void>;
}

/** A network link that can fail: everything that goes to one process, or from it to the cluster store. */
export interface LinkUnderTest {
  name: string;
  /** Connections reset, new ones refused. */
  cut(): Promise<void>;
  /** Connections stay, nothing passes either way. */
  silence(): void;
  /** Nothing passes towards the process that is connected to. */
  swallowRequests(): void;
  /** Nothing passes back from it. */
  swallowAnswers(): void;
  /** Everything passes later by this much. */
  slow(delayMs: number): void;
  /** Ends any of these. */
  restore(): Promise<void>;
}

/** The disk of a process, as far as it syncs. */
export interface FailingDisk {
  /** Of the process. */
  name: string;
  /** No sync returns. */
  hang(): void;
  /** Each sync takes so much longer. */
  slow(milliseconds: number): void;
  /** Ends either. */
  restore(): void;
}

/** A running service, one process or many, that faults happen to while clients use it. */
export interface ClusterUnderTest {
  adminKey: string;
  /** Base addresses of all coordinators, whether they run or not. */
  coordinators(): string[];
  processes(): ProcessUnderTest[];
  links(): LinkUnderTest[];
  disks(): FailingDisk[];
  /**
   * Ends a node with SIGKILL and removes what it has of one shard, which `random`, from 0 to 1, chooses; only ends it
   * when no other replica holds what one of its own does. Missing: nothing of it can be spared.
   */
  loseShard?: (id: string, random: number) => Promise<void>;
  /** Resolves when every replica is in sync. */
  inSync(): Promise<void>;
  /** Resolves when everything runs and every shard is served and in order; rejects after a minute. */
  settled(): Promise<void>;
  /**
   * Where replicas of a shard hold something different, in sentences; to be asked when it is settled and nothing is
   * written.
   */
  differences(): Promise<string[]>;
  /** Sets of shards that are placed, though no collection, reshard or drop has them, by uid. */
  strays(): Promise<string[]>;
  /** What the cluster says of itself now, and the last words of every process. */
  evidence(): Promise<string>;
  /** Ends everything and removes the data. */
  destroy(): Promise<void>;
}

export type StartClusterUnderTest = () => Promise<ClusterUnderTest>;
