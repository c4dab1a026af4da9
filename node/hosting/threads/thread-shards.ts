import { notInTime } from '../../../shared/contract/shard/not-in-time';
import { withOwnVector } from '../../../shared/contract/writes/own-vector';
import type { ShardId } from '../../../shared/contract/shard/shard-client';
import type { AnswerOf, ReadKind, RequestOf, VectorSearch } from '../../../shared/contract/shard/shard-read';
import { askProfiled } from '../../../shared/contract/shard/profiled-call';
import { SearchTurns } from '../../../shared/base/threads/search-turns';
import type { ThreadPeer } from '../../../shared/base/threads/thread-peer';
import type { Clock } from '../../../shared/base/time/clock';
import { sharedDeadline } from '../../../shared/base/time/shared-clock';
import type { NodeCall, ReadShards } from '../../replication/node-shards';
import type { SearchCounts } from './operation-reports';
import type { PermittedResult, ReplicaViews } from './replica-views';

/** What a thread asks the main thread of a node. */
export const READ = 'reads.read';
export const PROFILED_READ = 'reads.profiledRead';

/**
 * The replicas of this node on a thread that answers reads. Vectors are searched here, in the shards' shared memory,
 * where that is enough and the replica's permit holds; else the main thread answers.
 */
export class ThreadShards implements ReadShards {
  private readonly main: Pick<ThreadPeer, 'ask'>;
  private readonly views: Pick<ReplicaViews, 'search'>;
  private readonly clock: Clock;
  private readonly searched: (by: keyof SearchCounts) => void;
  private readonly turns: SearchTurns;

  constructor(parts: {
    main: Pick<ThreadPeer, 'ask'>;
    views: Pick<ReplicaViews, 'search'>;
    clock: Clock;
    searched: (by: keyof SearchCounts) => void;
  }) {
    this.main = parts.main;
    this.views = parts.views;
    this.clock = parts.clock;
    this.searched = parts.searched;
    this.turns = new SearchTurns(parts.clock);
  }

  /** As NodeShards; the answer itself where nothing has to be waited for. */
  read<Kind extends ReadKind>(
    id: ShardId,
    kind: Kind,
    request: RequestOf<Kind>,
    call: NodeCall,
  ): AnswerOf<Kind> | Promise<AnswerOf<Kind>> {
    if (kind !== 'search') return this.ask(id, kind, request, call);
    const found = this.turns.take((nowMs) => {
      // It waited, and nobody waits for it any more.
      if (nowMs >= call.deadlineMs) throw notInTime(id);
      call.profiled?.begun();
      return this.views.search(id, request as VectorSearch, call.epoch);
    });
    return found instanceof Promise
      ? found.then((later) => this.answer(later, id, kind, request, call))
      : this.answer(found, id, kind, request, call);
  }

  private answer<Kind extends ReadKind>(
    found: PermittedResult | null,
    id: ShardId,
    kind: Kind,
    request: RequestOf<Kind>,
    call: NodeCall,
  ): AnswerOf<Kind> | Promise<AnswerOf<Kind>> {
    if (found === null) {
      this.searched('passedOn');
      return this.ask(id, kind, request, call);
    }
    this.searched(found.isPrimary ? 'primary' : 'follower');
    return found.result as AnswerOf<Kind>;
  }

  private ask<Kind extends ReadKind>(
    id: ShardId,
    kind: Kind,
    request: RequestOf<Kind>,
    { epoch, deadlineMs, profiled }: NodeCall,
  ): Promise<AnswerOf<Kind>> {
    const asked = [id, kind, withOwnVector(request), epoch, sharedDeadline(deadlineMs, this.clock)];
    return profiled === undefined
      ? this.main.ask(READ, ...asked)
      : askProfiled(() => this.main.ask(PROFILED_READ, ...asked), profiled, this.clock);
  }
}
