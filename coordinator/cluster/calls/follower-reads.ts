import { shardKey } from '../../../shared/cluster-store/entries/members';
import type { ErrorKind } from '../../../shared/base/errors/quiver-error';
import { ANY_REPLICA, type ShardId } from '../../../shared/contract/shard/shard-client';
import { type AnswerOf, type ReadKind, type RequestOf, SHARED_READS } from '../../../shared/contract/shard/shard-read';
import type { Clock } from '../../../shared/base/time/clock';
import type { Addressed } from './node-link';
import type { NodeLinks } from './node-links';
import type { OpenCall } from './open-calls';
import { isLost, kindOf } from './routed-calls';
import type { ShardRoute } from './shard-routes';

/** Errors that say that this follower can't answer now. */
const DECLINING: ReadonlySet<ErrorKind | undefined> = new Set<ErrorKind>(['misrouted', 'unavailable', 'overloaded']);

/**
 * So many reads of this client have to be under way at the primary's node before others are asked: below that the node
 * has processors to spare, and only it answers without waiting for what was just written.
 */
const BUSY_READS = 4;

/** A follower that declined is left alone for so long: it may be out of the in-sync set, or behind. */
const DECLINED_PAUSE_MS = 1_000;

/**
 * A follower whose node has not sent anything for so long is passed over for the primary, at the latest after twice
 * this time. A node that works on a read says so several times a second, and a second is short beside the time in which
 * one that stands still is noticed.
 */
const SILENT_MS = 1_000;
const SILENT_PAUSE_MS = 5_000;
/** The share of a read's time after which a follower that lives is passed over, too, for this shard. */
const SHARE_OF_TIME = 0.5;

/** Most followers that are remembered to be left alone; what was remembered first is forgotten first. */
const PAUSED_MAX = 10_000;

/**
 * Sends reads to in-sync followers while the primary of their shard is busy. The calls that are under way at a node
 * tell how busy it is: a node that is slower, or has more to do, holds more of them.
 */
export class FollowerReads {
  /** Until when followers are left alone, by address for all of its shards, and by address and shard. */
  private readonly paused = new Map<string, number>();

  constructor(private readonly parts: { links: NodeLinks; clock: Clock }) {}

  /** The address of the follower to ask; null: the primary is to be asked. */
  choose(id: ShardId, kind: ReadKind, route: ShardRoute | null): string | null {
    if (route?.followers === undefined || !SHARED_READS.has(kind)) return null;
    const { links } = this.parts;
    const busy = links.readsUnderWay(route.address);
    if (busy < BUSY_READS) return null;
    const { followers } = route;
    const one = followers[Math.floor(Math.random() * followers.length)];
    return links.readsUnderWay(one) < busy && !this.isPaused(one) && !this.isPaused(keyOf(one, id)) ? one : null;
  }

  /**
   * What the follower answers, as an object; null if it declines, fails or is silent, and the primary has to be asked,
   * or if `open` is over.
   */
  async read<Kind extends ReadKind>(
    address: string,
    id: ShardId,
    kind: Kind,
    request: RequestOf<Kind>,
    open: OpenCall,
  ): Promise<{ answer: AnswerOf<Kind> } | null> {
    const { clock } = this.parts;
    let timer: NodeJS.Timeout | undefined;
    try {
      const link = this.parts.links.to(address);
      let heard = link.readsHeard;
      const to: Addressed = { id, epoch: ANY_REPLICA, deadlineMs: open.deadlineMs };
      if (open.profiled !== undefined)
        to.noted = { profiled: open.profiled, context: open.profiled.send({ node: null, address, role: 'follower' }) };
      const attempt = link.read(to, kind, request);
      return await new Promise<{ answer: AnswerOf<Kind> } | null>((done, fail) => {
        attempt.answer.then((answer) => done({ answer }), fail);
        // It lives, and yet this read may hang there: some of the time is the primary's.
        const giveUpMs = clock.monotonicMs() + (open.deadlineMs - clock.monotonicMs()) * SHARE_OF_TIME;
        const judge = (): void => {
          if (link.readsHeard === heard) this.pause(address, SILENT_PAUSE_MS);
          else if (clock.monotonicMs() >= giveUpMs) this.pause(keyOf(address, id), SILENT_PAUSE_MS);
          else return void (heard = link.readsHeard);
          open.cancel();
        };
        // What has come while this process stood still is read first.
        timer = setInterval(() => setImmediate(() => timer !== undefined && judge()), SILENT_MS);
        open.cancel = () => {
          attempt.cancel();
          done(null);
        };
      });
    } catch (error) {
      // What is wrong with the read itself, the primary says, too.
      if (isLost(error) || DECLINING.has(kindOf(error))) this.pause(keyOf(address, id), DECLINED_PAUSE_MS);
      return null;
    } finally {
      clearInterval(timer);
      timer = undefined;
    }
  }

  private isPaused(key: string): boolean {
    const until = this.paused.get(key);
    if (until === undefined) return false;
    if (this.parts.clock.monotonicMs() < until) return true;
    this.paused.delete(key);
    return false;
  }

  private pause(key: string, forMs: number): void {
    this.paused.delete(key);
    this.paused.set(key, this.parts.clock.monotonicMs() + forMs);
    for (const oldest of this.paused.keys()) {
      if (this.paused.size <= PAUSED_MAX) return;
      this.paused.delete(oldest);
    }
  }
}

function keyOf(address: string, id: ShardId): string {
  return `${address}/${shardKey(id)}`;
}
