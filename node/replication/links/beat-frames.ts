import type { Beat, BeatAck, BeatMember } from '../core/beats/beat';
import type { LogPosition } from '../core/messages';

/** Beats as in proto/quiver/v1/replication.proto, loaded as replication-frames.ts says. */
export interface WireBeat extends Omit<Beat, 'joined'> {
  joined: WireBeatMember[];
}

interface WireBeatMember {
  id: number;
  collectionUid: string;
  shard: number;
  epoch: number;
  prev: LogPosition | null;
  commit: number;
  recorded: { replica: { node: string; store: string } | null; epoch: number; match: number }[];
  unshippedFrom: number;
}

/** The same in both forms. */
export type WireBeatAck = BeatAck;

export function beatToWire({ joined, ...beat }: Beat): WireBeat {
  return {
    ...beat,
    joined: joined.map(({ shard, unshippedFrom = 0, ...member }) => ({ ...member, ...shard, unshippedFrom })),
  };
}

export function beatFromWire({ joined, ...beat }: WireBeat): Beat {
  return { ...beat, joined: joined.map(memberFromWire) };
}

function memberFromWire({
  id,
  collectionUid,
  shard,
  epoch,
  prev,
  commit,
  recorded,
  unshippedFrom,
}: WireBeatMember): BeatMember {
  return {
    id,
    shard: { collectionUid, shard },
    epoch,
    prev: prev ?? { epoch: 0, sequence: 0 },
    commit,
    recorded: recorded.flatMap((one) =>
      one.replica === null ? [] : [{ replica: one.replica, epoch: one.epoch, match: one.match }],
    ),
    ...(unshippedFrom > 0 && { unshippedFrom }),
  };
}
