import { planChanges } from '../../coordinator/cluster/placement/plan';
import { decidePromotion } from '../../coordinator/cluster/placement/promotion';
import { isInSync, mustHoldData } from '../../shared/cluster-store/entries/shard-assignment';
import type { ReplicaEffect } from '../../node/replication/core/effects';
import { decideExpand, type MembershipView } from '../../node/replication/core/membership-decision';
import type { ShardReplica } from '../../node/replication/core/shard-replica';
import { TIMINGS } from '../../node/replication/core/timings';
import { anatomyOf, onLeading } from './anatomy';
import type { FaultMix, Strike } from './faults';
import type { PermitWatch, ReadPermit } from '../../node/replication/read-permit';
import type { BeatReceiver } from '../../node/replication/core/beats/beat-receiver';
import type { BeatSender } from '../../node/replication/core/beats/beat-sender';
import type { NodeDependencies, SimulatedNode } from './simulated-node';
import type { SimulatedStorage } from './simulated-storage';

/** A known-bad variant of the protocol: what it breaks, and the faults that bring it out soonest. */
export interface Mutant {
  name: string;
  title: string;
  minInSync: number;
  /** A seed that is known to catch it, from which on the tests look. */
  seed: number;
  faults?: Partial<FaultMix>;
  /** These faults only. */
  strikes?: readonly Strike[];
  /** Mean time between two of them. */
  strikeEveryMs?: number;
  core?(replica: ShardReplica, clock: () => number): void;
  beatSender?(beats: BeatSender): void;
  beatReceiver?(beats: BeatReceiver): void;
  /** See SimulationOptions. */
  outdates?: true;
  threads?: true;
  unread?: NodeDependencies['unread'];
  permit?(permit: { told: ReadPermit; watch: PermitWatch }): void;
  /** Other threads hear of what a step changed some time after its effects. */
  publishesPermitLate?: true;
  restart?(storage: SimulatedStorage): void;
  promotion?: typeof decidePromotion;
  plan?: typeof planChanges;
  /** Its nodes' clock is one that stands still while the machine sleeps. */
  forgetsSleep?: true;
  /** The shard is unused at first, and its first primary may end before others have opened it. */
  isUnused?: true;
  mustHoldData?: typeof mustHoldData;
  change?(node: SimulatedNode, around: NodeDependencies, effect: ChangeEffect): void;
}

type ChangeEffect = Extract<ReplicaEffect, { type: 'change' }>;

const CALM: Partial<FaultMix> = { wipes: false, moves: false, handovers: false, trims: false, slowDisks: false };

