import { resultFromBytes } from '../../shared/rpc/outcome-codec';
import type { ServedTimes, ShardNote } from '../../shared/shard/call-notes';
import type { InlineSearches } from '../../shared/shard/inline-search';
import { operationsToBytesInSteps } from '../../shared/shard/operation-codec';
import type { CallOptions, ShardClient, ShardId, WriteOperation, WriteResult } from '../../shared/shard/shard-client';
import { withOwnVector } from '../../shared/shard/own-vector';
import type { AnswerOf, ReadKind, RequestOf, VectorSearch } from '../../shared/shard/shard-read';
import type { Clock } from '../../shared/time/clock';
import { sharedDeadline } from '../../shared/time/shared-clock';
import { inSlices } from '../../shared/time/work-slices';
import { TURN_MS, Turns } from '../http/turns';
import type { ThreadPeer } from '../../shared/threads/thread-peer';

/**
 * The shards of this process on a front thread. Vectors are searched here, in the shards' shared memory, where that is
 * enough; else the main thread does the shard's part. Searches here occupy the thread, so after some milliseconds of them
 * in one round of the event loop, further ones wait for turns.
 */
export class FrontShards implements Pick<ShardClient, 'read' | 'write'> {
  private readonly main: Pick<ThreadPeer, 'ask' | 'hand'>;
  private readonly inline: InlineSearches | null;
  private readonly clock: Clock;
  private readonly turns = new Turns();
  /** Time of searches in this round of the event loop. */
  private spentMs = 0;

  constructor(parts: { main: Pick<ThreadPeer, 'ask' | 'hand'>; inline: InlineSearches | null; clock: Clock }) {
    this.main = parts.main;
    this.inline = parts.inline;
    this.clock = parts.clock;
  }

  read<Kind extends ReadKind>(id: ShardId, kind: Kind, request: RequestOf<Kind>, call: CallOptions): Promise<AnswerOf<Kind>> {
    if (kind !== 'search' || this.inline === null) return this.ask(id, kind, request, call);
    if (this.spentMs < TURN_MS) return this.search(id, kind, request, call);
    return this.turns.next().then(() => this.search(id, kind, request, call));
  }

  /** One buffer goes over, instead of thousands of objects that would be copied one by one. */
  async write(id: ShardId, operations: WriteOperation[], call: CallOptions): Promise<WriteResult> {
    const bytes = await inSlices(operationsToBytesInSteps(operations, { counted: true, timed: true }));
    const [outcomes, versions] = await this.main.hand<[Uint8Array, Uint8Array]>('shards.write', bytes, id, sharedDeadline(call.deadlineMs, this.clock));
    return resultFromBytes(outcomes, versions);
  }

  private async search<Kind extends ReadKind>(id: ShardId, kind: Kind, request: RequestOf<Kind>, call: CallOptions): Promise<AnswerOf<Kind>> {
    const { note } = call;
    const startMs = this.clock.monotonicMs();
    note?.begun();
    const found = this.inline?.search(id, request as VectorSearch) ?? null;
    if (this.spentMs === 0) setImmediate(() => (this.spentMs = 0));
    this.spentMs += this.clock.monotonicMs() - startMs;
    if (found === null) return this.ask(id, kind, request, call);
    if (note !== undefined) note.place = 'inline';
    return found as AnswerOf<Kind>;
  }

  private async ask<Kind extends ReadKind>(id: ShardId, kind: Kind, request: RequestOf<Kind>, call: CallOptions): Promise<AnswerOf<Kind>> {
    // A thread takes all messages that are there in one go, and what they carry is copied then: long ones come one by one.
    if (isLong(request)) await this.main.ask('turn');
    const asked = [id, kind, withOwnVector(request), sharedDeadline(call.deadlineMs, this.clock)];
    return call.note === undefined ? this.main.ask('shards.read', ...asked) : this.askNoted(asked, call.note);
  }

  private async askNoted<Answer>(asked: unknown[], note: ShardNote): Promise<Answer> {
    const sentMs = this.clock.monotonicMs();
    const { answer, served } = await this.main.ask<{ answer: Answer; served: ServedTimes | null }>('shards.notedRead', ...asked);
    // On its way to the other thread and back it waits, too.
    if (served !== null) note.served = { waitMs: sentMs - note.startMs + served.waitMs, runMs: served.runMs };
    return answer;
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
