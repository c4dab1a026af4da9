import type { ShardId } from '../../../shared/contract/shard/shard-client';
import type { AnswerOf, ReadKind, RequestOf } from '../../../shared/contract/shard/shard-read';
import { answerProfiled } from '../../../shared/contract/shard/profiled-call';
import type { ThreadHandlers } from '../../../shared/base/threads/thread-peer';
import type { Clock } from '../../../shared/base/time/clock';
import { ownDeadline } from '../../../shared/base/time/shared-clock';
import type { NodeCall, NodeShards } from '../../replication/node-shards';
import type { RunningLimit } from '../services/running-limit';
import { PROFILED_READ, READ } from './thread-shards';

/**
 * What the main thread of a node does for the threads that answer reads. `limit`: of what runs here at once, for all
 * threads.
 */
export function readHandlers(parts: {
  shards: Pick<NodeShards, 'read'>;
  limit: RunningLimit;
  clock: Clock;
}): ThreadHandlers {
  const { shards, limit, clock } = parts;
  const read = async <Kind extends ReadKind>(
    id: ShardId,
    kind: Kind,
    request: RequestOf<Kind>,
    call: NodeCall,
  ): Promise<AnswerOf<Kind>> => {
    limit.take(1);
    try {
      return await shards.read(id, kind, request, call);
    } finally {
      limit.giveBack(1);
    }
  };
  return {
    [READ]: <Kind extends ReadKind>(
      id: ShardId,
      kind: Kind,
      request: RequestOf<Kind>,
      epoch: number,
      deadline: number,
    ) => read(id, kind, request, { epoch, deadlineMs: ownDeadline(deadline, clock) }),
    [PROFILED_READ]: <Kind extends ReadKind>(
      id: ShardId,
      kind: Kind,
      request: RequestOf<Kind>,
      epoch: number,
      deadline: number,
    ) =>
      answerProfiled(
        (profiled) => read(id, kind, request, { epoch, deadlineMs: ownDeadline(deadline, clock), profiled }),
        {
          kind,
          shard: id.shard,
          clock,
        },
      ),
  };
}
