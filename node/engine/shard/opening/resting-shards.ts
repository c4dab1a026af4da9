import type { ShardSpec } from '../../../../shared/contract/shard/shard-client';
import type { ShardStatus } from '../../../../shared/contract/shard/shard-read';
import { NO_MEMORY } from '../../kv/key-value-store';
import type { RestFacts } from './rest-note';
import type { ReplicaObservation } from '../shard-observation';

/** A shard that is closed until it is used. */
export interface RestingShard {
  readonly spec: ShardSpec;
  readonly facts: RestFacts;
  /** Whether they are noted beside its records. */
  isNoted: boolean;
  /** Whether all of its records were on stable storage when they were closed, and nobody opened them since. */
  isStable: boolean;
  /** Nobody ever wrote to it: its records are made with the first change. */
  readonly isBlank: boolean;
  /** Of one that is being made: resolves when it is, and rejects where it can't be. */
  readonly made?: Promise<void>;
  /** Resolves when it is closed; never rejects. */
  readonly closed: Promise<void>;
}

/**
 * The shards of a process that are closed until they are used, with what is known of them meanwhile. Nothing of them is
 * in memory but that.
 */
export class RestingShards {
  private readonly all = new Map<string, RestingShard>();

  /** `wallMs`: the clock by which items expire. */
  constructor(private readonly wallMs: () => number) {}

  get size(): number {
    return this.all.size;
  }

  get(name: string): RestingShard | undefined {
    return this.all.get(name);
  }

  put(name: string, shard: RestingShard): void {
    this.all.set(name, shard);
  }

  /** False when it was not among them. */
  delete(name: string): boolean {
    return this.all.delete(name);
  }

  /** What the shard would answer; null: it is not among them, or an item of it has expired since. */
  status(name: string): ShardStatus | null {
    const shard = this.all.get(name);
    return shard === undefined || this.isDue(shard) ? null : shard.facts.status;
  }

  /** Those of which an item has expired: it is to be removed. */
  due(): string[] {
    const due: string[] = [];
    for (const [name, shard] of this.all) if (this.isDue(shard)) due.push(name);
    return due;
  }

  /** As of open ones, for metrics. */
  observations(): ReplicaObservation[] {
    return Array.from(this.all.values(), ({ spec, facts }) => {
      const { status, checkpoint, marks } = facts;
      const { lastOperation } = status;
      const memory = { vectorIndex: 0, directory: 0, filterIndex: 0, keywordIndex: 0, store: NO_MEMORY };
      const data = { status, memory, checkpoint, expiredItems: 0, clockAheadMs: 0, marks };
      return {
        collectionUid: spec.collectionUid,
        shard: spec.shard,
        leads: true,
        epoch: 1,
        lastSequence: lastOperation,
        appliedSequence: lastOperation,
        pendingWrites: 0,
        lagMax: 0,
        data,
      };
    });
  }

  /** Resolves when all of them are closed. */
  async settled(): Promise<void> {
    await Promise.all(Array.from(this.all.values(), ({ closed }) => closed));
  }

  private isDue({ facts }: RestingShard): boolean {
    return facts.expiresAtMs !== null && facts.expiresAtMs <= this.wallMs();
  }
}
