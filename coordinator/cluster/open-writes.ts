import type { ShardId } from '../../shared/shard/shard-client';

/** A write that has a name and is not finished yet. */
export interface OpenWrite {
  readonly requestNumber: number;
  /** Every write to the shard with a lower number is finished or given up. */
  settledBelow(): number;
  /** The write is finished or given up: it is never sent again. */
  settle(): void;
}

/** Numbers the writes of one session and knows, for each shard, from where on they may still be sent. */
export class OpenWrites {
  private lastNumber = 0;
  /** Numbers of open writes by shard; a set keeps them in the order they were added, which is rising. */
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
