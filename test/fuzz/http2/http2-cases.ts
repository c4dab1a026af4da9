import { ENDINGS, specialRequests } from '../../support/http/http2-endings';
import { beginning, FLAGS, frameOf, goAwayOf, headersOf, resetOf, TYPES } from '../../support/http/http2-frames';
import { below, pick } from '../fuzz-target';
import type { RequestCases } from '../http/request-cases';
import { type Field, ODD_FIELDS, WRONG_FIELDS, WRONG_HEADS } from './http2-fields';
import type { Http2Case } from './http2-case';

const METHODS = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'PRI',
  'QUERY',
  'M-SEARCH',
  'get',
];
const STREAMS_MAX = 8;
const RESETS_MAX = 80;
const FLOOD_MAX = 40;
/** Larger frames are none without a setting of the server's (RFC 9113, section 4.2). */
const FRAME_BYTES_MAX = 16_384;
const FRAMES_MAX = 40;
/** Of all bodies of a connection: more may not come before the server has said so (section 6.9.2). */
const BODIES_BYTES_MAX = 65_535;
const WRONG_BODY_BYTES_MAX = 200_000;
const WINDOW_MAX = 2 ** 31 - 1;
/** Settings of a client: no table of fields, so that an answer's status can be read, and room for whole answers. */
const SETTINGS = { table: [1, 0], push: [2, 0], window: [4, WINDOW_MAX], noWindow: [4, 0] } as const;
const ERROR_CODES = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0xffffffff];

/** One request: the frames of its stream in their order, and whether it is one that is answered. */
interface Stream {
  frames: Buffer[];
  isDue: boolean;
  bodyBytes: number;
}

/**
 * Connections of HTTP/2 with one to eight requests, right, odd or wrong in their headers, bodies and ends, and frames
 * between them.
 */
export class Http2Cases {
  private readonly special: (readonly Field[])[];

  constructor(private readonly parts: { requests: RequestCases; key: string }) {
    this.special = Object.values(specialRequests(parts.key));
  }

  generate(random: () => number): Http2Case {
    const isRight = random() < 0.4;
    const isWindowless = !isRight && random() < 0.1;
    const settings = [
      SETTINGS.table,
      isWindowless ? SETTINGS.noWindow : SETTINGS.window,
      ...(random() < 0.3 ? [SETTINGS.push] : []),
    ];
    const window = frameOf(TYPES.windowUpdate, { content: Buffer.from([0x7f, 0xff, 0, 0]) });
    const frames: { stream: number; bytes: Buffer }[] = [
      { stream: 0, bytes: Buffer.concat([beginning(settings), ...(isWindowless ? [] : [window])]) },
    ];
    const due: number[] = [];
    const open: { id: number; left: Buffer[] }[] = [];
    let nextId = 1;
    let room = BODIES_BYTES_MAX;
    for (let streams = 1 + below(random, STREAMS_MAX); streams > 0 || open.length > 0;) {
      if (random() < 0.15) frames.push(...this.between(random, isRight).map((bytes) => ({ stream: 0, bytes })));
      if (streams > 0 && (open.length === 0 || random() < 0.5)) {
        streams -= 1;
        const id = nextId;
        nextId += 2;
        const stream = this.stream(random, id, isRight ? room : null);
        room -= stream.bodyBytes;
        if (stream.isDue) due.push(id);
        // Streams begin by their numbers.
        frames.push({ stream: id, bytes: stream.frames[0] });
        if (stream.frames.length > 1) open.push({ id, left: stream.frames.slice(1) });
      }
      if (!isRight && random() < 0.08) {
        for (let resets = 1 + below(random, RESETS_MAX); resets > 0; resets -= 1, nextId += 2)
          frames.push({
            stream: nextId,
            bytes: Buffer.concat([
              headersOf(nextId, this.fields(random, isRight), FLAGS.endHeaders | FLAGS.endStream),
              resetOf(nextId, pick(random, ERROR_CODES)),
            ]),
          });
      }
      if (open.length === 0) continue;
      const place = below(random, open.length);
      const { id, left } = open[place];
      // A whole stream in a row, so that it is in one piece, or a frame of it.
      for (let count = random() < 0.5 ? left.length : 1; count > 0; count -= 1)
        frames.push({ stream: id, bytes: left.shift()! });
      if (left.length === 0) open.splice(place, 1);
    }
    const cuts =
      random() < 0.6
        ? []
        : [...new Set(Array.from({ length: 1 + below(random, 4) }, () => 1 + below(random, frames.length)))]
            .filter((at) => at < frames.length)
            .sort((a, b) => a - b);
    return {
      frames: frames.map(({ stream, bytes }) => ({ stream, bytes: bytes.toString('base64') })),
      cuts,
      // One mistake may take the connection with it.
      due: isRight ? due : [],
      end: random() < 0.8 ? 'answered' : pick(random, ['closed', 'reset'] as const),
    };
  }

  /** `room`: for the body of a right request; null: of one that need not be right. */
  private stream(random: () => number, id: number, room: number | null): Stream {
    const { body } = this.parts.requests.request(random);
    const fields = this.fields(random, room !== null);
    const content = random() < 0.4 ? null : (body ?? Buffer.from('{}')).subarray(0, room ?? WRONG_BODY_BYTES_MAX);
    const bodyBytes = content?.length ?? 0;
    if (room !== null) return { frames: this.rightEnd(random, id, fields, content), isDue: true, bodyBytes };
    if (random() < 0.5) {
      const ending = pick(random, Object.values(ENDINGS))(id);
      const flags = random() < 0.2 ? FLAGS.endHeaders | FLAGS.endStream : FLAGS.endHeaders;
      return {
        frames: [Buffer.concat([headersOf(id, fields, flags), ...ending.filter((frame) => frame !== null)])],
        isDue: false,
        bodyBytes,
      };
    }
    const frames = this.rightEnd(random, id, fields, content);
    if (random() < 0.7) frames.splice(1 + below(random, frames.length), 0, resetOf(id, pick(random, ERROR_CODES)));
    return { frames: random() < 0.5 ? [Buffer.concat(frames)] : frames, isDue: false, bodyBytes };
  }

