import type { ShardId } from '../../../shared/contract/shard/shard-client';

/** A write that has a name and is not finished yet. */
export interface OpenWrite {
  readonly requestNumber: number;
  /** Every write to the shard with a lower number is finished or given up. */
  settledBelow(): number;
  /** Marks the write as finished or given up: it is never sent again. */
  settle(): void;
}

/** Numbers the writes of one session. For each shard it knows the lowest number that may still be sent. */
export class OpenWrites {
  private lastNumber = 0;
  /** Numbers of open writes by shard. A Set iterates in the order of insertion, so they rise. */
  private readonly open = new Map<string, Set<number>>();

  begin(id: ShardId): OpenWrite {
    const key = `${id.collectionUid}/${id.shard}`;
    const requestNumber = ++this.lastNumber;
    const numbers = this.open.get(key) ?? new Set<number>();
    this.open.set(key, numbers.add(requestNumber));
    return {
      requestNumber,
      settledBelow: () => numbers.values().next().value ?? requestNumber,
      settle: () => {
        numbers.delete(requestNumber);
        if (numbers.size === 0) this.open.delete(key);
      },
    };
  }
}
