import { QuiverError } from '../../shared/errors/quiver-error';
import type {
  CallOptions,
  Hit,
  KeywordSearch,
  KeywordStatistics,
  ScanRequest,
  ShardClient,
  ShardId,
  ShardSpec,
  ShardStatus,
  StoredItem,
  VectorSearch,
  VectorSearchResult,
  WriteOperation,
  WriteOutcome,
} from '../../shared/shard/shard-client';
import type { Clock } from '../../shared/time/clock';
import { deadlineTimer } from '../../shared/time/deadline';
import type { Shard } from './shard';
import type { ShardHost } from './shard-host';

/** The ShardClient for shards in this very process. */
export class LocalShardClient implements ShardClient {
  private readonly host: ShardHost;
  private readonly clock: Clock;

  constructor(options: { host: ShardHost; clock: Clock }) {
    this.host = options.host;
    this.clock = options.clock;
  }

  open(spec: ShardSpec): Promise<void> {
    return this.host.open(spec);
  }

  drop(id: ShardId): Promise<void> {
    return this.host.drop(id);
  }

  write(id: ShardId, operations: WriteOperation[], call: CallOptions): Promise<WriteOutcome[]> {
    const unconfirmed = () =>
      new QuiverError('commit_unknown', `shard ${id.shard} did not confirm the write in time: it is stored once or not at all; it is safe to try again`);
    return this.within(call, id, (shard) => shard.write(operations), unconfirmed);
  }

  search(id: ShardId, request: VectorSearch, call: CallOptions): Promise<VectorSearchResult> {
    return this.within(call, id, (shard) => shard.read(({ search }) => search.search(request)));
  }

  score(id: ShardId, request: { vector: Float32Array; externalIds: string[] }, call: CallOptions): Promise<Hit[]> {
    return this.within(call, id, (shard) => shard.read(({ search }) => search.score(request)));
  }

  keywordStatistics(id: ShardId, terms: string[], call: CallOptions): Promise<KeywordStatistics> {
    return this.within(call, id, (shard) => shard.read(({ search }) => search.keywordStatistics(terms)));
  }

  keywordSearch(id: ShardId, request: KeywordSearch, call: CallOptions): Promise<Hit[]> {
    return this.within(call, id, (shard) => shard.read(({ search }) => search.keywordSearch(request)));
  }

  fetch(id: ShardId, request: { externalIds: string[]; vectors: boolean }, call: CallOptions): Promise<(StoredItem | null)[]> {
    return this.within(call, id, (shard) => shard.read(({ items }) => items.fetch(request)));
  }

  scan(id: ShardId, request: ScanRequest, call: CallOptions): Promise<StoredItem[]> {
    return this.within(call, id, (shard) => shard.read(({ items }) => items.scan(request)));
  }

  count(id: ShardId, call: CallOptions): Promise<number> {
    return this.within(call, id, async (shard) => shard.vectorCount);
  }

  status(id: ShardId, call: CallOptions): Promise<ShardStatus> {
    return this.within(call, id, (shard) => shard.status());
  }

  /**
   * Runs a call on the shard, waiting for the shard if it is being opened. Past the deadline the caller gets an error
   * and the work, if it has begun, goes on to its end: `late` says what that means for the caller.
   */
  private within<Result>(
    call: CallOptions,
    id: ShardId,
    work: (shard: Shard) => Promise<Result>,
    late: () => QuiverError = () => notInTime(id),
  ): Promise<Result> {
    const leftMs = call.deadlineMs - this.clock.monotonicMs();
    if (leftMs <= 0) return Promise.reject(notInTime(id));
    return new Promise<Result>((done, fail) => {
      let isLate = false;
      let hasBegun = false;
      const timer = deadlineTimer(leftMs, () => {
        isLate = true;
        fail(hasBegun ? late() : notInTime(id));
      });
      const begin = async (): Promise<Result> => {
        const shard = await this.host.shard(id);
        if (isLate) throw notInTime(id);
        hasBegun = true;
        return work(shard);
      };
      begin().then(done, fail).finally(() => clearTimeout(timer));
    });
  }
}

function notInTime(id: ShardId): QuiverError {
  return new QuiverError('unavailable', `shard ${id.shard} did not answer in time; the call may be retried`);
}
