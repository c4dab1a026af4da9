import { FLAGS, TYPES } from '../../support/http/http2-frames';
import type { RawAnswer } from '../http/raw-answer';

const HEAD_BYTES = 9;
/**
 * Marks of a header field (RFC 7541, section 6): one of the table, a name of the table with a value, and a new size of
 * the table.
 */
const INDEXED = 0x80;
const SIZE_UPDATE = 0x20;
/** Names of the table that are `:status`, and its values there. */
const STATUS_FROM = 8;
const STATUSES = [200, 204, 206, 304, 400, 404, 500];
/** Ten digits in the code of Huffman (appendix B): three of five bits, seven of six. */
const DIGITS = new Map(
  ['00000', '00001', '00010', '011001', '011010', '011011', '011100', '011101', '011110', '011111'].map(
    (bits, digit) => [bits, digit],
  ),
);

/** What a server has sent of one stream. */
export interface StreamAnswer extends RawAnswer {
  isOver: boolean;
  /** By the server; null: not. */
  resetCode: number | null;
}

/** What a server has sent on a connection of HTTP/2 whose client keeps no table of header fields. */
export class Http2Answers {
  readonly streams = new Map<number, StreamAnswer>();
  /** Answers to PING. */
  pongs = 0;
  isLeaving = false;
  /** Bytes that are no frames of a server. */
  fault: string | null = null;
  private rest: Buffer = Buffer.alloc(0);

  take(piece: Buffer): void {
    const bytes = this.rest.length === 0 ? piece : Buffer.concat([this.rest, piece]);
    let at = 0;
    while (bytes.length - at >= HEAD_BYTES) {
      const end = at + HEAD_BYTES + bytes.readUIntBE(at, 3);
      if (end > bytes.length) break;
      this.frame(bytes[at + 3], bytes[at + 4], bytes.readUInt32BE(at + 5), bytes.subarray(at + HEAD_BYTES, end));
      at = end;
    }
    this.rest = bytes.subarray(at);
  }

  private frame(type: number, flags: number, stream: number, content: Buffer): void {
    if (type > TYPES.continuation || type === TYPES.pushPromise) this.fault ??= `a frame of type ${type}`;
    if (type === TYPES.ping && (flags & FLAGS.endStream) !== 0) this.pongs += 1;
    if (type === TYPES.goAway) this.isLeaving = true;
    if (stream === 0) return;
    let answer = this.streams.get(stream);
    if (answer === undefined)
      this.streams.set(
        stream,
        (answer = { status: 0, headers: new Map(), body: Buffer.alloc(0), isOver: false, resetCode: null }),
      );
    if (type === TYPES.headers) answer.status = statusOf(content) ?? answer.status;
    if (type === TYPES.data) answer.body = Buffer.concat([answer.body, content]);
    if (type === TYPES.rstStream) {
      // An answer that was whole before stays so.
      if (!answer.isOver) answer.resetCode = content.readUInt32BE(0);
      answer.isOver = true;
    }
    if ((type === TYPES.headers || type === TYPES.data) && (flags & FLAGS.endStream) !== 0) answer.isOver = true;
  }
}

/** `:status`, which comes first; null in trailers. */
function statusOf(block: Buffer): number | null {
  let at = 0;
  while ((block[at] & 0xe0) === SIZE_UPDATE) at += 1;
  const first = block[at];
  if ((first & INDEXED) !== 0) return STATUSES[(first & 0x7f) - STATUS_FROM] ?? null;
  const name = (first & 0x40) !== 0 ? first & 0x3f : first & 0x0f;
  if (name < STATUS_FROM || name >= STATUS_FROM + STATUSES.length) return null;
  const length = block[at + 1] & 0x7f;
  const value = block.subarray(at + 2, at + 2 + length);
  return (block[at + 1] & 0x80) === 0 ? Number(value.toString('latin1')) : digitsOf(value);
}

function digitsOf(bytes: Buffer): number {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  let number = 0;
  for (let at = 0, digits = 0; digits < 3; digits += 1) {
    const length = DIGITS.has(bits.slice(at, at + 5)) ? 5 : 6;
    number = 10 * number + (DIGITS.get(bits.slice(at, at + length)) ?? 0);
    at += length;
  }
  return number;
}
