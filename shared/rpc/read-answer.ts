import { QuiverError } from '../errors/quiver-error';
import type { Hit, KeywordStatistics, ShardStatus, StoredItem } from '../shard/shard-client';
import type { Answer, Answer__Output } from './generated/quiver/v1/reads';
import { hitsFromBytes, hitsToBytes } from './hit-codec';
import { itemsFromBytes, itemsToBytes } from './item-codec';
import { FRAME_BYTES } from './message-bounds';
import { failureFromProto, failureToProto } from './wire-failure';

/** What a read of a shard gives, as a value. */
export type ReadResult =
  /** `vectorCount` is the shard's; known only for a search. */
  | { type: 'hits'; hits: Hit[]; vectorCount: number }
  | { type: 'items'; items: (StoredItem | null)[] }
  | { type: 'keywordStatistics'; statistics: KeywordStatistics }
  | { type: 'count'; count: number }
  | { type: 'status'; status: ShardStatus };

/** Tags, lengths and the numbers of what is no list. */
const FIXED_BYTES = 128;
const LIST_ENTRY_BYTES = 48;

/** A result as the answers that carry it, with the bytes that each takes at most. */
export function readResultToProto(id: number, result: ReadResult): { answer: Answer; bytes: number }[] {
  switch (result.type) {
    case 'hits':
      return inParts(hitsToBytes(result.hits), (hits, more) => ({ id, more, hits, vectorCount: result.vectorCount }));
    case 'items':
      return inParts(itemsToBytes(result.items), (items, more) => ({ id, more, items }));
    case 'keywordStatistics': {
      const bytes = FIXED_BYTES + result.statistics.documentFrequencies.length * LIST_ENTRY_BYTES;
      return [{ answer: { id, keywordStatistics: result.statistics }, bytes }];
    }
    case 'count':
      return [{ answer: { id, count: result.count }, bytes: FIXED_BYTES }];
    case 'status': {
      const { segments } = result.status;
      const status = { ...result.status, segments: segments.map(({ kind, ...counts }) => ({ sealed: kind === 'sealed', ...counts })) };
      return [{ answer: { id, status }, bytes: FIXED_BYTES + segments.length * LIST_ENTRY_BYTES }];
    }
  }
}

/** The answer that carries an error. */
export function readErrorToProto(id: number, error: unknown): { answer: Answer; bytes: number } {
  const failure = failureToProto(error);
  return { answer: { id, failure }, bytes: FIXED_BYTES + failure.message.length * 3 };
}

/** Puts the answers to one request together. */
export class ReadAnswer {
  private readonly parts: Buffer[] = [];

  /** Takes the next answer: undefined while there are more. Errors: what the other side reported; internal when malformed. */
  add(answer: Answer__Output): ReadResult | undefined {
    const part = answer.hits ?? answer.items;
    if (part && answer.more) {
      this.parts.push(part);
      return undefined;
    }
    if (part) {
      const bytes = this.parts.length === 0 ? part : Buffer.concat([...this.parts, part]);
      return answer.hits ? { type: 'hits', hits: hitsFromBytes(bytes), vectorCount: answer.vectorCount } : { type: 'items', items: itemsFromBytes(bytes) };
    }
    if (answer.failure) throw failureFromProto(answer.failure);
    if (answer.keywordStatistics) return { type: 'keywordStatistics', statistics: answer.keywordStatistics };
    if (answer.status) {
      const { segments, ...totals } = answer.status;
      const status: ShardStatus = { ...totals, segments: segments.map(({ sealed, ...counts }) => ({ kind: sealed ? 'sealed' : 'growing', ...counts })) };
      return { type: 'status', status };
    }
    if (answer.result === 'count') return { type: 'count', count: answer.count as number };
    throw new QuiverError('internal', 'an answer of a kind that is not known here');
  }
}

function inParts(bytes: Buffer, answerOf: (part: Buffer, more: boolean) => Answer): { answer: Answer; bytes: number }[] {
  const parts: { answer: Answer; bytes: number }[] = [];
  for (let from = 0; from === 0 || from < bytes.length; from += FRAME_BYTES) {
    const part = bytes.subarray(from, from + FRAME_BYTES);
    parts.push({ answer: answerOf(part, from + FRAME_BYTES < bytes.length), bytes: part.length + FIXED_BYTES });
  }
  return parts;
}