/** The broken variants of docs on replication, by the names that they have there; M20 is none. */
export const MUTANTS: Mutant[] = [
  {
    name: 'M1',
    title: 'a shrink counts before it is confirmed',
    minInSync: 2,
    seed: 17,
    core: (replica) => requireWithout(replica, 'shrink'),
  },
  {
    name: 'M2',
    title: 'a replica accepts a lower epoch',
    minInSync: 2,
    seed: 121,
    strikeEveryMs: 600,
    faults: { zombies: true, crashes: true, longDelays: 0.08 },
    strikes: ['zombies', 'zombies', 'crashes', 'partitions'],
    core: (replica) => {
      const { follower, log } = anatomyOf(replica);
      const append = follower.append.bind(follower);
      follower.isFenced = () => false;
      follower.append = (message, nowMs) => {
        log.promisedEpoch = Math.min(log.promisedEpoch, message.epoch);
        append(message, nowMs);
      };
    },
  },
  {
    name: 'M3',
    title: 'unclean election',
    minInSync: 2,
    seed: 84,
    promotion: (assignment, members) => {
      const promotion = decidePromotion(assignment, members);
      const { primary } = assignment;
      if (
        promotion !== null ||
        assignment.epoch === 0 ||
        primary === null ||
        members.get(primary.node)?.store === primary.store
      )
        return promotion;
      const node = assignment.replicas.find((one) => one !== primary.node && members.has(one));
      if (node === undefined) return null;
      const chosen = { node, store: members.get(node)!.store };
      return {
        assignment: { ...assignment, epoch: assignment.epoch + 1, primary: chosen, inSync: [chosen] },
        requires: [],
        from: 'eligible',
      };
    },
  },
  {
    name: 'M4',
    title: 'reads before the barrier is committed',
    minInSync: 2,
    seed: 141,
    core: (replica) => onLeading(replica, (primary) => void (primary.isBarrierApplied = () => true)),
  },
  {
    name: 'M5',
    title: 'no read lease',
    minInSync: 2,
    seed: 53,
    strikeEveryMs: 2500,
    faults: { zombies: true },
    strikes: ['zombies'],
    core: (replica) => onLeading(replica, (primary) => void (primary.hasLease = () => primary.phase === 'serving')),
  },
  {
    name: 'M6',
    title: 'a new primary does not wait out its grant',
    minInSync: 2,
    seed: 2,
    strikeEveryMs: 2500,
    faults: { zombies: true },
    strikes: ['zombies'],
    core: (replica) => onLeading(replica, (primary) => void (primary.isGrantOver = () => true)),
  },
  {
    name: 'M7',
    title: 'a replica joins before it has caught up',
    minInSync: 2,
    seed: 32,
    strikeEveryMs: 300,
    faults: { unluckyJoins: true, crashes: true, partitions: true },
    strikes: ['crashes', 'partitions'],
    core: (replica) =>
      alwaysPropose(replica, (view) => {
        const eager = new Map(
          [...view.peers].map(([node, peer]) => [node, Object.assign(Object.create(peer), { match: Infinity })]),
        );
        return decideExpand({ ...view, peers: eager, serving: true, nowMs: view.nowMs });
      }),
  },
  {
    name: 'M8',
    title: 'the store id is ignored',
    minInSync: 2,
    seed: 47,
    faults: { wipes: true, crashes: true },
    core: (replica) => {
      const { membership } = anatomyOf(replica);
      onLeading(replica, (primary) => {
        primary.peers.byNode.set = function set(node, peer) {
          peer.is = (member) => member.node === peer.node;
          peer.hasOtherStoreThan = () => false;
          const matched = peer.matched.bind(peer);
          let best = 0;
          peer.matched = (result, sentAt, at) => {
            best = Math.max(best, result.match);
            matched({ match: Math.max(best, result.match), agreed: Math.max(best, result.agreed) }, sentAt, at);
          };
          return Map.prototype.set.call(this, node, peer) as Map<string, typeof peer>;
        };
        primary.matchOf = (member) =>
          member.node === replica.self.node
            ? anatomyOf(replica).log.lastSequence
            : (primary.peers.byNode.get(member.node)?.match ?? 0);
      });
      const adopt = membership.adopt.bind(membership);
      membership.adopt = (assignment, revision) => {
        const { primary } = assignment;
        return adopt(
          primary?.node === replica.self.node ? { ...assignment, primary: replica.self } : assignment,
          revision,
        );
      };
    },
    promotion: (assignment, members) => {
      const all = new Map(
        [...members].map(([node]) => [
          node,
          [...assignment.inSync, ...assignment.eligible].find((one) => one.node === node)?.store ??
            members.get(node)!.store,
        ]),
      );
      const promotion = decidePromotion(assignment, new Map([...all].map(([node, store]) => [node, { store }])));
      return promotion === null ? null : { ...promotion, requires: [] };
    },
  },
  {
    name: 'M9',
    title: 'a replica cuts its log to its own commit position (KIP-101)',
    minInSync: 2,
    seed: 17,
    restart: (storage) => {
      storage.disk.entries.length = Math.max(storage.disk.firstSequence - 1, storage.disk.applied);
      storage.crash();
    },
  },
  {
    name: 'M10',
    title: 'entries are taken without the one before them',
    minInSync: 2,
    seed: 71,
    faults: CALM,
    core: (replica) => {
      const { follower, log } = anatomyOf(replica);
      follower.agreesBefore = (message) => message.prev.sequence <= log.lastSequence;
    },
  },
  {
    name: 'M11',
    title: 'a write sent again is appended again',
    minInSync: 2,
    seed: 1,
    core: (replica) => void (anatomyOf(replica).ledger.find = () => undefined),
  },
  {
    name: 'M12',
    title: 'the lease is a flag kept by a timer',
    minInSync: 2,
    seed: 1691,
    strikeEveryMs: 1500,
    faults: { zombies: true, pauses: true, loss: 0, longDelays: 0 },
    strikes: ['zombies', 'pauses'],
    core: (replica) =>
      onLeading(replica, (primary) => {
        const hasLease = primary.hasLease.bind(primary);
        const advance = primary.advance.bind(primary);
        let flag = false;
        let dueAt = -Infinity;
        primary.advance = (nowMs) => {
          advance(nowMs);
          if (nowMs < dueAt) return;
          // A timer that was late because the process stood still is only set again.
          if (nowMs - dueAt < TIMINGS.heartbeatMs / 2 || dueAt === -Infinity) flag = hasLease(nowMs);
          dueAt = nowMs + TIMINGS.heartbeatMs;
        };
        primary.hasLease = () => flag;
        primary.mayServe = () => (primary.phase === 'serving' && flag ? 'yes' : 'wait');
      }),
  },
  {
    name: 'M13',
    title: 'commits under the minimum of in-sync replicas',
    minInSync: 2,
    seed: 14,
    core: (replica) => void (anatomyOf(replica).membership.hasEnough = () => true),
  },
  {
    name: 'M14',
    title: 'an unanswered expand is taken as failed',
    minInSync: 2,
    seed: 182,
    strikeEveryMs: 300,
    faults: { unluckyJoins: true, crashes: true, partitions: true },
    strikes: ['crashes', 'partitions'],
    core: (replica, clock) => guessUnanswered(replica, clock, 'expand'),
  },
  {
    name: 'M15',
    title: 'an unanswered shrink is taken as done',
    minInSync: 2,
    seed: 251,
    strikeEveryMs: 800,
    faults: { partitions: true, outages: true, lostAnswers: 0.4 },
    strikes: ['partitions', 'outages', 'zombies'],
    core: (replica, clock) => guessUnanswered(replica, clock, 'shrink'),
  },
  {
    name: 'M16',
    title: "a joining replica's acknowledgement is not required before its joining is confirmed",
    minInSync: 2,
    seed: 64,
    strikeEveryMs: 300,
    faults: { unluckyJoins: true, crashes: true, partitions: true },
    strikes: ['crashes', 'partitions'],
    core: (replica) => requireWithout(replica, 'expand'),
  },
  {
    name: 'M17',
    title: 'a restarted primary does not take a new epoch',
    minInSync: 2,
    seed: 7,
    core: (replica) => void (anatomyOf(replica).resume = () => {}),
  },
  {
    name: 'M18',
    title: 'a restarted primary resumes its epoch',
    minInSync: 2,
    seed: 51,
    faults: { crashes: true, slowDisks: true },
    strikes: ['crashes'],
    strikeEveryMs: 1000,
    core: (replica) => {
      const anatomy = anatomyOf(replica);
      anatomy.resume = (assignment, nowMs) => {
        anatomy.log.lastLedEpoch = 0;
        anatomy.lead(assignment.epoch, nowMs);
      };
    },
  },
  {
    name: 'M19',
    title: 'an unanswered change is settled by a plain read',
    minInSync: 2,
    seed: 1580,
    strikeEveryMs: 500,
    faults: {
      staleReads: 0.4,
      lostAnswers: 0.4,
      unluckyJoins: true,
      crashes: true,
      partitions: true,
      longDelays: 0.15,
    },
    strikes: ['crashes', 'partitions'],
    core: (replica, clock) => {
      const { membership } = anatomyOf(replica);
      const answered = membership.answered.bind(membership);
      let quietUntil = -Infinity;
      membership.answered = (changeId, revision, nowMs) => {
        if (!changeId.startsWith('read:')) return answered(changeId, revision, nowMs);
        membership.pending = null;
        quietUntil = clock() + 1500;
      };
      const propose = membership.propose.bind(membership);
      membership.propose = (proposal, nowMs) => {
        if (nowMs >= quietUntil) propose(proposal, nowMs);
      };
    },
    change: settleByRead,
  },
  {
    name: 'M21',
    title: 'the promised epoch is not durable',
    minInSync: 2,
    seed: 473,
    strikeEveryMs: 800,
    faults: { crashes: true, zombies: true, partitions: true },
    strikes: ['crashes', 'zombies'],
    restart: (storage) => void (storage.disk.promisedEpoch = Math.min(storage.disk.promisedEpoch, 1)),
  },
  {
    name: 'M22',
    title: 'no lease is waited out after a restart',
    minInSync: 2,
    seed: 430,
    strikeEveryMs: 1500,
    faults: { crashes: true, zombies: true, partitions: true },
    strikes: ['crashes', 'zombies'],
    core: (replica) => void (anatomyOf(replica).grant.until = -Infinity),
  },
  {
    name: 'M23',
    title: 'a refused expand is forgotten while a copy of it is under way',
    minInSync: 2,
    seed: 785,
    strikeEveryMs: 300,
    faults: { lateCopies: 0.7, unluckyJoins: true, crashes: true, partitions: true },
    strikes: ['crashes', 'partitions'],
    core: (replica) => {
      const { membership } = anatomyOf(replica);
      const answered = membership.answered.bind(membership);
      membership.answered = (changeId, revision, nowMs) => {
        answered(changeId, revision, nowMs);
        membership.unsettled.length = 0;
      };
    },
  },
  {
    name: 'M24',
    title: 'a move ends with fewer in sync than the minimum',
    minInSync: 2,
    seed: 176,
    faults: { moves: true, crashes: true },
    plan: (picture) => {
      const alone = picture.assignments.map((found) => ({
        ...found,
        assignment: { ...found.assignment, minInSync: 1 },
      }));
      const changes = [
        ...planChanges({ ...picture, assignments: alone }).filter(({ reason }) => reason === 'finish-move'),
        ...planChanges(picture),
      ];
      return changes.map((change) => ({
        ...change,
        assignment: { ...change.assignment, minInSync: picture.assignments[0].assignment.minInSync },
      }));
    },
  },
  {
    name: 'M25',
    title: 'the lost target of a move leaves the shard though it is eligible',
    minInSync: 2,
    seed: 14,
    faults: { moves: true, crashes: true },
    plan: (picture) => {
      const { assignment } = picture.assignments[0];
      const replicas = assignment.replicas.filter((id) => !assignment.adding.includes(id) || isInSync(assignment, id));
      return planChanges(picture).map((change) =>
        change.reason === 'abort-move' ? { ...change, assignment: { ...change.assignment, replicas } } : change,
      );
    },
  },
  {
    name: 'M26',
    title: 'a promotion does not require its candidate',
    minInSync: 1,
    seed: 144,
    faults: { crashes: true, wipes: true, leases: true, lateDecisions: 0.7 },
    strikes: ['crashes', 'crashes', 'leases', 'zombies'],
    plan: (picture) => planChanges(picture).map((change) => ({ ...change, requires: [] })),
  },
  {
    name: 'M27',
    title: 'leases are judged by a clock that stands still while the machine sleeps',
    minInSync: 2,
    seed: 8,
    strikeEveryMs: 3000,
    faults: { sleeps: true },
    strikes: ['sleeps'],
    forgetsSleep: true,
  },
  {
    name: 'M28',
    title: 'the target of a move is taken away within an epoch',
    minInSync: 1,
    seed: 6,
    faults: { moves: true, crashes: true },
    plan: (picture) => {
      const { epoch } = picture.assignments[0].assignment;
      return planChanges(picture).map((change) =>
        change.reason === 'abort-move' ? { ...change, assignment: { ...change.assignment, epoch } } : change,
      );
    },
  },
  {
    name: 'M29',
    title: 'a primary whose disk hangs gives its role to a replica that is not complete',
    minInSync: 2,
    seed: 33,
    strikeEveryMs: 400,
    faults: { hangs: true, partitions: true },
    strikes: ['hangs', 'partitions'],
    core: (replica) =>
      alwaysPropose(replica, ({ assignment, peers, ownStallMs }) => {
        const other = [...peers.values()].find(
          (peer) => peer.store !== null && !assignment.inSync.some((member) => peer.is(member)),
        );
        if (ownStallMs < 1000 || other === undefined) return null;
        const primary = { node: other.node, store: other.store! };
        return {
          kind: 'handover',
          assignment: { ...assignment, epoch: assignment.epoch + 1, primary, inSync: [primary] },
          requires: [primary],
        };
      }),
  },
  {
    name: 'M30',
    title: 'a follower takes an entry that it does not know for a barrier',
    minInSync: 2,
    seed: 1,
    outdates: true,
    core: (replica) => {
      const { follower } = anatomyOf(replica);
      const append = follower.append.bind(follower);
      follower.append = (message, nowMs) => {
        const entries = message.entries.map(({ unknown, ...entry }) =>
          unknown === undefined ? entry : { ...entry, write: null },
        );
        append({ ...message, entries }, nowMs);
      };
    },
  },
  {
    name: 'M31',
    title: "a follower's share lasts too long",
    minInSync: 1,
    seed: 18,
    strikeEveryMs: 2500,
    faults: { partitions: true, pauses: true },
    strikes: ['partitions', 'pauses'],
    core: (replica) => {
      const { share } = anatomyOf(replica).follower;
      const isValid = share.isValid.bind(share);
      share.isValid = (nowMs) => isValid(nowMs - 1500);
    },
  },
  {
    name: 'M32',
    title: 'a follower does not wait until what it stored is committed',
    minInSync: 2,
    seed: 1,
    core: (replica) => void Object.defineProperty(replica, 'readPosition', { value: 0 }),
  },
  {
    name: 'M33',
    title: 'a primary commits without a follower whose share lasts',
    minInSync: 1,
    seed: 2,
    strikeEveryMs: 2500,
    faults: { hangs: true },
    strikes: ['hangs'],
    core: (replica) => {
      anatomyOf(replica).shares.holders = () => [];
      // Otherwise one whose disk hangs has none any more when it leaves.
      onLeading(replica, (primary) => {
        primary.peers.byNode.set = function set(node, peer) {
          peer.isStoring = () => true;
          return Map.prototype.set.call(this, node, peer) as Map<string, typeof peer>;
        };
      });
    },
  },
  {
    name: 'M34',
    title: 'shares outlast the lease, so that a new primary does not wait until they are over',
    minInSync: 1,
    seed: 336,
    strikeEveryMs: 2500,
    faults: { splits: true },
    strikes: ['splits'],
    core: (replica) => onLeading(replica, (primary) => void (primary.outlasts = () => true)),
  },
  {
    name: 'M35',
    title: 'a primary that hands over leaves shares behind',
    minInSync: 1,
    seed: 31,
    strikeEveryMs: 3000,
    faults: { lostHandovers: true },
    strikes: ['lostHandovers'],
    core: (replica) => onLeading(replica, (primary) => void (primary.mustWithdrawShares = () => false)),
  },
  {
    name: 'M36',
    title: 'followers hear of commits that the primary has not applied',
    minInSync: 2,
    seed: 348,
    faults: { slowApplies: true },
    core: (replica) =>
      onLeading(replica, ({ peers }, { progress }) => {
        peers.progress = Object.create(progress, { applied: { get: () => progress.committed } }) as typeof progress;
      }),
  },
  {
    name: 'M37',
    title: 'a copy that comes late replaces what was acknowledged before a restart',
    minInSync: 2,
    seed: 6252,
    strikeEveryMs: 300,
    faults: { crashes: true, trims: true, partitions: true, longDelays: 0.15, ordered: false },
    strikes: ['crashes', 'crashes', 'trims', 'trims', 'partitions'],
    core: (replica) => {
      const { follower, progress, log } = anatomyOf(replica);
      follower.mayInstall = (epoch, last) =>
        last.sequence >= progress.committed && epoch === log.promisedEpoch && follower.agreed < last.sequence;
    },
  },
  {
    name: 'M38',
    title: 'an answer to a beat counts for members that it excepts',
    minInSync: 1,
    seed: 1,
    faults: { lulls: true },
    beatSender: (beats) => void (beats.acknowledged = (members) => members),
  },
  {
    name: 'M39',
    title: 'a beat of a session that the receiver does not know counts as taken',
    minInSync: 1,
    seed: 2,
    faults: { lulls: true, crashes: true },
    beatReceiver: (beats) => void (beats.knows = () => true),
  },
  {
    name: 'M40',
    title: 'a beat counts for members that have left its set',
    minInSync: 1,
    seed: 1,
    faults: { lulls: true },
    beatReceiver: (beats) => {
      const receive = beats.receive.bind(beats);
      beats.receive = (beat, deliver) => receive({ ...beat, left: [] }, deliver);
    },
  },
  {
    name: 'M41',
    title: 'other threads hear that they may not read after what follows from it',
    minInSync: 1,
    seed: 1,
    threads: true,
    publishesPermitLate: true,
  },
  {
    name: 'M42',
    title: 'other threads read a follower that has not applied what it acknowledged',
    minInSync: 2,
    seed: 1,
    threads: true,
    core: (replica) => {
      const { follower } = anatomyOf(replica);
      Object.defineProperty(replica, 'readableUntil', {
        get: () => anatomyOf(replica).primary?.readableUntil() ?? follower.answersUntil(),
      });
    },
  },
  {
    name: 'M43',
    title: 'other threads do not look when their permit ends',
    minInSync: 1,
    seed: 1,
    threads: true,
    permit: ({ watch }) => void Object.assign(watch, { lasts: () => true }),
  },
  {
    name: 'M44',
    title: 'other threads judge the end of their permit by a clock that stands still while the machine sleeps',
    minInSync: 1,
    seed: 1,
    threads: true,
    strikeEveryMs: 2500,
    faults: { sleeps: true },
    strikes: ['sleeps'],
    permit: ({ watch }) => {
      const { clocks } = watch as unknown as { clocks: { monotonicMs: () => number } };
      Object.assign(watch, { clocks: { monotonicMs: clocks.monotonicMs, bootMs: () => -Infinity } });
    },
  },
  {
    name: 'M45',
    title: 'other threads read a primary that hands over',
    minInSync: 1,
    seed: 1,
    threads: true,
    strikeEveryMs: 3000,
    faults: { lostHandovers: true },
    strikes: ['lostHandovers'],
    core: (replica) =>
      onLeading(replica, (primary) => {
        const until = (primary as unknown as { leaseUntil(): number }).leaseUntil.bind(primary);
        primary.readableUntil = () => (primary.phase === 'serving' ? until() : -Infinity);
        primary.hasLease = (nowMs) => !primary.peers.releasesLease && primary.readableUntil() > nowMs;
      }),
  },
  {
    name: 'M46',
    title: 'a primary gives entries the time of its own clock, though those before are later',
    minInSync: 2,
    seed: 1,
    core: (replica) =>
      void Object.defineProperty(anatomyOf(replica).log, 'latestTimeMs', { get: () => 0, set: () => {} }),
  },
  {
    name: 'M47',
    title: 'a primary takes writes while its shard counts as unused',
    minInSync: 1,
    seed: 2,
    isUnused: true,
    strikeEveryMs: 1500,
    faults: { putBacks: true },
    strikes: ['putBacks'],
    core: (replica, clock) => {
      const { membership } = anatomyOf(replica);
      const wasJustRefused = membership.wasJustRefused.bind(membership);
      const endsMs = clock() + 5000;
      membership.isUnused = () => false;
      membership.wasJustRefused = (kind, nowMs) => (kind === 'use' && nowMs < endsMs) || wasJustRefused(kind, nowMs);
    },
  },
  {
    name: 'M48',
    title: 'a replica of an unused shard takes data that it never had for lost',
    minInSync: 1,
    seed: 16,
    isUnused: true,
    mustHoldData: ({ unused: _unused, ...assignment }, replica) => mustHoldData(assignment, replica),
  },
  {
    name: 'M49',
    title: 'without a note of them, missing data never count as lost',
    minInSync: 1,
    seed: 6,
    isUnused: true,
    strikeEveryMs: 1500,
    faults: { putBacks: true },
    strikes: ['putBacks'],
    mustHoldData: () => false,
  },
  {
    name: 'M50',
    title: 'a quiet primary takes short steps though something happened',
    minInSync: 2,
    seed: 4,
    faults: { lulls: true },
    core: (replica) => onLeading(replica, (primary) => void (primary.stir = () => {})),
  },
  {
    name: 'M52',
    title: 'what a primary knows of a replica counts for its epoch, though the disk of the replica was put back',
    minInSync: 1,
    seed: 2,
    faults: { relapses: true },
    strikes: ['relapses'],
    core: (replica) => onLeading(replica, (primary) => void (primary.peers.wentBack = () => false)),
  },
  {
    name: 'M53',
    title: 'the lease of a shard that nobody reads lasts until its next heartbeat, however late that is',
    minInSync: 1,
    seed: 912,
    threads: true,
    unread: { afterMs: 0, dormantAfterMs: Infinity, reportedEveryMs: Infinity },
    faults: { lulls: true, pauses: true, zombies: true },
    strikes: ['pauses', 'zombies'],
    core: (replica) =>
      onLeading(replica, (primary) => {
        const readableUntil = primary.readableUntil.bind(primary);
        primary.readableUntil = () => (primary.peers.pace === 'unread' ? Infinity : readableUntil());
      }),
  },
  {
    name: 'M54',
    title: 'followers of a shard that nobody reads have shares until its next heartbeat',
    minInSync: 1,
    seed: 282,
    unread: { afterMs: 0, dormantAfterMs: Infinity, reportedEveryMs: Infinity },
    faults: { lulls: true, partitions: true },
    strikes: ['partitions'],
    core: (replica) => {
      const { follower } = anatomyOf(replica);
      const { share } = follower;
      share.isValid = (nowMs) => nowMs < share.until + TIMINGS.unreadHeartbeatMs;
      onLeading(replica, ({ peers }) => void (peers.sharesSince = peers.shareWith));
    },
  },
  {
    name: 'M55',
    title: 'a dormant shard keeps its lease until its next heartbeat',
    minInSync: 1,
    seed: 122,
    threads: true,
    unread: { afterMs: 0, dormantAfterMs: 0, reportedEveryMs: Infinity },
    faults: { lulls: true, pauses: true, zombies: true },
    strikes: ['pauses', 'zombies'],
    core: (replica) =>
      onLeading(replica, (primary) => {
        const readableUntil = primary.readableUntil.bind(primary);
        primary.readableUntil = () => (primary.peers.pace === 'dormant' ? Infinity : readableUntil());
      }),
  },
];

