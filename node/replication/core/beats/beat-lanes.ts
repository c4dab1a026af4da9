import type { ShardId } from '../../../../shared/contract/shard/shard-client';
import type { Beat, BeatAck } from './beat';
import { BeatReceiver } from './beat-receiver';
import { BeatSender, type Flushed } from './beat-sender';
import type { AppendAck, AppendMessage } from '../messages';
import { PAUSES } from '../pace';

/** By pace: of quiet shards, of those that nobody reads either, and of those for which that has been so for long. */
const PACES = ['quiet', 'unread', 'dormant'] as const;
export const LANES = PACES.length;

/** As Flushed, with a beat of each lane that has one. */
export interface FlushedLanes {
  beats: Beat[];
  alone: Flushed['alone'];
}

/**
 * The heartbeats to one node, put together by how often they come: in one set, those that come less often would join
 * and leave all the time. Each lane is a BeatSender of its own, with sessions of its own, and knows nothing of the
 * other.
 */
export class SentLanes {
  readonly lanes: readonly BeatSender[];

  /** `count`: so many lanes the receiver tells apart. What would be in others shares the last. */
  constructor(options: { to: string; sessionPrefix: string; count: number }) {
    const { to, sessionPrefix, count } = options;
    this.lanes = Array.from(
      { length: count },
      (_, lane) =>
        new BeatSender({ to, sessionPrefix: `${sessionPrefix}.${lane}`, lane, pauseMs: PAUSES[PACES[lane]] }),
    );
  }

  /** As BeatSender.take. `pace`: as in the effect `sendAppend`. */
  take(shard: ShardId, message: AppendMessage, pace: (typeof PACES)[number] = 'quiet'): boolean {
    return this.lanes[Math.min(PACES.indexOf(pace), this.lanes.length - 1)].take(shard, message);
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
