import { QuiverError } from '../../../../shared/base/errors/quiver-error';
import type { WriteResult } from '../../../../shared/contract/shard/shard-client';
import type { ShardOperation } from './checked-write';

/** A batch takes what waits up to this size: a larger one makes every writer in it wait longer and gains nothing. */
const BATCH_BYTES_MAX = 16 * 1024 * 1024;

/** Bytes of writes that may wait in all shards together: some seconds of a bulk load. */
const WAITING_BYTES_MAX = 256 * 1024 * 1024;

/** Bytes that wait to be written on a whole node, counted in one place: its shards share the memory. */
export class WriteBudget {
  private waitingBytes = 0;

  constructor(private readonly bytesMax = WAITING_BYTES_MAX) {}

  /**
   * False if there is no room for the bytes. A write larger than the whole budget is accepted if nothing else waits.
   */
  take(bytes: number): boolean {
    if (this.waitingBytes > 0 && this.waitingBytes + bytes > this.bytesMax) return false;
    this.waitingBytes += bytes;
    return true;
  }

  give(bytes: number): void {
    this.waitingBytes -= bytes;
  }

  get takenBytes(): number {
    return this.waitingBytes;
  }
}

interface QueuedWrite {
  operations: ShardOperation[];
  bytes: number;
  done: (result: WriteResult) => void;
  fail: (error: unknown) => void;
}

/**
 * Group commit: while one batch is being made durable, the next one collects requests, so that concurrent writers share
 * its sync. Batches run one at a time, requests in the order of arrival; a request is never split.
 */
export class WriteQueue {
  private waiting: QueuedWrite[] = [];
  private running: Promise<void> | null = null;

  /** `commit` makes the requests durable and visible, all or none, and answers what became of each. */
  constructor(
    private readonly parts: {
      budget: WriteBudget;
      commit: (requests: ShardOperation[][]) => Promise<WriteResult[]>;
    },
  ) {}

  /** Errors: overloaded; what `commit` fails with. */
  push(operations: ShardOperation[]): Promise<WriteResult> {
    const bytes = bytesOf(operations);
    if (!this.parts.budget.take(bytes)) {
      return Promise.reject(new QuiverError('overloaded', 'server busy: too many writes are waiting, try again later'));
    }
    return new Promise((done, fail) => {
      this.waiting.push({ operations, bytes, done, fail });
      this.running ??= this.run();
    });
  }

  /** Writes that wait for the next batch. */
  get length(): number {
    return this.waiting.length;
  }

  /** Nothing is queued or running. */
  get isSettled(): boolean {
    return this.running === null;
  }

  /** Fails the waiting writes; the running batch continues. */
  abandon(error: () => QuiverError): void {
    for (const write of this.waiting.splice(0)) {
      this.parts.budget.give(write.bytes);
      write.fail(error());
    }
  }

  /** Resolves when nothing is queued or running. */
  async settled(): Promise<void> {
    while (this.running !== null) await this.running;
  }

  private async run(): Promise<void> {
    // Requests of the same turn of the event loop join the first batch.
    await Promise.resolve();
    while (this.waiting.length > 0) {
      const batch = this.takeBatch();
      try {
        const results = await this.parts.commit(batch.map((write) => write.operations));
        batch.forEach((write, i) => write.done(results[i]));
      } catch (error) {
        for (const write of batch) write.fail(error);
      }
    }
    this.running = null;
  }

  private takeBatch(): QueuedWrite[] {
    let bytes = 0;
    let count = 0;
    while (count < this.waiting.length && (count === 0 || bytes + this.waiting[count].bytes <= BATCH_BYTES_MAX)) {
      bytes += this.waiting[count].bytes;
      count += 1;
    }
    this.parts.budget.give(bytes);
    return this.waiting.splice(0, count);
  }
}

function bytesOf(operations: ShardOperation[]): number {
  let bytes = 0;
  for (const operation of operations) {
    bytes += 64;
    if (operation.type === 'stage') continue;
    if (operation.type === 'dedup') {
      bytes += operation.note.length;
      continue;
    }
    bytes += operation.externalId.length;
    if (operation.type === 'patch') {
      bytes +=
        (operation.vector?.byteLength ?? 0) + (operation.metadata?.json.length ?? 0) + (operation.text?.length ?? 0);
      continue;
    }
    const item = operation.type === 'import' ? operation.item : operation.type === 'upsert' ? operation : null;
    if (item !== null) bytes += item.vector.byteLength + (item.metadata?.length ?? 0) + (item.text?.length ?? 0);
  }
  return bytes;
}
