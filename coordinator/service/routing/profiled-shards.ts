import { isQuiverError } from '../../../shared/base/errors/quiver-error';
import type { ShardNote } from '../../../shared/contract/shard/call-profile';
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
export class NotedShards implements Pick<ShardClient, 'read' | 'write'>, SearchesAtOnce, WritesEncoded {
  readonly writeEncoded: WritesEncoded['writeEncoded'];

  constructor(private readonly shards: Pick<ShardClient, 'read' | 'write'> & SearchesAtOnce & WritesEncoded) {
    const write = shards.writeEncoded?.bind(shards);
    if (write === undefined) return;
    this.writeEncoded = (id, bytes, call) => {
      if (call.notes === undefined) return write(id, bytes, call);
      return this.noted(id, 'write', call, (noted, note) => {
        note.operations = operationCountOf(bytes);
        return write(id, bytes, noted);
      });
    };
  }

  searchNow(id: ShardId, request: VectorSearch, call: CallOptions): VectorSearchResult | null {
    return call.notes === undefined ? (this.shards.searchNow?.(id, request, call) ?? null) : null;
  }

  read<Kind extends ReadKind>(
    id: ShardId,
    kind: Kind,
    request: RequestOf<Kind>,
    call: CallOptions,
  ): Promise<AnswerOf<Kind>> {
    return call.notes === undefined
      ? this.shards.read(id, kind, request, call)
      : this.notedRead(id, kind, request, call);
  }

  write(id: ShardId, operations: WriteOperation[], call: CallOptions): Promise<WriteResult> {
    return call.notes === undefined ? this.shards.write(id, operations, call) : this.notedWrite(id, operations, call);
  }

  private notedRead<Kind extends ReadKind>(
    id: ShardId,
    kind: Kind,
    request: RequestOf<Kind>,
    call: CallOptions,
  ): Promise<AnswerOf<Kind>> {
    const counted = kind === 'search' ? { ...(request as object), counted: true, packed: undefined } : request;
    return this.noted(id, kind, call, async (noted, note) => {
      const answer = await this.shards.read(id, kind, counted as RequestOf<Kind>, noted);
      if (kind === 'search') {
        const { hits, cost } = answer as VectorSearchResult;
        note.cost = cost ?? null;
        note.results = hits.length;
      } else if (Array.isArray(answer)) {
        note.results = answer.length;
      }
      return answer;
    });
  }

  private notedWrite(id: ShardId, operations: WriteOperation[], call: CallOptions): Promise<WriteResult> {
    return this.noted(id, 'write', call, (noted, note) => {
      note.operations = operations.length;
      return this.shards.write(id, operations, noted);
    });
  }

  private async noted<Result>(
    id: ShardId,
    kind: string,
    call: CallOptions,
    ask: (call: CallOptions, note: ShardNote) => Promise<Result>,
  ): Promise<Result> {
    const note = call.notes!.begin(kind, id.shard);
    let error: string | null = null;
    try {
      return await ask({ deadlineMs: call.deadlineMs, note }, note);
    } catch (failure) {
      error = isQuiverError(failure) ? failure.kind : 'internal';
      throw failure;
    } finally {
      note.end(error);
    }
  }
}

type AllShards = ShardClient & SearchesAtOnce & WritesEncoded;

/** The shards of a whole service, with notes. */
export function withNotes(shards: AllShards): AllShards {
  const noted = new NotedShards(shards);
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
