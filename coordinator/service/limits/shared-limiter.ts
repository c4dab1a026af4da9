import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type RateDecision, type RateLimiter, UNLIMITED } from './rate-limiter';
import { limitOf } from './subject';

/** Owners that are cached. Keys are few, and strangers' addresses are limited elsewhere. */
const OWNERS_KEPT = 10_000;

/** Asks the coordinator that owns a subject; null if it can't be reached in time. */
export type AskOwner = (coordinatorId: string, subject: string) => Promise<RateDecision | null>;

/**
 * The limit over all coordinators together. Each subject's admissions are counted by one of them, its owner. If the
 * owner can't be reached, this coordinator counts by itself, so that a lost coordinator neither stops the API nor lifts
 * the limit. When coordinators come and go, a subject may get a new owner, which starts with an empty window.
 */
export class SharedLimiter implements RateLimiter {
  private readonly ownId: string;
  private readonly limit: number;
  private readonly local: RateLimiter;
  private readonly askOwner: AskOwner;
  private members: readonly string[];
  private readonly owners = new LRUCache<string, string>({ max: OWNERS_KEPT });

  /**
   * `local` counts the subjects that this coordinator owns, and those that it counts for others. `limit`: of subjects
   * that have none of their own.
   */
  constructor(options: { ownId: string; limit: number; local: RateLimiter; askOwner: AskOwner }) {
    this.ownId = options.ownId;
    this.limit = options.limit;
    this.local = options.local;
    this.askOwner = options.askOwner;
    this.members = [options.ownId];
  }

  /** Sets the coordinators that live, including this one. */
  setMembers(ids: readonly string[]): void {
    this.members = ids.includes(this.ownId) ? [...ids] : [...ids, this.ownId];
    this.owners.clear();
  }

  admit(subject: string): RateDecision | Promise<RateDecision> {
    // Nobody counts what has no limit.
    if (limitOf(subject, this.limit) === 0) return UNLIMITED;
    let owner = this.owners.get(subject);
    if (owner === undefined) {
      owner = rendezvousOwner(subject, this.members) ?? this.ownId;
      this.owners.set(subject, owner);
    }
    if (owner === this.ownId) return this.local.admit(subject);
    return this.askOwner(owner, subject).then((decision) => decision ?? this.local.admit(subject));
  }

  /** Counts for another coordinator that regards this one as the owner. */
  admitForPeer(subject: string): RateDecision | Promise<RateDecision> {
    return this.local.admit(subject);
  }
}

/**
 * The owner of a subject among the members: the member with the highest hash of (member, subject). So all members that
 * know the same members determine the same owner, and a member that comes or goes moves only its own subjects (Thaler &
 * Ravishankar, 1998). null without members. The order of the members does not matter.
 */
export function rendezvousOwner(subject: string, memberIds: readonly string[]): string | null {
  let owner: string | null = null;
  let best = '';
  for (const id of memberIds) {
    const weight = createHash('sha1').update(id).update('\0').update(subject).digest('hex');
    if (owner === null || weight > best || (weight === best && id < owner)) {
      owner = id;
      best = weight;
    }
  }
  return owner;
}
