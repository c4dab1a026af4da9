import { QuiverError } from '../../base/errors/quiver-error';
import type { ServedTimes } from '../../contract/shard/call-profile';
import type { AnswerOf, ReadKind, RequestOf } from '../../contract/shard/shard-read';
import type { Answer__Output, ReadRequest, ReadRequest__Output } from '../generated/quiver/v1/reads';
import { FRAME_BYTES } from '../streams/message-bounds';
import { type AnswerMessage, READ_CODECS, type SizedAnswer } from './read-codecs';
import { failureFromProto, failureToProto } from './wire-failure';

/** The parts of a request that vary little: the numbers, the tags, the shard's name and the id of a cursor. */
const REQUEST_BYTES = 4_096;

/** Tags, lengths and numbers of an answer. */
const ANSWER_BYTES = 128;

/** Characters. JSON.parse takes 1 ns for each in a list of texts, and 8 in small conditions. */
const LONG_FILTER_LENGTH = 64 * 1024;

/** Adds the read to `head`, which names the shard and the deadline. */
export function readRequestToProto<Kind extends ReadKind>(
  head: ReadRequest,
  kind: Kind,
  request: RequestOf<Kind>,
): ReadRequest {
  head[kind] = READ_CODECS[kind].requestToProto(request);
  return head;
}

/** Upper bound of the bytes that a read takes in a frame. */
export function readRequestBytes<Kind extends ReadKind>(kind: Kind, request: RequestOf<Kind>): number {
  return REQUEST_BYTES + READ_CODECS[kind].requestBytes(request);
}

/** Errors: internal when the kind of the read is not known here. */
export function readKindOf(proto: ReadRequest__Output): ReadKind {
  if (proto.call === undefined) throw new QuiverError('internal', 'a read of a kind that this node does not know');
  return proto.call;
}

/** Whether the filter of the request takes more than half a millisecond to parse. Such requests are read in turns. */
export function isLongRead(kind: ReadKind, proto: ReadRequest__Output): boolean {
  const request = proto[kind];
  return request !== null && request !== undefined && 'filter' in request && request.filter.length > LONG_FILTER_LENGTH;
}

/** The request of a read of this kind. Errors: internal when it is malformed. */
export function readRequestFromProto<Kind extends ReadKind>(kind: Kind, proto: ReadRequest__Output): RequestOf<Kind> {
  const request = proto[kind];
  if (!request) throw new QuiverError('internal', `a read without its ${kind}`);
  return READ_CODECS[kind].requestFromProto(request);
}

/**
 * The messages that carry an answer: one, unless its list is longer than a frame. `served`: what it took, of a call
 * that was noted.
 */
export function readAnswerToProto<Kind extends ReadKind>(
  id: number,
  kind: Kind,
  answer: AnswerOf<Kind>,
  served: ServedTimes | null = null,
): SizedAnswer[] {
  const whole = READ_CODECS[kind].answerToProto(answer);
  const { message } = whole;
  message.id = id;
  if (served !== null) message.served = served;
  whole.bytes += ANSWER_BYTES;
  const list = message.hits ?? message.items;
  if (list === undefined) return [whole];
  message.more = false;
  return list.length <= FRAME_BYTES ? [whole] : inParts(message, list);
}

/** The message that carries an error. */
export function readErrorToProto(id: number, error: unknown): SizedAnswer {
  const failure = failureToProto(error);
  return { message: { id, failure }, bytes: ANSWER_BYTES + failure.message.length * 3 };
}

/** Joins the messages of an answer. */
export class ReadAnswer<Kind extends ReadKind> {
  private readonly parts: Buffer[] = [];

  /** `packed`: of a search, whether its hits may stay bytes. */
  constructor(
    private readonly kind: Kind,
    private readonly packed = false,
  ) {}

  /**
   * Adds the next message; undefined while more follow. Errors: what the other side reported; internal when malformed.
   */
  add(message: Answer__Output): AnswerOf<Kind> | undefined {
    const { parts } = this;
    const part = message.hits ?? message.items;
    if (part !== undefined && (message.more || parts.length > 0)) {
      parts.push(part);
      if (message.more) return undefined;
      message[message.hits ? 'hits' : 'items'] = Buffer.concat(parts);
    }
    if (message.failure) throw failureFromProto(message.failure);
    const answer = READ_CODECS[this.kind].answerFromProto(message, this.packed);
    if (answer === undefined)
      throw new QuiverError(
        'internal',
        `a node answered ${this.kind} with ${message.result ?? 'nothing that is known here'}`,
      );
    return answer;
  }
}

function inParts(whole: AnswerMessage, list: Buffer): SizedAnswer[] {
  const parts: SizedAnswer[] = [];
  for (let from = 0; from < list.length; from += FRAME_BYTES) {
    const part = list.subarray(from, from + FRAME_BYTES);
    const message = { ...whole, more: from + FRAME_BYTES < list.length };
    message[whole.hits ? 'hits' : 'items'] = part;
    parts.push({ message, bytes: part.length + ANSWER_BYTES });
  }
  return parts;
}
