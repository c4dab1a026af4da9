import type { NodeCall, NodeShards } from '../../../node/replication/node-shards';
import type { LocalShardClient } from '../../../node/engine/shard/local-shard-client';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { operationsFromBytes } from '../../../shared/contract/writes/operation-codec';
import type { ShardId, WriteResult } from '../../../shared/contract/shard/shard-client';
import type { AnswerOf, ReadKind, RequestOf } from '../../../shared/contract/shard/shard-read';
import type { WriteSource } from '../../../shared/contract/writes/write-source';

/** NodeShards over shards that are not replicated: the node leads all of them, under the epoch of the moment. */
export class LocalNodeShards implements NodeShards {
  /** What callers must have routed by. */
  epoch = 1;
  /** Writes as they came: the same one sent twice is there twice. */
  readonly received: WriteSource[] = [];
  private readonly known = new Map<string, Promise<WriteResult>>();

  constructor(private readonly client: LocalShardClient) {}

  async write(id: ShardId, request: { source: WriteSource; payload: Buffer }, call: NodeCall): Promise<WriteResult> {
    this.check(call);
    this.received.push(request.source);
    const name = `${id.collectionUid}/${id.shard}/${request.source.session}/${request.source.requestNumber}`;
    const outcomes = this.known.get(name) ?? this.client.write(id, operationsFromBytes(request.payload), call);
    this.known.set(name, outcomes);
    return outcomes;
  }

  async read<Kind extends ReadKind>(
    id: ShardId,
    kind: Kind,
    request: RequestOf<Kind>,
    call: NodeCall,
  ): Promise<AnswerOf<Kind>> {
    this.check(call);
    return this.client.read(id, kind, request, call);
  }

  private check(call: NodeCall): void {
    if (call.epoch !== this.epoch) throw new QuiverError('misrouted', `this node leads under epoch ${this.epoch}`);
  }
}
