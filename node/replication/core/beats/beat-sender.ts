import type { ShardId } from '../../../../shared/contract/shard/shard-client';
import { type Beat, type BeatAck, type BeatMember, expectedAck, isAckExpected, isRepetition } from './beat';
import type { AppendAck, AppendMessage, LogPosition, RecordedMatch } from '../messages';

/** Members that one beat makes known, so that it fits into a frame; the others' heartbeats go alone once more. */
const JOINED_MAX = 500;
/** Beats whose answers are waited for: a replica that is silent for so many has left the in-sync set long ago. */
const SENT_MAX = 32;
/**
 * When most members of a set had no heartbeat together for so long, in milliseconds, they have left: several pauses of
 * its lane.
 */
const FEW_FOR_MS = 3_000;
/** What was said last is remembered of so many shards, and of all members. */
const KNOWN_MAX = 4096;

/** What is to be sent of the heartbeats that were taken: together, or each alone. */
export interface Flushed {
  beat: Beat | null;
  alone: { shard: ShardId; message: AppendMessage }[];
}

interface Known {
  member: BeatMember;
  isMember: boolean;
  /** What said the same as the member last, as it was handed in: a quiet shard hands in the same again. */
  prev: LogPosition;
  recorded: RecordedMatch[];
}

interface Taken {
  known: Known;
  shard: ShardId;
  message: AppendMessage;
}

/**
 * Abbreviates the heartbeats to one node. One that says the same as the shard's last one to this node is put together
 * with the others of its moment; a set of members that is agreed with the receiver stands for them.
 *
 * Membership needs no decision of its own: a beat's members are those whose heartbeats were given to it, so a shard
 * that writes, changes its epoch, gets other replicas or is closed is in no later beat, because it says something else
 * or nothing.
 *
 * An acknowledged beat counts for a member only if its own receiver says so: under the same session, for the same
 * generation and moment, and without an exception for that member.
 */
export class BeatSender {
  private readonly to: string;
  private readonly sessionPrefix: string;
  private readonly lane: number;
  private readonly fewForMs: number;
  private sessions = 0;
  private ids = 0;
  private session!: string;
  private generation!: number;
  /** The receiver is known to have had the members of this generation. */
  private acked!: number;
  /** By id. */
  private members!: Map<number, Known>;
  /** Changes of the set since `acked`, by id; null: it left. */
  private changes!: Map<number, { generation: number; member: BeatMember | null }>;
  /** By moment, what went out and was not answered. */
  private sent!: Map<number, { generation: number; members: BeatMember[] }>;
  /** The members as a list that is shared until they change. */
  private list!: BeatMember[];
  /** What each shard said last, by collection and number: a key of both would be made for each heartbeat. */
  private readonly known = new Map<string, Map<number, Known>>();
  private knownCount = 0;
  private taken: Taken[] = [];
  /** When most of the members had a heartbeat at one moment, or the set was made again. */
  private mostAt = -Infinity;

  /**
   * `to`: the receiver's name. `sessionPrefix`: unique, of this sender. `lane`: see Beat. `pauseMs`: the longest in
   * this lane.
   */
  constructor(options: { to: string; sessionPrefix: string; lane?: number; pauseMs?: number }) {
    this.to = options.to;
    this.lane = options.lane ?? 0;
    this.fewForMs = Math.max(FEW_FOR_MS, 2 * (options.pauseMs ?? 0));
    this.sessionPrefix = options.sessionPrefix;
    this.begin();
  }

  /** Takes what may be abbreviated, to be sent by the next `flush`; false: it is to be sent as it is. */
  take(shard: ShardId, message: AppendMessage): boolean {
    if (
      message.entries.length > 0 ||
      message.releasesLease ||
      message.withdrawsShare ||
      !isAckExpected(message, this.to)
    )
      return false;
    const known = this.known.get(shard.collectionUid)?.get(shard.shard);
    if (known !== undefined && isHandedInAgain(known, message)) {
      this.taken.push({ known, shard, message });
      return true;
    }
    return this.takeOther(shard, message, known);
  }

  private takeOther(shard: ShardId, message: AppendMessage, known: Known | undefined): boolean {
    if (known === undefined || !isRepetition(known.member, message)) {
      const { epoch, prev, commit, recorded, unshippedFrom } = message;
      if (this.knownCount >= KNOWN_MAX && this.knownCount > this.members.size * 2) this.forget();
      this.keep({
        member: { id: ++this.ids, shard, epoch, prev, commit, recorded, unshippedFrom },
        isMember: false,
        prev,
        recorded,
      });
      return false;
    }
    known.prev = message.prev;
    known.recorded = message.recorded;
    this.taken.push({ known, shard, message });
    return true;
  }

  /** What to send of what was taken since the last one: call it once the heartbeats of a moment are there. */
  flush(): Flushed {
    const { taken } = this;
    this.taken = [];
    const alone: Flushed['alone'] = [];
    if (taken.length === 0) return { beat: null, alone };
    const [together, ...others] = isOneMoment(taken) ? [taken] : momentsOf(taken);
    for (const { shard, message } of others.flat()) alone.push({ shard, message });
    // A few that came late, or are not as quiet as the others, don't change the set. But those that most have left for
    // good do.
    const { sentAt } = together[0].message;
    if (together.length * 2 < this.members.size && sentAt - this.mostAt < this.fewForMs)
      return { beat: null, alone: [...alone, ...together.map(({ shard, message }) => ({ shard, message }))] };
    this.mostAt = sentAt;
    return { beat: this.beatOf(together, alone), alone };
  }

