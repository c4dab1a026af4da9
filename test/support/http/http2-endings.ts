import { CANCEL, FLAGS, frameOf, goAwayOf, headersOf, NO_ERROR, resetOf, TYPES } from './http2-frames';

type Fields = readonly (readonly [string, string])[];

function requestOf(method: string, path: string, ...more: Fields): Fields {
  return [[':method', method], [':path', path], [':scheme', 'https'], [':authority', 'a'], ...more];
}

/**
 * Requests that servers treat in ways of their own, or whose headers do not belong into HTTP/2, by name. `secret`: of a
 * key.
 */
export function specialRequests(secret: string): Record<string, Fields> {
  const key = ['x-api-key', secret] as const;
  return {
    plain: requestOf('GET', '/v1/me', key),
    'an unknown expectation': requestOf('GET', '/', ['expect', 'nonsense']),
    'two expectations': requestOf('POST', '/v1/collections', key, ['expect', '100-continue'], ['expect', 'nonsense']),
    'an expectation in capitals': requestOf('POST', '/v1/collections', key, ['expect', '100-CONTINUE']),
    'an invitation': requestOf('POST', '/v1/collections', key, ['expect', '100-continue'], ['content-length', '2']),
    'an invitation for nobody': requestOf('POST', '/v1/collections', ['expect', '100-continue']),
    HEAD: requestOf('HEAD', '/v1/me', key),
    'HEAD of the page': requestOf('HEAD', '/ui'),
    'HEAD of the explorer': requestOf('HEAD', '/docs/'),
    CONNECT: [
      [':method', 'CONNECT'],
      [':authority', 'elsewhere:443'],
    ],
    'CONNECT of a protocol': requestOf('CONNECT', '/', [':protocol', 'websocket']),
    'OPTIONS of all': requestOf('OPTIONS', '*'),
    'an unknown method': requestOf('PROPFIND', '/v1/me', key),
    'a body of unknown length': requestOf('POST', '/v1/collections', key),
    'a body of another length': requestOf('POST', '/v1/collections', key, ['content-length', '5']),
    'a packed body': requestOf('POST', '/v1/collections', key, ['content-encoding', 'gzip']),
    'a form': requestOf('POST', '/v1/documents/upload', key, ['content-type', 'multipart/form-data; boundary=b']),
    'headers of connections': requestOf(
      'GET',
      '/v1/me',
      key,
      ['connection', 'upgrade, http2-settings'],
      ['upgrade', 'h2c'],
      ['http2-settings', 'AAMAAABkAAQAAP__'],
    ),
    'a transfer encoding': requestOf('POST', '/v1/collections', key, ['transfer-encoding', 'chunked']),
    'what it takes': requestOf('GET', '/v1/me', key, ['te', 'trailers'], ['trailer', 'x-end']),
    'no path': [
      [':method', 'GET'],
      [':scheme', 'https'],
      [':authority', 'a'],
    ],
    'a path of another kind': requestOf('GET', 'http://elsewhere/', key),
    'two paths': requestOf('GET', '/', [':path', '/v1/me']),
    'a status': requestOf('GET', '/', [':status', '200']),
    'a priority': requestOf('GET', '/v1/me', key, ['priority', 'u=9, i']),
    'an export': requestOf('GET', '/v1/collections/c/export', key),
    metrics: requestOf('GET', '/metrics'),
  };
}

/** What may follow the request of a stream in the same piece, by name. `null`: the connection ends behind it. */
export const ENDINGS: Record<string, (stream: number) => (Buffer | null)[]> = {
  nothing: () => [],
  'a reset': (stream) => [resetOf(stream)],
  'a reset without an error': (stream) => [resetOf(stream, NO_ERROR)],
  'two resets': (stream) => [resetOf(stream), resetOf(stream)],
  'the body': (stream) => [dataOf(stream, FLAGS.endStream)],
  'the body and a reset': (stream) => [dataOf(stream, FLAGS.endStream), resetOf(stream)],
  'part of the body and a reset': (stream) => [dataOf(stream, 0), resetOf(stream, CANCEL)],
  'trailers and a reset': (stream) => [
    dataOf(stream, 0),
    headersOf(stream, [['x-end', '1']], FLAGS.endHeaders | FLAGS.endStream),
    resetOf(stream),
  ],
  'trailers with a status': (stream) => [headersOf(stream, [[':status', '421']], FLAGS.endHeaders | FLAGS.endStream)],
  'headers of no end': (stream) => [headersOf(stream, [['x-more', '1']], FLAGS.endHeaders)],
  'data behind the end': (stream) => [dataOf(stream, FLAGS.endStream), dataOf(stream, 0)],
  'a window that is too large': (stream) => [
    frameOf(TYPES.windowUpdate, { stream, content: Buffer.from([0x7f, 0xff, 0xff, 0xff]) }),
  ],
  'a window of nothing': (stream) => [frameOf(TYPES.windowUpdate, { stream, content: Buffer.alloc(4) })],
  'a priority on itself': (stream) => [
    frameOf(TYPES.priority, { stream, content: Buffer.from([0, 0, 0, stream, 15]) }),
  ],
  'a goodbye': (stream) => [goAwayOf(stream)],
  'a frame of the other side': (stream) => [
    frameOf(TYPES.pushPromise, { flags: FLAGS.endHeaders, stream, content: Buffer.from([0, 0, 0, 2]) }),
  ],
  'a frame of no kind': (stream) => [frameOf(0xfe, { flags: 0xff, stream, content: Buffer.alloc(20) })],
  'the end of the connection': () => [null],
  'the body and the end of the connection': (stream) => [dataOf(stream, FLAGS.endStream), null],
};

function dataOf(stream: number, flags: number): Buffer {
  return frameOf(TYPES.data, { flags, stream, content: Buffer.from('{}') });
}
