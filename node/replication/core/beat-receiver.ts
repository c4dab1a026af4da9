import type { ShardId } from '../../../shared/shard/shard-client';
import { appendOf, type Beat, type BeatAck, type BeatMember, expectedAck } from './beat';
import type { AppendAck, AppendMessage } from './messages';

/** More than a node holds replicas: a sender that adds members without end is told that nothing of it is known. */
const MEMBERS_MAX = 200_000;

/** Takes beats of one node apart, and puts the answers of their members together. */
export class BeatReceiver {
  private readonly self: string;
  private readonly from: string;
  private session: string | null = null;
  private generation = 0;
  private readonly members = new Map<number, BeatMember>();
  /** What is being delivered, the answer that a beat's own can stand for, and whether it was given. */
  private current: { shard: ShardId; expected: AppendAck | null; isGiven: boolean } | null = null;

  /** The names of the receiver and the sender. */
  constructor(options: { self: string; from: string }) {
    this.self = options.self;
    this.from = options.from;
  }

  /**
   * Delivers what the beat stands for, each append in turn, and answers it; null when a later one has overtaken it. `deliver`
   * passes to `covers` what a replica answers, before it returns.
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
    for (const member of this.members.values()) {
      const current = { shard: member.shard, expected: expectedAck(member, this.self, sentAt), isGiven: false };
      this.current = current;
      deliver(member.shard, appendOf(member, beat, this.from));
      if (!current.isGiven) ack.excepted.push(member.id);
    }
    this.current = null;
    return ack;
  }

  /** Whether the beat's own answer says what a replica answers, so that it need not be sent. */
  covers(shard: ShardId, ack: AppendAck): boolean {
    const { current } = this;
    if (current === null || current.expected === null || current.shard.shard !== shard.shard || current.shard.collectionUid !== shard.collectionUid) return false;
    if (!isSameAck(current.expected, ack)) return false;
    current.isGiven = true;
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
    for (const member of beat.joined) this.members.set(member.id, member);
  }
}

function isSameAck(one: AppendAck, other: AppendAck): boolean {
  const [a, b] = [one.result, other.result];
  if (one.epoch !== other.epoch || one.sentAt !== other.sentAt || one.awaited !== other.awaited) return false;
  if (one.replica.node !== other.replica.node || one.replica.store !== other.replica.store) return false;
  return a.type === 'match' && b.type === 'match' && a.match === b.match && a.agreed === b.agreed;
}
