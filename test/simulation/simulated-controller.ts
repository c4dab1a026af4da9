import { planChanges } from '../../coordinator/cluster/placement/plan';
import { decidePromotion, type PromotionCandidate } from '../../coordinator/cluster/placement/promotion';
import type { CollectionRecord } from '../../coordinator/service/collections/collection-record';
import type { NodeMember } from '../../shared/cluster-store/entries/members';
import { isInSync, type ReplicaId, type ShardAssignment } from '../../shared/cluster-store/entries/shard-assignment';
import type { NodeDependencies } from './simulated-node';

/** A node that is away for this long counts as lost for the plan, which waits five minutes: a run lasts seconds. */
const AWAY_FACTOR = 75;

/**
 * One of two coordinators that both believe they place shards; all that either does is compare-and-swap. Decides by the
 * plan of a real one, with moves.
 */
export class SimulatedController {
  /** Nodes that operators want to be empty. */
  readonly draining = new Set<string>();
  /** Probability that this process stands still for a moment between a decision and its transaction. */
  lateDecisions = 0;
  private readonly name: string;
  private readonly wantedReplicas: number;
  private readonly around: NodeDependencies;
  private readonly awaySince = new Map<string, number>();
  private changes = 0;
  private isStopped = false;

  constructor(name: string, wantedReplicas: number, around: NodeDependencies) {
    this.name = name;
    this.wantedReplicas = wantedReplicas;
    this.around = around;
    this.look();
  }

  /** It looks no more. */
  stop(): void {
    this.isStopped = true;
  }

  private look(): void {
    if (this.isStopped) return;
    const { etcd, schedule, chance } = this.around;
    etcd.read(this.name, ({ assignment, revision }, members) => this.decide(assignment, revision, members));
    schedule.after(200 + chance.unit() * 200, () => this.look());
  }

  private decide(assignment: ShardAssignment, revision: number, members: Map<string, string>): void {
    const { counts, mutant } = this.around;
    if (assignment.epoch === 0 || mutant?.promotion !== undefined) {
      const promotion = (mutant?.promotion ?? decidePromotion)(assignment, this.candidates(members));
      if (promotion !== null) return this.change(promotion.assignment, revision, promotion.requires, 'promote');
      if (assignment.epoch === 0) return;
    }
    const changes = (mutant?.plan ?? planChanges)({
      collections: [{ record: this.collectionOf(assignment), revision: 1 }],
      assignments: [{ assignment, revision }],
      members: [...members].map(
        ([id, store]) => ({ id, address: id, store, zone: '', diskBytes: 0, freeBytes: 0 }) as NodeMember,
      ),
      reprieved: new Set(),
      behind: new Set(),
      unreachable: new Set(),
      failing: new Map(),
      draining: this.draining,
      awayMs: this.awayMs(members),
    });
    for (const change of changes) {
      const isPromotion = change.reason === 'promote';
      if (isPromotion && mutant?.promotion !== undefined) continue;
      if (isPromotion && !isInSync(assignment, change.assignment.primary!.node)) counts.fromEligible++;
      this.change(change.assignment, change.expectedRevision, change.requires, change.reason);
    }
  }

  private candidates(members: Map<string, string>): Map<string, PromotionCandidate> {
    return new Map(
      [...members].map(([node, store]) => [
        node,
        { store, last: { epoch: 0, sequence: this.around.chance.below(100) } },
      ]),
    );
  }

  private collectionOf({ spec, minInSync }: ShardAssignment): CollectionRecord {
    const rest = {
      dim: 1,
      metric: 'cosine',
      description: null,
      language: null,
      quantization: 'int8',
      createdAt: '',
      embeddingModel: null,
      state: 'ready',
    } as const;
    return {
      uid: spec.collectionUid,
      identity: spec.collectionUid,
      name: spec.collectionUid,
      shards: 1,
      replicas: this.wantedReplicas,
      minInSync,
      ...rest,
    };
  }

  private awayMs(members: Map<string, string>): Map<string, number> {
    const { now } = this.around.schedule;
    for (const id of this.around.nodes.keys()) {
      if (members.has(id)) this.awaySince.delete(id);
      else if (!this.awaySince.has(id)) this.awaySince.set(id, now);
    }
    return new Map([...this.awaySince].map(([id, since]) => [id, (now - since) * AWAY_FACTOR]));
  }

  private change(assignment: ShardAssignment, expectedRevision: number, requires: ReplicaId[], reason: string): void {
    const { etcd, chance, schedule, counts } = this.around;
    counts[reason] = (counts[reason] ?? 0) + 1;
    const change = {
      assignment: { ...assignment, changeId: `${this.name}-${++this.changes}` },
      expectedRevision,
      requires,
    };
    const send = (): void => etcd.change(this.name, change, () => {});
    if (chance.happens(this.lateDecisions)) schedule.after(chance.unit() * 1500, send);
    else send();
  }
}
