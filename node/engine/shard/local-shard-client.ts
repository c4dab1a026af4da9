import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { notInTime } from '../../../shared/contract/shard/not-in-time';
import type {
  CallOptions,
  ShardClient,
  ShardId,
  ShardSpec,
  WriteOperation,
  WriteResult,
} from '../../../shared/contract/shard/shard-client';
import type { AnswerOf, ReadKind, RequestOf } from '../../../shared/contract/shard/shard-read';
import type { Clock } from '../../../shared/base/time/clock';
import { deadlineTimer } from '../../../shared/base/time/deadline';
import type { Shard } from './shard';
import type { ShardHost } from './opening/shard-host';

/** The ShardClient for shards in the same process. */
export class LocalShardClient implements ShardClient {
  private readonly host: ShardHost;
  private readonly clock: Clock;

  constructor(options: { host: ShardHost; clock: Clock }) {
    this.host = options.host;
    this.clock = options.clock;
  }

  make(spec: ShardSpec): Promise<void> {
    return this.host.open(spec, { mustExist: false });
  }

  open(spec: ShardSpec): Promise<void> {
    return this.host.open(spec, { mustExist: true });
  }

  drop(id: ShardId): Promise<void> {
    return this.host.drop(id);
  }

  write(id: ShardId, operations: WriteOperation[], call: CallOptions): Promise<WriteResult> {
    const unconfirmed = () =>
      new QuiverError(
        'commit_unknown',
        `shard ${id.shard} did not confirm the write in time: it is stored once or not at all; it is safe to try again`,
      );
    return this.within(
      call,
      id,
      (shard) => {
        call.profiled?.begun();
        return shard.write(operations);
      },
      unconfirmed,
    );
  }

  read<Kind extends ReadKind>(
    id: ShardId,
    kind: Kind,
    request: RequestOf<Kind>,
    call: CallOptions,
  ): Promise<AnswerOf<Kind>> {
    // Lists, metrics and health ask all shards, and open none for it.
    const known = kind === 'status' ? this.host.statusAtRest(id) : null;
    if (known !== null) return Promise.resolve(known as AnswerOf<Kind>);
    return this.within(call, id, (shard) => {
      call.profiled?.begun();
      return shard.read(kind, request);
    });
  }

  /**
   * Runs a call on the shard; waits if the shard is being opened. Past the deadline the caller gets the error of
   * `late`, which says what that means for the call. If the work has begun, it continues to its end.
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
      begin()
        .then(done, fail)
        .finally(() => clearTimeout(timer));
    });
  }
}