/** Leaves the members that a change of this kind is about out of the maximal set. */
function requireWithout(replica: ShardReplica, kind: 'shrink' | 'expand'): void {
  const { membership } = anatomyOf(replica);
  const maximal = membership.maximal.bind(membership);
  membership.maximal = () => {
    const { pending, confirmed } = membership;
    if (pending?.kind !== kind || confirmed === null) return maximal();
    return kind === 'expand' ? confirmed.inSync : pending.assignment.inSync;
  };
}

/** Puts a decision before the real ones. */
function alwaysPropose(replica: ShardReplica, decide: (view: MembershipView) => ReturnType<typeof decideExpand>): void {
  onLeading(replica, (primary, { membership }) => {
    const change = primary.changeMembership.bind(primary);
    primary.changeMembership = (nowMs) => {
      const { view } = primary as unknown as { view(nowMs: number): MembershipView };
      if (membership.pending === null && (primary.phase === 'active' || primary.phase === 'serving')) {
        const proposal = decide(view.call(primary, nowMs));
        if (proposal !== null) return membership.propose(proposal, nowMs);
      }
      change(nowMs);
    };
  });
}

/** Assumes what became of a change of this kind when there is no answer soon. */
function guessUnanswered(replica: ShardReplica, clock: () => number, kind: 'shrink' | 'expand'): void {
  const { membership } = anatomyOf(replica);
  let quietUntil = -Infinity;
  const propose = membership.propose.bind(membership);
  membership.propose = (proposal, nowMs) => {
    if (nowMs >= quietUntil) propose(proposal, nowMs);
  };
  onLeading(replica, (primary) => {
    const advance = primary.advance.bind(primary);
    primary.advance = (nowMs) => {
      const { pending } = membership;
      if (pending?.kind === kind && clock() - pending.sentAt > 40) {
        if (kind === 'shrink') membership.confirmed = pending.assignment;
        else quietUntil = nowMs + 3000;
        membership.pending = null;
      }
      advance(nowMs);
    };
  });
}

const asked = new WeakSet<object>();

function settleByRead(node: SimulatedNode, around: NodeDependencies, effect: ChangeEffect): void {
  const { changeId } = effect.assignment;
  if (asked.has(effect.assignment)) {
    around.etcd.read(node.id, (current) =>
      node.receive(() =>
        node.step({
          type: 'changeAnswer',
          changeId: `read:${changeId}`,
          applied: false,
          current: current.assignment,
          revision: current.revision,
        }),
      ),
    );
    return;
  }
  asked.add(effect.assignment);
  around.etcd.change(node.id, effect, (answer) =>
    node.receive(() =>
      node.step({
        type: 'changeAnswer',
        changeId,
        applied: answer.applied,
        current: answer.assignment,
        revision: answer.revision,
      }),
    ),
  );
}