  /** The answers that an answer stands for. */
  answered(ack: BeatAck): { shard: ShardId; ack: AppendAck }[] {
    if (!this.isOfSession(ack)) return [];
    if (ack.isUnknown) {
      this.begin();
      return [];
    }
    const sent = this.sent.get(ack.sentAt);
    if (sent === undefined || sent.generation !== ack.generation) return [];
    this.sent.delete(ack.sentAt);
    if (ack.generation > this.acked) {
      this.acked = ack.generation;
      for (const [id, { generation }] of this.changes) if (generation <= this.acked) this.changes.delete(id);
    }
    const answers: { shard: ShardId; ack: AppendAck }[] = [];
    for (const member of this.acknowledged(sent.members, new Set(ack.excepted)))
      answers.push({ shard: member.shard, ack: expectedAck(member, this.to, ack.sentAt)! });
    return answers;
  }

  isOfSession(ack: BeatAck): boolean {
    return ack.session === this.session;
  }

  acknowledged(members: BeatMember[], excepted: ReadonlySet<number>): BeatMember[] {
    return excepted.size === 0 ? members : members.filter(({ id }) => !excepted.has(id));
  }

  private begin(): void {
    this.session = `${this.sessionPrefix}-${++this.sessions}`;
    this.generation = 0;
    this.acked = 0;
    for (const known of this.members?.values() ?? []) known.isMember = false;
    this.members = new Map();
    this.changes = new Map();
    this.sent = new Map();
    this.list = [];
  }

  /** `alone` gets those for which there is no room. */
  private beatOf(together: Taken[], alone: Flushed['alone']): Beat {
    let isNew = false;
    let room = JOINED_MAX;
    for (const { member } of this.changes.values()) if (member !== null) room -= 1;
    let staying = 0;
    const next: Known[] = [];
    for (const one of together) {
      if (one.known.isMember) staying += 1;
      else if (room <= 0) {
        alone.push({ shard: one.shard, message: one.message });
        continue;
      } else {
        room -= 1;
        isNew = true;
      }
      next.push(one.known);
    }
    if (isNew || staying < this.members.size) this.change(next);
    const { sentAt, sharesSince } = together[0].message;
    this.sent.set(sentAt, { generation: this.generation, members: this.list });
    if (this.sent.size > SENT_MAX) this.sent.delete(this.sent.keys().next().value!);
    const beat: Beat = {
      lane: this.lane,
      session: this.session,
      generation: this.generation,
      base: this.acked,
      sentAt,
      sharesSince,
      joined: [],
      left: [],
    };
    for (const [id, { member }] of this.changes) {
      if (member === null) beat.left.push(id);
      else beat.joined.push(member);
    }
    return beat;
  }

  private change(next: Known[]): void {
    const generation = ++this.generation;
    const before = this.members;
    this.members = new Map(next.map((known) => [known.member.id, known]));
    for (const [id, known] of before) {
      if (this.members.has(id)) continue;
      known.isMember = false;
      this.changes.set(id, { generation, member: null });
    }
    for (const known of next) {
      if (known.isMember) continue;
      known.isMember = true;
      this.changes.set(known.member.id, { generation, member: known.member });
    }
    this.list = next.map(({ member }) => member);
  }

  private keep(known: Known): void {
    const { collectionUid, shard } = known.member.shard;
    let shards = this.known.get(collectionUid);
    if (shards === undefined) this.known.set(collectionUid, (shards = new Map()));
    if (!shards.has(shard)) this.knownCount += 1;
    shards.set(shard, known);
  }

  private forget(): void {
    for (const [collectionUid, shards] of this.known) {
      for (const [shard, { isMember }] of shards) {
        if (isMember) continue;
        shards.delete(shard);
        this.knownCount -= 1;
      }
      if (shards.size === 0) this.known.delete(collectionUid);
    }
  }
}

/** Whether the message says again what the member says, which `isRepetition` looks at in full. */
function isHandedInAgain({ member, prev, recorded }: Known, message: AppendMessage): boolean {
  if (message.prev !== prev || message.recorded !== recorded) return false;
  return (
    message.epoch === member.epoch && message.commit === member.commit && message.unshippedFrom === member.unshippedFrom
  );
}

function isOneMoment(taken: readonly Taken[]): boolean {
  const { sentAt, sharesSince } = taken[0].message;
  for (const { message } of taken) if (message.sentAt !== sentAt || message.sharesSince !== sharesSince) return false;
  return true;
}

/** The heartbeats of each moment that say the same of shares, the most first. */
function momentsOf(taken: Taken[]): Taken[][] {
  const moments: Taken[][] = [];
  for (const one of taken) {
    const { sentAt, sharesSince } = one.message;
    const moment = moments.find(([{ message }]) => message.sentAt === sentAt && message.sharesSince === sharesSince);
    if (moment === undefined) moments.push([one]);
    else moment.push(one);
  }
  return moments.length < 2 ? moments : moments.sort((a, b) => b.length - a.length);
}
