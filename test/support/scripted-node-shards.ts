import type { NodeCall, NodeShards } from '../../node/rpc/node-shards';
import { QuiverError } from '../../shared/errors/quiver-error';
import { operationsFromBytes } from '../../shared/shard/operation-codec';
import type { Hit, KeywordStatistics, ScanRequest, ShardId, ShardStatus, StoredItem, VectorSearch, VectorSearchResult, WriteOperation, WriteOutcome } from '../../shared/shard/shard-client';
import type { WriteSource } from '../../shared/shard/write-source';

/** A node whose answers a test writes; each write is applied once by its name, as a real node does. */
export class ScriptedNodeShards implements NodeShards {
  /** What each call does first: wait, fail. */
  before: (call: NodeCall) => Promise<void> = async () => undefined;
  hits: (request: VectorSearch) => Hit[] = () => [];
  items: (request: ScanRequest) => StoredItem[] = () => [];
  /** Calls of search and scan that have begun. */
  reads = 0;
  readonly sources: WriteSource[] = [];
  readonly applied: WriteOperation[][] = [];
  private readonly outcomes = new Map<string, WriteOutcome[]>();

  async write(_id: ShardId, request: { source: WriteSource; payload: Buffer }, call: NodeCall): Promise<WriteOutcome[]> {
    const { source } = request;
    this.sources.push(source);
    const name = `${source.session}/${source.requestNumber}`;
    if (!this.outcomes.has(name)) {
      const operations = operationsFromBytes(request.payload);
      await this.before(call);
      this.applied.push(operations);
      this.outcomes.set(name, operations.map(() => 'inserted'));
    }
    return this.outcomes.get(name) as WriteOutcome[];
  }

  async search(_id: ShardId, request: VectorSearch, call: NodeCall): Promise<VectorSearchResult> {
    this.reads += 1;
    await this.before(call);
    return { hits: this.hits(request), vectorCount: this.applied.length };
  }

  async scan(_id: ShardId, request: ScanRequest, call: NodeCall): Promise<StoredItem[]> {
    this.reads += 1;
    await this.before(call);
    return this.items(request);
  }

  async count(_id: ShardId, call: NodeCall): Promise<number> {
    await this.before(call);
    return this.applied.length;
  }

  score(): Promise<Hit[]> {
    return this.unscripted();
  }

  keywordStatistics(): Promise<KeywordStatistics> {
    return this.unscripted();
  }

  keywordSearch(): Promise<Hit[]> {
    return this.unscripted();
  }

  fetch(): Promise<(StoredItem | null)[]> {
    return this.unscripted();
  }

  status(): Promise<ShardStatus> {
    return this.unscripted();
  }

  private unscripted(): Promise<never> {
    return Promise.reject(new QuiverError('internal', 'not scripted'));
  }
}
