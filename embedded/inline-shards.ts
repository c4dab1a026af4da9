import type { InlineSearches, SearchesAtOnce } from '../shared/contract/shard/inline-search';
import type {
  CallOptions,
  ShardClient,
  ShardId,
  ShardSpec,
  WriteOperation,
  WriteResult,
} from '../shared/contract/shard/shard-client';
import type {
  AnswerOf,
  ReadKind,
  RequestOf,
  VectorSearch,
  VectorSearchResult,
} from '../shared/contract/shard/shard-read';
import { SearchTurns } from '../shared/base/threads/search-turns';
import type { Clock } from '../shared/base/time/clock';

/**
 * Shards whose short searches run on the thread that asks. For a process that has one processor: on another thread, a
 * search would wait for that, and so would whoever asks.
 */
export class InlineShards implements ShardClient, SearchesAtOnce {
  private readonly shards: ShardClient;
  private readonly inline: InlineSearches;
  private readonly turns: SearchTurns;

  constructor(parts: { shards: ShardClient; inline: InlineSearches; clock: Clock }) {
    this.shards = parts.shards;
    this.inline = parts.inline;
    this.turns = new SearchTurns(parts.clock);
  }

  make(spec: ShardSpec): Promise<void> {
    return this.shards.make(spec);
  }

  open(spec: ShardSpec): Promise<void> {
    return this.shards.open(spec);
  }

  drop(id: ShardId): Promise<void> {
    return this.shards.drop(id);
  }

  write(id: ShardId, operations: WriteOperation[], call: CallOptions): Promise<WriteResult> {
    return this.shards.write(id, operations, call);
  }

  searchNow(id: ShardId, request: VectorSearch): VectorSearchResult | null {
    return this.turns.takeNow(() => this.inline.search(id, request));
  }

  read<Kind extends ReadKind>(
    id: ShardId,
    kind: Kind,
    request: RequestOf<Kind>,
    call: CallOptions,
  ): Promise<AnswerOf<Kind>> {
    return this.shards.read(id, kind, request, call);
  }
}
