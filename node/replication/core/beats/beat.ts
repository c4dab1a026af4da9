import type { ShardId } from '../../../../shared/contract/shard/shard-client';
import type { AppendAck, AppendMessage, LogPosition, RecordedMatch } from '../messages';

/**
 * A heartbeat of one shard to one node as it is repeated while nothing happens: all of it but when it is sent. Never
 * changes; what a shard says next, if it is anything else, is another member.
 */
export interface BeatMember {
  /** Its number in the session. */
  id: number;
  shard: ShardId;
  epoch: number;
  prev: LogPosition;
  commit: number;
  recorded: RecordedMatch[];
  /** As in AppendMessage. */
  unshippedFrom?: number | undefined;
}

/**
 * The heartbeats of many shards to one node, of one moment, in one message: an abbreviation, and nothing else. It
 * stands for exactly the appends that its members were made of, with its own `sentAt` and `sharesSince`. The receiver
 * takes them one by one, as if each had come alone.
 */
export interface Beat {
  /** Of beats that come as often as this one: what is said of the set and the session is said within the lane. */
  lane: number;
  /** Of the sender: another for each stream, and whenever the receiver has lost its members. Unique. */
  session: string;
  /** Generation of the set of members. It rises with every change; the same number is always the same set. */
  generation: number;
  /** The receiver needs the members of this generation, or of one since; 0: none. */
  base: number;
  sentAt: number;
  sharesSince: number;
  /** What makes the set of `generation` of that of `base`, and of each one in between. */
  joined: BeatMember[];
  left: number[];
}

/** The answers to a beat: of each member but the `excepted` ones exactly that of `expectedAck`. */
export interface BeatAck {
  session: string;
  generation: number;
  sentAt: number;
  excepted: number[];
  /** The receiver does not have the members that the beat builds on: it took nothing of it. */
  isUnknown: boolean;
}

/** The append that a beat stands for. `from`: the node that sends it. */
export function appendOf(member: BeatMember, beat: Pick<Beat, 'sentAt' | 'sharesSince'>, from: string): AppendMessage {
  const { epoch, prev, commit, recorded, unshippedFrom } = member;
  const append = {
    epoch,
    from,
    prev,
    commit,
    sentAt: beat.sentAt,
    releasesLease: false,
    sharesSince: beat.sharesSince,
    withdrawsShare: false,
    recorded,
    entries: [],
  };
  return unshippedFrom === undefined ? append : { ...append, unshippedFrom };
}

/** Whether `expectedAck` is not null. */
export function isAckExpected({ prev, recorded }: Pick<BeatMember, 'prev' | 'recorded'>, node: string): boolean {
  for (const { replica, match } of recorded) if (replica.node === node) return match === prev.sequence;
  return false;
}

/** How the replica at `node` answers if it has the whole log, and nothing else to say; null if that can't be told. */
export function expectedAck(
  member: Pick<BeatMember, 'epoch' | 'prev' | 'recorded'>,
  node: string,
  sentAt: number,
): AppendAck | null {
  const { epoch, prev } = member;
  for (const { replica, match } of member.recorded) {
    if (replica.node === node)
      return match === prev.sequence
        ? { epoch, replica, sentAt, awaited: 0, result: { type: 'match', match, agreed: match } }
        : null;
  }
  return null;
}

/** Whether the message says again what the member says. */
export function isRepetition(
  member: BeatMember,
  message: Pick<AppendMessage, 'epoch' | 'prev' | 'commit' | 'recorded' | 'unshippedFrom'>,
): boolean {
  if (
    member.epoch !== message.epoch ||
    member.commit !== message.commit ||
    member.unshippedFrom !== message.unshippedFrom ||
    !isSamePosition(member.prev, message.prev)
  )
    return false;
  if (member.recorded === message.recorded) return true;
  if (member.recorded.length !== message.recorded.length) return false;
  return member.recorded.every((one, i) => {
    const other = message.recorded[i];
    return (
      one.match === other.match &&
      one.epoch === other.epoch &&
      one.replica.node === other.replica.node &&
      one.replica.store === other.replica.store
    );
  });
}

function isSamePosition(one: LogPosition, other: LogPosition): boolean {
  return one.sequence === other.sequence && one.epoch === other.epoch;
}
