import { operationsInSteps } from '../../shared/shard/operation-codec';
import type {
  Hit,
  KeywordSearch,
  KeywordStatistics,
  ScanRequest,
  ShardId,
  ShardStatus,
  StoredItem,
  VectorSearch,
  VectorSearchResult,
  WriteOutcome,
} from '../../shared/shard/shard-client';
import type { WriteSource } from '../../shared/shard/write-source';
import { inSlices } from '../../shared/time/work-slices';
import type { NodeCall, NodeShards } from '../rpc/node-shards';
import type { ShardReader } from '../shard/shard';
import type { HostedReplica } from './hosted-replica';

/** Answers coordinators from the replicas that this node leads. */
export class ReplicaShards implements NodeShards {
  private readonly find: (id: ShardId, call: NodeCall) => Promise<HostedReplica>;

  /** `find` waits, within the deadline, for a replica that is being opened. Errors: misrouted, unavailable. */
  constructor(options: { find: (id: ShardId, call: NodeCall) => Promise<HostedReplica> }) {
    this.find = options.find;
  }

  async write(id: ShardId, request: { source: WriteSource; payload: Buffer }, call: NodeCall): Promise<WriteOutcome[]> {
    const { replica, shard } = await this.find(id, call);
    // Once in the log it has to be applied, on every replica and at every start.
    const admitted = await shard.admit(await inSlices(operationsInSteps(request.payload)));
    try {
      return await replica.write(request, call);
    } finally {
      admitted.release();
    }
  }

  search(id: ShardId, request: VectorSearch, call: NodeCall): Promise<VectorSearchResult> {
    return this.read(id, call, ({ search }) => search.search(request));
  }

  score(id: ShardId, request: { vector: Float32Array; externalIds: string[] }, call: NodeCall): Promise<Hit[]> {
    return this.read(id, call, ({ search }) => search.score(request));
  }

  keywordStatistics(id: ShardId, terms: string[], call: NodeCall): Promise<KeywordStatistics> {
    return this.read(id, call, ({ search }) => search.keywordStatistics(terms));
  }

  keywordSearch(id: ShardId, request: KeywordSearch, call: NodeCall): Promise<Hit[]> {
    return this.read(id, call, ({ search }) => search.keywordSearch(request));
  }

  fetch(id: ShardId, request: { externalIds: string[]; vectors: boolean }, call: NodeCall): Promise<(StoredItem | null)[]> {
    return this.read(id, call, ({ items }) => items.fetch(request));
  }

  scan(id: ShardId, request: ScanRequest, call: NodeCall): Promise<StoredItem[]> {
    return this.read(id, call, ({ items }) => items.scan(request));
  }

  async count(id: ShardId, call: NodeCall): Promise<number> {
    const hosted = await this.find(id, call);
    return hosted.replica.read(call, async () => hosted.shard.vectorCount);
  }

  async status(id: ShardId, call: NodeCall): Promise<ShardStatus> {
    const hosted = await this.find(id, call);
    return hosted.replica.read(call, () => hosted.shard.status());
  }

  private async read<Result>(id: ShardId, call: NodeCall, look: (reader: ShardReader) => Result | Promise<Result>): Promise<Result> {
    const hosted = await this.find(id, call);
    return hosted.replica.read(call, () => hosted.shard.read(look));
  }
}
