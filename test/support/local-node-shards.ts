import type { NodeCall, NodeShards } from '../../node/rpc/node-shards';
import type { LocalShardClient } from '../../node/shard/local-shard-client';
import { QuiverError } from '../../shared/errors/quiver-error';
import { operationsFromBytes } from '../../shared/shard/operation-codec';
import type { KeywordSearch, ScanRequest, ShardId, VectorSearch, WriteOutcome } from '../../shared/shard/shard-client';
import type { WriteSource } from '../../shared/shard/write-source';

/** NodeShards over shards that are not replicated: the node leads all of them, under the epoch of the moment. */
export class LocalNodeShards implements NodeShards {
  /** What callers must have routed by. */
  epoch = 1;
  /** Writes as they came: the same one sent twice is there twice. */
  readonly received: WriteSource[] = [];
  private readonly known = new Map<string, Promise<WriteOutcome[]>>();

  constructor(private readonly client: LocalShardClient) {}

  async write(id: ShardId, request: { source: WriteSource; payload: Buffer }, call: NodeCall): Promise<WriteOutcome[]> {
    this.check(call);
    this.received.push(request.source);
    const name = `${id.collectionUid}/${id.shard}/${request.source.session}/${request.source.requestNumber}`;
    const outcomes = this.known.get(name) ?? this.client.write(id, operationsFromBytes(request.payload), call);
    this.known.set(name, outcomes);
    return outcomes;
  }

  async search(id: ShardId, request: VectorSearch, call: NodeCall) {
    this.check(call);
    return this.client.search(id, request, call);
  }

  async score(id: ShardId, request: { vector: Float32Array; externalIds: string[] }, call: NodeCall) {
    this.check(call);
    return this.client.score(id, request, call);
  }

  async keywordStatistics(id: ShardId, terms: string[], call: NodeCall) {
    this.check(call);
    return this.client.keywordStatistics(id, terms, call);
  }

  async keywordSearch(id: ShardId, request: KeywordSearch, call: NodeCall) {
    this.check(call);
    return this.client.keywordSearch(id, request, call);
  }

  async fetch(id: ShardId, request: { externalIds: string[]; vectors: boolean }, call: NodeCall) {
    this.check(call);
    return this.client.fetch(id, request, call);
  }

  async scan(id: ShardId, request: ScanRequest, call: NodeCall) {
    this.check(call);
    return this.client.scan(id, request, call);
  }

  async count(id: ShardId, call: NodeCall) {
    this.check(call);
    return this.client.count(id, call);
  }

  async status(id: ShardId, call: NodeCall) {
    this.check(call);
    return this.client.status(id, call);
  }

  private check(call: NodeCall): void {
    if (call.epoch !== this.epoch) throw new QuiverError('misrouted', `this node leads under epoch ${this.epoch}`);
  }
}
