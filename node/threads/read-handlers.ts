import type { ShardId } from '../../shared/shard/shard-client';
import type { AnswerOf, ReadKind, RequestOf } from '../../shared/shard/shard-read';
import { answerNoted } from '../../shared/threads/noted-question';
import type { ThreadHandlers } from '../../shared/threads/thread-peer';
import type { Clock } from '../../shared/time/clock';
import { ownDeadline } from '../../shared/time/shared-clock';
import type { NodeCall, NodeShards } from '../rpc/node-shards';
import type { RunningLimit } from '../rpc/running-limit';
import { NOTED_READ, READ } from './thread-shards';

/** What the main thread of a node does for the threads that answer reads. `limit`: of what runs here at once, for all threads. */
export function readHandlers(parts: { shards: Pick<NodeShards, 'read'>; limit: RunningLimit; clock: Clock }): ThreadHandlers {
  const { shards, limit, clock } = parts;
  const read = async <Kind extends ReadKind>(id: ShardId, kind: Kind, request: RequestOf<Kind>, call: NodeCall): Promise<AnswerOf<Kind>> => {
    limit.take(1);
    try {
      return await shards.read(id, kind, request, call);
    } finally {
      limit.giveBack(1);
    }
  };
  return {
    [READ]: <Kind extends ReadKind>(id: ShardId, kind: Kind, request: RequestOf<Kind>, epoch: number, deadline: number) => read(id, kind, request, { epoch, deadlineMs: ownDeadline(deadline, clock) }),
    [NOTED_READ]: <Kind extends ReadKind>(id: ShardId, kind: Kind, request: RequestOf<Kind>, epoch: number, deadline: number) =>
      answerNoted((note) => read(id, kind, request, { epoch, deadlineMs: ownDeadline(deadline, clock), note }), { kind, shard: id.shard, clock }),
  };
}