  private fields(random: () => number, isRight: boolean): Field[] {
    if (!isRight && random() < 0.3) return [...pick(random, this.special)];
    const { method, path, headers } = this.parts.requests.request(random);
    const head: Field[] = [
      [':method', random() < 0.3 ? pick(random, METHODS) : method],
      [':scheme', 'https'],
      [':path', path],
      [':authority', pick(random, ['a', 'a', 'localhost:1', '[::1]'])],
    ];
    const fields: Field[] = [...Object.entries(headers)];
    // Of some names there may be one field alone.
    const picked = new Map(
      Array.from({ length: below(random, 4) }, () => pick(random, ODD_FIELDS)).map((group) => [group[0][0], group]),
    );
    const odd = [...picked.values()].flat();
    if (isRight) return [...head, ...fields, ...odd];
    const wrong = Array.from({ length: below(random, 3) }, () => pick(random, WRONG_FIELDS)).flat();
    return [...(random() < 0.2 ? pick(random, WRONG_HEADS) : head), ...fields, ...odd, ...wrong];
  }

  /** Headers, the body, and one of the ways in which a request ends. */
  private rightEnd(random: () => number, id: number, fields: readonly Field[], body: Buffer | null): Buffer[] {
    const trailers = headersOf(
      id,
      [['x-end', '1'], ...(random() < 0.3 ? [['x-api-key', 'another'] as const] : [])],
      FLAGS.endHeaders | FLAGS.endStream,
    );
    if (body === null)
      return random() < 0.8
        ? [inParts(random, headersOf(id, fields, FLAGS.endHeaders | FLAGS.endStream))]
        : [inParts(random, headersOf(id, fields)), trailers];
    const frames: Buffer[] = [inParts(random, headersOf(id, fields))];
    const step = Math.max(1 + below(random, FRAME_BYTES_MAX), Math.ceil(body.length / FRAMES_MAX));
    for (let at = 0; at < body.length; at += step)
      frames.push(frameOf(TYPES.data, { stream: id, content: body.subarray(at, at + step) }));
    if (random() < 0.2) frames.push(trailers);
    else frames.push(frameOf(TYPES.data, { flags: FLAGS.endStream, stream: id }));
    return frames;
  }

  /** Frames of the connection: few of a flood, and ends of it. */
  private between(random: () => number, isRight: boolean): Buffer[] {
    const many = (frame: (i: number) => Buffer): Buffer[] =>
      Array.from({ length: 1 + below(random, isRight ? 3 : FLOOD_MAX) }, (_, i) => frame(i));
    switch (below(random, isRight ? 4 : 8)) {
      case 0:
        return many((i) => frameOf(TYPES.ping, { content: Buffer.alloc(8, i) }));
      case 1:
        return many(() => frameOf(TYPES.settings, { content: Buffer.from([0, 6, 0, 1, 0, 0]) }));
      case 2:
        return many((i) => frameOf(TYPES.priority, { stream: 1_001 + 2 * i, content: Buffer.from([0, 0, 0, 0, i]) }));
      case 3:
        return [frameOf(0xfa, { flags: 0xff, content: Buffer.alloc(below(random, 300)) })];
      case 4:
        return [goAwayOf(below(random, 9), pick(random, ERROR_CODES))];
      case 5:
        return many(() =>
          frameOf(TYPES.settings, {
            content: Buffer.from([
              0,
              4,
              ...Buffer.from(pick(random, ['00000000', '0000ffff', '7fffffff', 'ffffffff']), 'hex'),
            ]),
          }),
        );
      case 6:
        return many(() =>
          frameOf(TYPES.windowUpdate, {
            content: Buffer.from(pick(random, ['00000000', '00000001', '7fffffff']), 'hex'),
          }),
        );
      default:
        return [
          frameOf(pick(random, [0, 1, 2, 3, 4, 5, 6, 8, 9]), {
            flags: pick(random, [0, 1, 4, 5, 8, 0x20, 0xff]),
            stream: below(random, 20),
            content: Buffer.alloc(pick(random, [0, 1, 4, 5, 6, 8])),
          }),
        ];
    }
  }
}

/** HEADERS as they are, or cut into frames of CONTINUATION, as they must be where they are long. */
function inParts(random: () => number, headers: Buffer): Buffer {
  const content = headers.subarray(9);
  if (content.length < FRAME_BYTES_MAX && random() < 0.8) return headers;
  const [flags, stream] = [headers[4], headers.readUInt32BE(5)];
  const step = Math.min(FRAME_BYTES_MAX, Math.max(1, Math.ceil(content.length / (1 + below(random, 5)))));
  const parts: Buffer[] = [];
  for (let at = 0; at === 0 || at < content.length; at += step) {
    const isLast = at + step >= content.length;
    const type = at === 0 ? TYPES.headers : TYPES.continuation;
    parts.push(
      frameOf(type, {
        flags: (at === 0 ? flags & FLAGS.endStream : 0) | (isLast ? FLAGS.endHeaders : 0),
        stream,
        content: content.subarray(at, at + step),
      }),
    );
  }
  return Buffer.concat(parts);
}
