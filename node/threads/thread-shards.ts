import type { ServedTimes, ShardNote } from '../../shared/shard/call-notes';
import { withOwnVector } from '../../shared/shard/own-vector';
import type { ShardId } from '../../shared/shard/shard-client';
import type { AnswerOf, ReadKind, RequestOf, VectorSearch } from '../../shared/shard/shard-read';
import type { ThreadPeer } from '../../shared/threads/thread-peer';
import type { Clock } from '../../shared/time/clock';
import { sharedDeadline } from '../../shared/time/shared-clock';
import type { NodeCall, NodeShards } from '../rpc/node-shards';
import type { SearchCounts } from './operation-reports';
import type { ReplicaViews } from './replica-views';

/** Time of searches in one round of the event loop, after which others wait for the next: every connection has its turn. */
const TURN_MS = 8;

/** What a thread asks the main thread of a node. */
export const READ = 'reads.read';
export const NOTED_READ = 'reads.notedRead';

/**
 * The replicas of this node on a thread that answers reads. Vectors are searched here, in the shards' shared memory, where
 * that is enough and the replica's permit holds; else the main thread answers.
 */
export class ThreadShards implements Pick<NodeShards, 'read'> {
  private readonly main: Pick<ThreadPeer, 'ask'>;
  private readonly views: Pick<ReplicaViews, 'search'>;
  private readonly clock: Clock;
  private readonly searched: (by: keyof SearchCounts) => void;
  private spentMs = 0;

  constructor(parts: { main: Pick<ThreadPeer, 'ask'>; views: Pick<ReplicaViews, 'search'>; clock: Clock; searched: (by: keyof SearchCounts) => void }) {
    this.main = parts.main;
    this.views = parts.views;
    this.clock = parts.clock;
    this.searched = parts.searched;
  }

  read<Kind extends ReadKind>(id: ShardId, kind: Kind, request: RequestOf<Kind>, call: NodeCall): Promise<AnswerOf<Kind>> {
    return kind === 'search' ? this.search(id, kind, request, call) : this.ask(id, kind, request, call);
  }

  private async search<Kind extends ReadKind>(id: ShardId, kind: Kind, request: RequestOf<Kind>, call: NodeCall): Promise<AnswerOf<Kind>> {
    while (this.spentMs >= TURN_MS) await new Promise((next) => setImmediate(next));
    const startMs = this.clock.monotonicMs();
    call.note?.begun();
    const found = this.views.search(id, request as VectorSearch, call.epoch);
    if (this.spentMs === 0) setImmediate(() => (this.spentMs = 0));
    // Never nothing: the next round is asked for once.
    this.spentMs += Math.max(Number.MIN_VALUE, this.clock.monotonicMs() - startMs);
    if (found === null) {
      this.searched('passedOn');
      return this.ask(id, kind, request, call);
    }
    this.searched(found.isPrimary ? 'primary' : 'follower');
    return found.result as AnswerOf<Kind>;
  }

  private ask<Kind extends ReadKind>(id: ShardId, kind: Kind, request: RequestOf<Kind>, { epoch, deadlineMs, note }: NodeCall): Promise<AnswerOf<Kind>> {
    const asked = [id, kind, withOwnVector(request), epoch, sharedDeadline(deadlineMs, this.clock)];
    return note === undefined ? this.main.ask(READ, ...asked) : this.askNoted(asked, note);
  }

  private async askNoted<Answer>(asked: unknown[], note: ShardNote): Promise<Answer> {
    const sentMs = this.clock.monotonicMs();
    const { answer, served } = await this.main.ask<{ answer: Answer; served: ServedTimes | null }>(NOTED_READ, ...asked);
    // On its way to the other thread and back it waits, too.
    if (served !== null) note.served = { waitMs: sentMs - note.startMs + served.waitMs, runMs: served.runMs };
    return answer;
  }
}
