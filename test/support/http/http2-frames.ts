/** HTTP/2 as bytes (RFC 9113), for clients that do what no library does. */

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

export const TYPES = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;
export const FLAGS = { endStream: 1, endHeaders: 4 } as const;
export const NO_ERROR = 0;
export const CANCEL = 8;

export function frameOf(
  type: number,
  { flags = 0, stream = 0, content = Buffer.alloc(0) }: { flags?: number; stream?: number; content?: Buffer } = {},
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(content.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, content]);
}

/** The preface and settings (id, value), none by default. */
export function beginning(settings: readonly (readonly [number, number])[] = []): Buffer {
  const content = Buffer.concat(
    settings.map(([id, value]) => {
      const one = Buffer.alloc(6);
      one.writeUInt16BE(id, 0);
      one.writeUInt32BE(value, 2);
      return one;
    }),
  );
  return Buffer.concat([PREFACE, frameOf(TYPES.settings, { content })]);
}

/** HEADERS of a request, whose fields are written out and not remembered (RFC 7541, section 6.2.2). */
export function headersOf(
  stream: number,
  fields: readonly (readonly [string, string])[],
  flags: number = FLAGS.endHeaders,
): Buffer {
  return frameOf(TYPES.headers, {
    flags,
    stream,
    content: Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), textOf(name), textOf(value)])),
  });
}

export function resetOf(stream: number, code: number = CANCEL): Buffer {
  const content = Buffer.alloc(4);
  content.writeUInt32BE(code);
  return frameOf(TYPES.rstStream, { stream, content });
}

export function goAwayOf(lastStream: number, code: number = NO_ERROR): Buffer {
  const content = Buffer.alloc(8);
  content.writeUInt32BE(lastStream, 0);
  content.writeUInt32BE(code, 4);
  return frameOf(TYPES.goAway, { content });
}

/** The length takes seven bits, and more bytes where it is longer (section 5.1). */
function textOf(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  const length: number[] = [];
  if (bytes.length < 127) length.push(bytes.length);
  else {
    length.push(127);
    let rest = bytes.length - 127;
    for (; rest >= 128; rest = Math.floor(rest / 128)) length.push((rest % 128) + 128);
    length.push(rest);
  }
  return Buffer.concat([Buffer.from(length), bytes]);
}
