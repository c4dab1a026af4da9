import type { ShardId } from '../../../../shared/contract/shard/shard-client';
import { appendOf, type Beat, type BeatAck, type BeatMember, expectedAck } from './beat';
import type { AppendAck, AppendMessage } from '../messages';

/** More than a node holds replicas: a sender that adds members without end is told that nothing of it is known. */
const MEMBERS_MAX = 200_000;

/** A member, with the append and the answer that each beat stands for, but for the times. */
interface Received {
  member: BeatMember;
  message: AppendMessage;
  expected: AppendAck | null;
}

/** Takes beats of one node apart, and puts the answers of their members together. */
export class BeatReceiver {
  private readonly self: string;
  private readonly from: string;
  private session: string | null = null;
  private generation = 0;
  private readonly members = new Map<number, Received>();
  /** What is being delivered, when it was sent, and whether the answer was given that the beat's own can stand for. */
  private current: Received | null = null;
  private sentAt = 0;
  private isGiven = false;

  /** The names of the receiver and the sender. */
  constructor(options: { self: string; from: string }) {
    this.self = options.self;
    this.from = options.from;
  }

  /**
   * Delivers what the beat stands for, each append in turn, and answers it; null when a later one has overtaken it.
   * `deliver` passes to `covers` what a replica answers, before it returns. What it got is changed by the next beat.
   */
  receive(beat: Beat, deliver: (shard: ShardId, message: AppendMessage) => void): BeatAck | null {
    const { session, generation, sentAt } = beat;
    const ack: BeatAck = { session, generation, sentAt, excepted: [], isUnknown: false };
    if (!this.knows(beat)) {
      this.forget();
      return { ...ack, isUnknown: true };
    }
    if (beat.session === this.session && generation < this.generation) return null;
    this.advance(beat);
    this.sentAt = sentAt;
    for (const received of this.members.values()) {
      const { member, message } = received;
      this.current = received;
      this.isGiven = false;
      message.sentAt = sentAt;
      message.sharesSince = beat.sharesSince;
      deliver(member.shard, message);
      if (!this.isGiven) ack.excepted.push(member.id);
    }
    this.current = null;
    return ack;
  }

  /** Whether the beat's own answer says what a replica answers, so that it need not be sent. */
  covers(shard: ShardId, ack: AppendAck): boolean {
    if (this.current === null) return false;
    const { member, expected } = this.current;
    if (expected === null || member.shard.shard !== shard.shard || member.shard.collectionUid !== shard.collectionUid)
      return false;
    if (ack.sentAt !== this.sentAt || !isSameAck(expected, ack)) return false;
    this.isGiven = true;
    return true;
  }

  /** Whether the members are here that the beat builds on. */
  knows(beat: Beat): boolean {
    if (this.members.size + beat.joined.length > MEMBERS_MAX) return false;
    return beat.base === 0 || (beat.session === this.session && beat.base <= this.generation);
  }

  private forget(): void {
    this.session = null;
    this.members.clear();
  }

  private advance(beat: Beat): void {
    if (beat.session !== this.session) this.forget();
    this.session = beat.session;
    this.generation = beat.generation;
    for (const id of beat.left) this.members.delete(id);
    for (const member of beat.joined) {
      this.members.set(member.id, {
        member,
        message: appendOf(member, beat, this.from),
        expected: expectedAck(member, this.self, beat.sentAt),
      });
    }
  }
}

/** But for when what they answer was sent. */
function isSameAck(one: AppendAck, other: AppendAck): boolean {
  const { result: a } = one;
  const { result: b } = other;
  if (one.epoch !== other.epoch || one.awaited !== other.awaited) return false;
  if (one.replica.node !== other.replica.node || one.replica.store !== other.replica.store) return false;
  return a.type === 'match' && b.type === 'match' && a.match === b.match && a.agreed === b.agreed;
}
