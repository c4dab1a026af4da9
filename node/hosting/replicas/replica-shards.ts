import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { ANY_REPLICA, type ShardId, type WriteResult } from '../../../shared/contract/shard/shard-client';
import { type AnswerOf, type ReadKind, type RequestOf, SHARED_READS } from '../../../shared/contract/shard/shard-read';
import type { ReplicaPurge } from '../../../shared/contract/shard/shard-purge';
import type { WriteSource } from '../../../shared/contract/writes/write-source';
import type { NodeCall, NodeShards } from '../../replication/node-shards';
import type { HostedReplica } from './hosted-replica';

/** Answers coordinators from the replicas on this node: those that it leads, and reads also from in-sync followers. */
export class ReplicaShards implements NodeShards {
  private readonly find: (id: ShardId, call: NodeCall) => Promise<HostedReplica>;
  private readonly hosted: (id: ShardId) => HostedReplica | null;
  private readonly optimizeOn: (node: string, id: ShardId) => void;
  private readonly purgeOn: (node: string, id: ShardId, start: boolean) => Promise<ReplicaPurge | null>;

  /**
   * `find` waits, within the deadline, for a replica that is being opened, `hosted` does not. Errors: misrouted,
   * unavailable. `optimizeOn` and `purgeOn` ask another node to do for its replica what this one was asked.
   */
  constructor(options: {
    find: (id: ShardId, call: NodeCall) => Promise<HostedReplica>;
    hosted: (id: ShardId) => HostedReplica | null;
    optimizeOn: (node: string, id: ShardId) => void;
    purgeOn: ReplicaShards['purgeOn'];
  }) {
    this.find = options.find;
    this.hosted = options.hosted;
    this.optimizeOn = options.optimizeOn;
    this.purgeOn = options.purgeOn;
  }

  async write(id: ShardId, request: { source: WriteSource; payload: Buffer }, call: NodeCall): Promise<WriteResult> {
    const { replica, shard } = await this.find(id, call);
    // Once in the log it has to be applied, on every replica and at every start.
    const admitted = await shard.admit(request.payload);
    call.profiled?.begun();
    try {
      return await replica.write(request, call);
    } finally {
      admitted.release();
    }
  }

  async read<Kind extends ReadKind>(
    id: ShardId,
    kind: Kind,
    request: RequestOf<Kind>,
    call: NodeCall,
  ): Promise<AnswerOf<Kind>> {
    const hosted = call.epoch === ANY_REPLICA ? this.hosted(id) : await this.find(id, call);
    if (hosted === null) throw new QuiverError('misrouted', `shard ${id.shard} is not open on this node`);
    if (kind === 'optimize') {
      // Followers build indexes of their own, and one of them may lead next.
      const { replicas = [], primary = null } = hosted.replica.assignment ?? {};
      for (const node of replicas) if (node !== primary?.node) this.optimizeOn(node, id);
    }
    // The cluster itself asks each shard for its status now and then, for which followers need no shares.
    if (SHARED_READS.has(kind)) hosted.replica.noteRead();
    const answer = await hosted.replica.read(call, () => {
      call.profiled?.begun();
      return hosted.shard.read(kind, request);
    });
    if (kind === 'purge')
      return (await this.purgesOf(
        hosted,
        answer as ReplicaPurge[],
        (request as RequestOf<'purge'>).start,
      )) as AnswerOf<Kind>;
    return answer;
  }

  /** That of this replica, and those of the others. */
  private async purgesOf(
    { replica, spec }: HostedReplica,
    [own]: ReplicaPurge[],
    start: boolean,
  ): Promise<ReplicaPurge[]> {
    const { replicas = [], primary = null } = replica.assignment ?? {};
    const others = replicas.filter((node) => node !== primary?.node);
    const found = await Promise.all(others.map((node) => this.purgeOn(node, spec, start).catch(() => null)));
    const unknown: ReplicaPurge = {
      ...own,
      state: 'unknown',
      step: '',
      bytesBefore: 0,
      bytesAfter: 0,
      unshipped: 0,
      error: 'the node did not answer',
    };
    return [{ ...own, node: primary?.node ?? '' }, ...others.map((node, i) => ({ ...(found[i] ?? unknown), node }))];
  }
}
