import type {
  ClusterStore,
  Guard,
  StoreChange,
  StoreEntry,
  StoreEvent,
  TransactionResult,
} from '../../../shared/cluster-store/cluster-store';

/** A cluster store that a test can look into and step between: everything is passed on to `inner`. */
export class InterceptedClusterStore implements ClusterStore {
  /** Changes of every transaction so far. */
  readonly transactions: StoreChange[][] = [];
  /** Prefixes of which all entries were listed. */
  readonly listed: string[] = [];
  /** Runs before each transaction is passed on; throw to make it fail. */
  beforeTransact: (changes: StoreChange[]) => Promise<void> = async () => undefined;
  /** Runs after each transaction that was passed on; throw to lose its answer. */
  afterTransact: (changes: StoreChange[]) => Promise<void> = async () => undefined;

  constructor(private readonly inner: ClusterStore) {}

  get(key: string): Promise<StoreEntry | null> {
    return this.inner.get(key);
  }

  list(prefix: string): Promise<{ entries: StoreEntry[]; revision: number }> {
    this.listed.push(prefix);
    return this.inner.list(prefix);
  }

  async transact(guards: Guard[], changes: StoreChange[]): Promise<TransactionResult> {
    await this.beforeTransact(changes);
    this.transactions.push(changes);
    const result = await this.inner.transact(guards, changes);
    await this.afterTransact(changes);
    return result;
  }

  watch(prefix: string, afterRevision: number, listener: (events: StoreEvent[]) => void): () => void {
    return this.inner.watch(prefix, afterRevision, listener);
  }

  close(): Promise<void> {
    return this.inner.close();
  }
}
