import { decidePromotion, type PromotionCandidate } from '../../coordinator/cluster/promotion';
import type { ShardAssignment } from '../../shared/cluster/shard-assignment';
import type { NodeSurroundings } from './simulated-node';

/** One of two coordinators that both believe they place shards; all that either does is compare-and-swap. */
export class SimulatedController {
  /** A move to begin at the next chance: from one node to another. */
  wantedMove: { from: string; to: string } | null = null;
  private readonly name: string;
  private readonly around: NodeSurroundings;
  private changes = 0;

  constructor(name: string, around: NodeSurroundings) {
    this.name = name;
    this.around = around;
    this.look();
  }

  private look(): void {
    const { etcd, schedule, chance } = this.around;
    etcd.read(this.name, ({ assignment, revision }, members) => this.decide(assignment, revision, members));
    schedule.after(200 + chance.unit() * 200, () => this.look());
  }

  private decide(assignment: ShardAssignment, revision: number, members: Map<string, string>): void {
    const { chance, mutant, counts } = this.around;
    const candidates = new Map<string, PromotionCandidate>();
    for (const [node, store] of members) candidates.set(node, { store, last: { epoch: 0, sequence: chance.below(100) } });
    const promotion = (mutant?.promotion ?? decidePromotion)(assignment, candidates);
    if (promotion !== null) {
      if (promotion.from === 'eligible') counts.fromEligible++;
      this.change(promotion.assignment, revision, promotion.requires);
    } else if (this.wantedMove !== null && assignment.epoch > 0) {
      this.beginMove(assignment, revision, this.wantedMove);
      this.wantedMove = null;
    }
  }

  private beginMove(assignment: ShardAssignment, revision: number, move: { from: string; to: string }): void {
    const { replicas, removing } = assignment;
    if (removing.length > 0 || !replicas.includes(move.from) || replicas.includes(move.to)) return;
    this.around.counts.moves++;
    this.change({ ...assignment, replicas: [...replicas, move.to], adding: [move.to], removing: [move.from] }, revision, []);
  }

  private change(assignment: ShardAssignment, expectedRevision: number, requires: { node: string; store: string }[]): void {
    const changeId = `${this.name}-${++this.changes}`;
    this.around.etcd.change(this.name, { assignment: { ...assignment, changeId }, expectedRevision, requires }, () => {});
  }
}
