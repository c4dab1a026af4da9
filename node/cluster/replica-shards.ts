import { QuiverError } from '../../shared/errors/quiver-error';
import { ANY_REPLICA, type ShardId, type WriteOutcome } from '../../shared/shard/shard-client';
import type { AnswerOf, ReadKind, RequestOf } from '../../shared/shard/shard-read';
import type { WriteSource } from '../../shared/shard/write-source';
import type { NodeCall, NodeShards } from '../rpc/node-shards';
import type { HostedReplica } from './hosted-replica';

/** Answers coordinators from the replicas on this node: those that it leads, and reads also from in-sync followers. */
export class ReplicaShards implements NodeShards {
  private readonly find: (id: ShardId, call: NodeCall) => Promise<HostedReplica>;
  private readonly hosted: (id: ShardId) => HostedReplica | null;

  /** `find` waits, within the deadline, for a replica that is being opened, `hosted` does not. Errors: misrouted, unavailable. */
  constructor(options: { find: (id: ShardId, call: NodeCall) => Promise<HostedReplica>; hosted: (id: ShardId) => HostedReplica | null }) {
    this.find = options.find;
    this.hosted = options.hosted;
  }

  async write(id: ShardId, request: { source: WriteSource; payload: Buffer }, call: NodeCall): Promise<WriteOutcome[]> {
    const { replica, shard } = await this.find(id, call);
    // Once in the log it has to be applied, on every replica and at every start.
    const admitted = await shard.admit(request.payload);
    try {
      return await replica.write(request, call);
    } finally {
      admitted.release();
    }
  }

  async read<Kind extends ReadKind>(id: ShardId, kind: Kind, request: RequestOf<Kind>, call: NodeCall): Promise<AnswerOf<Kind>> {
    const hosted = call.epoch === ANY_REPLICA ? this.hosted(id) : await this.find(id, call);
    if (hosted === null) throw new QuiverError('misrouted', `shard ${id.shard} is not open on this node`);
    return hosted.replica.read(call, () => hosted.shard.read(kind, request));
  }
}
