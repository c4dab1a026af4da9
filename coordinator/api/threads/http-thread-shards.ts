import { resultFromBytes } from '../../../shared/wire/codecs/outcome-codec';
import type { EncodedWrite, WritesEncoded } from '../../service/routing/encoded-writes';
import type { InlineSearches, SearchesAtOnce } from '../../../shared/contract/shard/inline-search';
import { operationsToBytesInSteps } from '../../../shared/contract/writes/operation-codec';
import type {
  CallOptions,
  ShardClient,
  ShardId,
  WriteOperation,
  WriteResult,
} from '../../../shared/contract/shard/shard-client';
import { withOwnVector } from '../../../shared/contract/writes/own-vector';
import type {
  AnswerOf,
  ReadKind,
  RequestOf,
  VectorSearch,
  VectorSearchResult,
} from '../../../shared/contract/shard/shard-read';
import type { Clock } from '../../../shared/base/time/clock';
import { sharedDeadline } from '../../../shared/base/time/shared-clock';
import { inSlices } from '../../../shared/base/time/work-slices';
import { askProfiled } from '../../../shared/contract/shard/profiled-call';
import { SearchTurns } from '../../../shared/base/threads/search-turns';
import type { ThreadPeer } from '../../../shared/base/threads/thread-peer';

/**
 * The shards of this process on an HTTP thread. Vectors are searched here, in the shards' shared memory, where that is
 * enough; else the main thread does the shard's part.
 */
export class HttpThreadShards implements Pick<ShardClient, 'read' | 'write'>, SearchesAtOnce, WritesEncoded {
  private readonly main: Pick<ThreadPeer, 'ask' | 'hand'>;
  private readonly inline: InlineSearches | null;
  private readonly clock: Clock;
  private readonly turns: SearchTurns;

  constructor(parts: { main: Pick<ThreadPeer, 'ask' | 'hand'>; inline: InlineSearches | null; clock: Clock }) {
    this.main = parts.main;
    this.inline = parts.inline;
    this.clock = parts.clock;
    this.turns = new SearchTurns(parts.clock);
  }

  read<Kind extends ReadKind>(
    id: ShardId,
    kind: Kind,
    request: RequestOf<Kind>,
    call: CallOptions,
  ): Promise<AnswerOf<Kind>> {
    return kind === 'search' && this.inline !== null
      ? this.search(this.inline, id, kind, request, call)
      : this.ask(id, kind, request, call);
  }

  searchNow(id: ShardId, request: VectorSearch): VectorSearchResult | null {
    const { inline } = this;
    return inline === null ? null : this.turns.takeNow(() => inline.search(id, request));
  }

  /** One buffer goes over, instead of thousands of objects that would be copied one by one. */
  async write(id: ShardId, operations: WriteOperation[], call: CallOptions): Promise<WriteResult> {
    const bytes = await inSlices(operationsToBytesInSteps(operations));
    const [outcomes, versions] = await this.main.hand<[Uint8Array, Uint8Array]>(
      'shards.write',
      bytes,
      id,
      sharedDeadline(call.deadlineMs, this.clock),
    );
    return resultFromBytes(outcomes, versions);
  }

  async writeEncoded(id: ShardId, bytes: Buffer, call: CallOptions): Promise<EncodedWrite> {
    const asked = this.main.hand<[Uint8Array, Uint8Array, Uint8Array]>(
      'shards.writeLent',
      bytes,
      id,
      sharedDeadline(call.deadlineMs, this.clock),
    );
    const [outcomes, versions, back] = await asked;
    const returned = Buffer.from(back.buffer, back.byteOffset, back.byteLength);
    return { result: resultFromBytes(outcomes, versions), bytes: returned, isShared: false };
  }

  private async search<Kind extends ReadKind>(
    inline: InlineSearches,
    id: ShardId,
    kind: Kind,
    request: RequestOf<Kind>,
    call: CallOptions,
  ): Promise<AnswerOf<Kind>> {
    const { profiled } = call;
    const found = await this.turns.take(() => {
      profiled?.begun();
      return inline.search(id, request as VectorSearch);
    });
    if (found === null) return this.ask(id, kind, request, call);
    if (profiled !== undefined) profiled.place = 'inline';
    return found as AnswerOf<Kind>;
  }

  private async ask<Kind extends ReadKind>(
    id: ShardId,
    kind: Kind,
    request: RequestOf<Kind>,
    call: CallOptions,
  ): Promise<AnswerOf<Kind>> {
    // A thread takes all messages that are there in one go, and what they carry is copied then: long ones come one by
    // one.
    if (isLong(request)) await this.main.ask('turn');
    const asked = [id, kind, withOwnVector(request), sharedDeadline(call.deadlineMs, this.clock)];
    return call.profiled === undefined
      ? this.main.ask('shards.read', ...asked)
      : askProfiled(() => this.main.ask('shards.profiledRead', ...asked), call.profiled, this.clock);
  }
}

/** Parts of a request beyond which it waits for its turn: copying so many takes some hundred microseconds. */
const SHORT_PARTS_MAX = 512;
/** A text counts as one part for each so many characters. */
const PART_CHARACTERS = 256;

function isLong(request: unknown): boolean {
  return partsLeft(request, SHORT_PARTS_MAX) < 0;
}

/** `left` less the parts of the value, as far as they are counted: negative if it has more. */
function partsLeft(value: unknown, left: number): number {
  if (typeof value === 'string') return left - 1 - value.length / PART_CHARACTERS;
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return left - 1;
  let rest = left - 1;
  for (const name in value) {
    if (rest < 0) return rest;
    rest = partsLeft((value as Record<string, unknown>)[name], rest - name.length / PART_CHARACTERS);
  }
  return rest;
}
