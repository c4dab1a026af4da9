import { type RequestHead, RequestHeads } from '../../../../../coordinator/api/fast-path/request-head';

const read = (text: string, heads = new RequestHeads()): RequestHead | null => heads.read(Buffer.from(text, 'latin1'));

test('a plain head is read, with the bytes of head and body', () => {
  const text =
    'POST /v1/x?a=%20b HTTP/1.1\r\nHost: a:1\r\nContent-Length: 12\r\nx-api-key:  s e\tcret \t\r\nEmpty:\r\nConnection: Keep-Alive\r\n\r\n';
  expect(read(`${text}{"a":1}`)).toEqual({
    method: 'POST',
    target: '/v1/x?a=%20b',
    headers: { host: 'a:1', 'content-length': '12', 'x-api-key': 's e\tcret', empty: '', connection: 'Keep-Alive' },
    bytes: text.length,
    bodyBytes: 12,
  });
  expect(read('GET / HTTP/1.1\r\n\r\n')).toEqual({ method: 'GET', target: '/', headers: {}, bytes: 18, bodyBytes: 0 });
});

const post = (...lines: string[]): string => ['POST /v1/x HTTP/1.1', ...lines, '', ''].join('\r\n');

const REFUSED: [string, string][] = [
  ['not complete', 'GET / HTTP/1.1\r\nhost: x\r\n'],
  ['another version', 'GET / HTTP/1.0\r\n\r\n'],
  ['no version', 'GET /\r\n\r\n'],
  ['a method whose answer has no body', 'HEAD / HTTP/1.1\r\n\r\n'],
  ['a method in small letters', 'post / HTTP/1.1\r\n\r\n'],
  ['an absolute target', 'GET http://x/ HTTP/1.1\r\n\r\n'],
  ['a space too many', 'GET  / HTTP/1.1\r\n\r\n'],
  ['a space in the target', 'GET /a b HTTP/1.1\r\n\r\n'],
  ['a target that is not ASCII', 'GET /\xe4 HTTP/1.1\r\n\r\n'],
  ['an empty line before it', '\r\nGET / HTTP/1.1\r\n\r\n'],
  ['a line without a colon', post('host')],
  ['a name that is empty', post(': x')],
  ['a space before the colon', post('host : x')],
  ['a name with an underscore', post('x_api_key: x')],
  ['a name that every object has', post('constructor: x')],
  ['a value over two lines', post('host: a', ' b')],
  ['a bare line feed', post('host: a\nx: b')],
  ['a bare carriage return', post('host: a\rb')],
  ['a zero byte', post('host: a\0b')],
  ['a value that is not ASCII', post('host: \xe4')],
  ['a header twice', post('cookie: a', 'Cookie: b')],
  ['two lengths', post('content-length: 1', 'content-length: 1')],
  ['a length with a sign', post('content-length: +1')],
  ['a length with a zero before it', post('content-length: 01')],
  ['a length that is a list', post('content-length: 1, 1')],
  ['an empty length', post('content-length:')],
  ['a length beyond all', post('content-length: 9999999999')],
  ['chunks', post('transfer-encoding: chunked')],
  ['an expectation', post('expect: 100-continue')],
  ['an upgrade', post('connection: upgrade', 'upgrade: x')],
  ['the end of the connection', post('connection: close')],
  ['a packed body', post('content-encoding: gzip')],
  ['too many headers', post(...Array.from({ length: 41 }, (_, i) => `x-${i}: 1`))],
  ['a long head', post(`x: ${'a'.repeat(4096)}`)],
];

test.each(REFUSED)('left to the server: %s', (_, text) => {
  expect(read(text)).toBeNull();
});

test('a head is read as if it were the first of its connection, whatever came before', () => {
  const alike = ['1', '12', '123456789', '0'].map((length) => post('host: a', `Content-Length: ${length}`, 'x: 1'));
  const texts = [
    ...alike,
    ...[
      '',
      '-1',
      '+1',
      '01',
      '1 2',
      '1,2',
      '0x1',
      '1e3',
      '1234567890',
      ' 7 ',
      '\t7',
      '7\r\ny: 2',
      '7\r\nContent-Length: 7',
      '٣',
    ].map((length) => post('host: a', `Content-Length: ${length}`, 'x: 1')),
    post('host: a', 'x: 1'),
    post('host: b', 'Content-Length: 12', 'x: 1'),
    post('host: a', 'Content-Length: 12', 'x: 2'),
    post('host: a', 'Content-Length: 12', 'x: 1', 'y: 1'),
    post('content-length: 1'),
    post('Content-Length:1'),
    post('Content-Length:  1 '),
    post('x: Content-Length: 1', 'Content-Length: 1'),
    'GET / HTTP/1.1\r\n\r\n',
    'GET / HTTP/1.1\r\nhost: a\r\n\r\n',
    'GET / HTTP/1.1\r\nhost: a\r\nx: 1\r\n\r\n',
    ...REFUSED.map(([, text]) => text),
  ];
  for (const before of texts) {
    for (const text of texts) {
      const heads = new RequestHeads();
      read(before, heads);
      expect(read(text, heads)).toEqual(read(text));
      // Whoever got one may keep it.
      const kept = read(text, heads);
      for (const other of alike) read(other, heads);
      expect(kept).toEqual(read(text));
    }
  }
});
