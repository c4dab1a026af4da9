import type { ShardId } from '../../../shared/shard/shard-client';
import type { Beat, BeatAck } from './beat';
import { BeatReceiver } from './beat-receiver';
import { BeatSender, type Flushed } from './beat-sender';
import type { AppendAck, AppendMessage } from './messages';

/** Of quiet shards, and of those that nobody reads either, whose heartbeats come less often. */
const LANES = 2;

/** As Flushed, with a beat of each lane that has one. */
export interface FlushedLanes {
  beats: Beat[];
  alone: Flushed['alone'];
}

/**
 * The heartbeats to one node, put together by how often they come: in one set, those that come less often would join and leave
 * all the time. Each lane is a BeatSender of its own, with sessions of its own, and knows nothing of the other.
 */
export class SentLanes {
  readonly lanes: readonly BeatSender[];

  /** `areTwo`: the receiver tells lanes apart. Otherwise all share one. */
  constructor(options: { to: string; sessionPrefix: string; areTwo: boolean }) {
    const { to, sessionPrefix, areTwo } = options;
    this.lanes = Array.from({ length: areTwo ? LANES : 1 }, (_, lane) => new BeatSender({ to, sessionPrefix: `${sessionPrefix}.${lane}`, lane }));
  }

  /** As BeatSender.take. */
  take(shard: ShardId, message: AppendMessage, isUnread: boolean): boolean {
    return this.lanes[isUnread ? this.lanes.length - 1 : 0].take(shard, message);
  }

  flush(): FlushedLanes {
    const beats: Beat[] = [];
    const alone: Flushed['alone'] = [];
    for (const lane of this.lanes) {
      const flushed = lane.flush();
      if (flushed.beat !== null) beats.push(flushed.beat);
      alone.push(...flushed.alone);
    }
    return { beats, alone };
  }

  /** Each lane takes the answers of its own session only. */
  answered(ack: BeatAck): { shard: ShardId; ack: AppendAck }[] {
    for (const lane of this.lanes) if (lane.isOfSession(ack)) return lane.answered(ack);
    return [];
  }
}

/** The other end. */
export class ReceivedLanes {
  readonly lanes: readonly BeatReceiver[];

  constructor(options: { self: string; from: string }) {
    this.lanes = Array.from({ length: LANES }, () => new BeatReceiver(options));
  }

  /** As BeatReceiver.receive; null also for a lane that this program does not know. */
  receive(beat: Beat, deliver: (shard: ShardId, message: AppendMessage) => void): BeatAck | null {
    return this.lanes[beat.lane]?.receive(beat, deliver) ?? null;
  }

  /** As BeatReceiver.covers, of the lane whose beat is being delivered. */
  covers(shard: ShardId, ack: AppendAck): boolean {
    for (const lane of this.lanes) if (lane.covers(shard, ack)) return true;
    return false;
  }
}
