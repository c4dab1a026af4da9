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
  WriteOperation,
  WriteOutcome,
} from '../../shared/shard/shard-client';
import type { Clock } from '../../shared/time/clock';
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

  async write(id: ShardId, operations: WriteOperation[], call: CallOptions): Promise<WriteOutcome[]> {
    const shard = await this.host.shard(id);
    return this.within(call, shard.write(operations), () =>
      new QuiverError('commit_unknown', `shard ${id.shard} did not confirm the write in time: it is stored once or not at all; it is safe to try again`));
  }

  async search(id: ShardId, request: VectorSearch, call: CallOptions): Promise<Hit[]> {
    const shard = await this.host.shard(id);
    return this.within(call, shard.reader.search(request), () => late(id));
  }

  async score(id: ShardId, request: { vector: Float32Array; externalIds: string[] }, call: CallOptions): Promise<Hit[]> {
    const shard = await this.host.shard(id);
    return this.within(call, shard.reader.score(request), () => late(id));
  }

  async keywordStatistics(id: ShardId, terms: string[]): Promise<KeywordStatistics> {
    return (await this.host.shard(id)).reader.keywordStatistics(terms);
  }

  async keywordSearch(id: ShardId, request: KeywordSearch): Promise<Hit[]> {
    return (await this.host.shard(id)).reader.keywordSearch(request);
  }

  async fetch(id: ShardId, request: { externalIds: string[]; vectors: boolean }, call: CallOptions): Promise<(StoredItem | null)[]> {
    const shard = await this.host.shard(id);
    return this.within(call, shard.reader.fetch(request), () => late(id));
  }

  async scan(id: ShardId, request: ScanRequest, call: CallOptions): Promise<StoredItem[]> {
    const shard = await this.host.shard(id);
    return this.within(call, shard.reader.scan(request), () => late(id));
  }

  async count(id: ShardId): Promise<number> {
    return (await this.host.shard(id)).vectorCount;
  }

  async status(id: ShardId): Promise<ShardStatus> {
    return (await this.host.shard(id)).status();
  }

  /** The work, or the error once the deadline has passed; the work itself goes on to its end. */
  private within<Result>(call: CallOptions, work: Promise<Result>, late: () => QuiverError): Promise<Result> {
    const leftMs = call.deadlineMs - this.clock.monotonicMs();
    return new Promise<Result>((done, fail) => {
      const timer = setTimeout(() => fail(late()), Math.max(0, leftMs));
      work.then(
        (result) => {
          clearTimeout(timer);
          done(result);
        },
        (error: unknown) => {
          clearTimeout(timer);
          fail(error);
        },
      );
    });
  }
}

function late(id: ShardId): QuiverError {
  return new QuiverError('unavailable', `shard ${id.shard} did not answer in time; the call may be retried`);
}
