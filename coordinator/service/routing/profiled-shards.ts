import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import type { ProfiledCall } from '../../../shared/contract/shard/call-profile';
import { operationCountOf } from '../../../shared/contract/writes/operation-codec';
import type { WritesEncoded } from './encoded-writes';
import type { SearchesAtOnce } from '../../../shared/contract/shard/inline-search';
import type {
  CallOptions,
  ShardClient,
  ShardId,
  ShardSpec,
  WriteOperation,
  WriteResult,
} from '../../../shared/contract/shard/shard-client';
import type {
  AnswerOf,
  ReadKind,
  RequestOf,
  VectorSearch,
  VectorSearchResult,
} from '../../../shared/contract/shard/shard-read';

/** The shards, with a note of each call of a request that is looked at. All others pass as they are. */
export class ProfiledShards implements Pick<ShardClient, 'read' | 'write'>, SearchesAtOnce, WritesEncoded {
  readonly writeEncoded: WritesEncoded['writeEncoded'];

  constructor(private readonly shards: Pick<ShardClient, 'read' | 'write'> & SearchesAtOnce & WritesEncoded) {
    const write = shards.writeEncoded?.bind(shards);
    if (write === undefined) return;
    this.writeEncoded = (id, bytes, call) => {
      if (call.profile === undefined) return write(id, bytes, call);
      return this.noted(id, 'write', call, (noted, profiled) => {
        profiled.operations = operationCountOf(bytes);
        return write(id, bytes, noted);
      });
    };
  }

  searchNow(id: ShardId, request: VectorSearch, call: CallOptions): VectorSearchResult | null {
    return call.profile === undefined ? (this.shards.searchNow?.(id, request, call) ?? null) : null;
  }

  read<Kind extends ReadKind>(
    id: ShardId,
    kind: Kind,
    request: RequestOf<Kind>,
    call: CallOptions,
  ): Promise<AnswerOf<Kind>> {
    return call.profile === undefined
      ? this.shards.read(id, kind, request, call)
      : this.profiledRead(id, kind, request, call);
  }

  write(id: ShardId, operations: WriteOperation[], call: CallOptions): Promise<WriteResult> {
    return call.profile === undefined
      ? this.shards.write(id, operations, call)
      : this.profiledWrite(id, operations, call);
  }

  private profiledRead<Kind extends ReadKind>(
    id: ShardId,
    kind: Kind,
    request: RequestOf<Kind>,
    call: CallOptions,
  ): Promise<AnswerOf<Kind>> {
    const counted = kind === 'search' ? { ...(request as object), counted: true, packed: undefined } : request;
    return this.noted(id, kind, call, async (noted, profiled) => {
      const answer = await this.shards.read(id, kind, counted as RequestOf<Kind>, noted);
      if (kind === 'search') {
        const { hits, cost } = answer as VectorSearchResult;
        profiled.cost = cost ?? null;
        profiled.results = hits.length;
      } else if (Array.isArray(answer)) {
        profiled.results = answer.length;
      }
      return answer;
    });
  }

  private profiledWrite(id: ShardId, operations: WriteOperation[], call: CallOptions): Promise<WriteResult> {
    return this.noted(id, 'write', call, (noted, profiled) => {
      profiled.operations = operations.length;
      return this.shards.write(id, operations, noted);
    });
  }

  private async noted<Result>(
    id: ShardId,
    kind: string,
    call: CallOptions,
    ask: (call: CallOptions, profiled: ProfiledCall) => Promise<Result>,
  ): Promise<Result> {
    const profiled = call.profile!.begin(kind, id.shard);
    let error: string | null = null;
    try {
      return await ask({ deadlineMs: call.deadlineMs, profiled }, profiled);
    } catch (failure) {
      error = isQuiverError(failure) ? failure.kind : 'internal';
      throw failure;
    } finally {
      profiled.end(error);
    }
  }
}

type AllShards = ShardClient & SearchesAtOnce & WritesEncoded;

/** The shards of a whole service, with notes. */
export function withProfiles(shards: AllShards): AllShards {
  const noted = new ProfiledShards(shards);
  return {
    make: (spec: ShardSpec) => shards.make(spec),
    open: (spec: ShardSpec) => shards.open(spec),
    drop: (id: ShardId) => shards.drop(id),
    read: (id, kind, request, call) => noted.read(id, kind, request, call),
    write: (id, operations, call) => noted.write(id, operations, call),
    ...(noted.writeEncoded !== undefined && { writeEncoded: noted.writeEncoded }),
    ...(shards.searchNow !== undefined && {
      searchNow: (id: ShardId, request: VectorSearch, call: CallOptions) => noted.searchNow(id, request, call),
    }),
  };
}
