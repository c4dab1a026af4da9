import { QuiverError } from '../../shared/errors/quiver-error';
import { ANY_REPLICA, type ShardId, type WriteResult } from '../../shared/shard/shard-client';
import type { AnswerOf, ReadKind, RequestOf } from '../../shared/shard/shard-read';
import type { WriteSource } from '../../shared/shard/write-source';
import type { NodeCall, NodeShards } from '../rpc/node-shards';
import type { HostedReplica } from './hosted-replica';

/** Answers coordinators from the replicas on this node: those that it leads, and reads also from in-sync followers. */
export class ReplicaShards implements NodeShards {
  private readonly find: (id: ShardId, call: NodeCall) => Promise<HostedReplica>;
  private readonly hosted: (id: ShardId) => HostedReplica | null;
  private readonly optimizeOn: (node: string, id: ShardId) => void;

  /**
   * `find` waits, within the deadline, for a replica that is being opened, `hosted` does not. Errors: misrouted, unavailable.
   * `optimizeOn` asks another node to do for its replica what this one was asked.
   */
  constructor(options: { find: (id: ShardId, call: NodeCall) => Promise<HostedReplica>; hosted: (id: ShardId) => HostedReplica | null; optimizeOn: (node: string, id: ShardId) => void }) {
    this.find = options.find;
    this.hosted = options.hosted;
    this.optimizeOn = options.optimizeOn;
  }

  async write(id: ShardId, request: { source: WriteSource; payload: Buffer }, call: NodeCall): Promise<WriteResult> {
    const { replica, shard } = await this.find(id, call);
    // Once in the log it has to be applied, on every replica and at every start.
    const admitted = await shard.admit(request.payload);
    call.note?.begun();
    try {
      return await replica.write(request, call);
    } finally {
      admitted.release();
    }
  }

  async read<Kind extends ReadKind>(id: ShardId, kind: Kind, request: RequestOf<Kind>, call: NodeCall): Promise<AnswerOf<Kind>> {
    const hosted = call.epoch === ANY_REPLICA ? this.hosted(id) : await this.find(id, call);
    if (hosted === null) throw new QuiverError('misrouted', `shard ${id.shard} is not open on this node`);
    if (kind === 'optimize') {
      // Followers build indexes of their own, and one of them may lead next.
      const { replicas = [], primary = null } = hosted.replica.assignment ?? {};
      for (const node of replicas) if (node !== primary?.node) this.optimizeOn(node, id);
    }
    return hosted.replica.read(call, () => {
      call.note?.begun();
      return hosted.shard.read(kind, request);
    });
  }
}
