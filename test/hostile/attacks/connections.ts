import { attack, type Attack, get, giants, library, post, randomVector } from '../attack';

const SMALL_HEADERS = Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`x-${i}`, 'a'.repeat(20)]));

/** What is wrong is not the request but how it comes, or how often. */
export const CONNECTION_ATTACKS: Attack[] = [
  attack({ name: 'scrapers', lanes: 5, shots: () => [get('/metrics')] }),
  attack({ name: 'openapi', lanes: 2, shots: () => [get('/openapi.json'), get('/docs')] }),
  attack({
    name: 'bad-keys',
    lanes: 4,
    shots: (random) => [get('/v1/collections', { 'x-api-key': `qv_${random()}` })],
  }),
  attack({
    name: 'unknown-paths',
    lanes: 4,
    shots: (random) => [get(`/v1/${String(random()).repeat(400)}`), get(`/v1${'/a'.repeat(3_000)}`)],
  }),
  attack({ name: 'long-headers', lanes: 4, shots: () => [get('/v1/health', { 'x-long': 'a'.repeat(30_000) })] }),
  attack({ name: 'many-headers', lanes: 4, shots: () => [get('/v1/health', SMALL_HEADERS)] }),
  attack({
    name: 'too-many-header-bytes',
    lanes: 4,
    shots: () => [get('/v1/health', { 'x-long': 'a'.repeat(200_000) })],
  }),
  attack({
    name: 'small-searches',
    lanes: 4,
    shots: (random) => [post(library('search'), { vector: randomVector(random), k: 10 })],
  }),
  attack({
    name: 'pipelined-searches',
    mode: 'pipeline',
    lanes: 2,
    shots: (random) => [post(library('search'), { vector: randomVector(random), k: 10 })],
  }),
  attack({ name: 'pipelined-health', mode: 'pipeline', lanes: 2, shots: () => [get('/v1/health')] }),
  attack({
    name: 'http2-searches',
    mode: 'streams',
    lanes: 2,
    shots: (random) => [post(library('search'), { vector: randomVector(random), k: 10 })],
  }),
  attack({
    name: 'http2-cancelled-searches',
    mode: 'cancel',
    lanes: 2,
    shots: (random) => [post(library('search'), { vector: randomVector(random), k: 10 })],
  }),
  attack({
    name: 'http2-windowless-exports',
    mode: 'windowless',
    lanes: 2,
    holdsAnswers: true,
    shots: () => [get(library('export?limit=100000'))],
  }),
  attack({
    name: 'http2-windowless-scrolls',
    mode: 'windowless',
    lanes: 2,
    holdsAnswers: true,
    shots: () => [post(giants('scroll'), { limit: 1000 })],
  }),
  attack({
    name: 'http2-resets',
    mode: 'resets',
    lanes: 2,
    shots: (random) => [post(library('search'), { vector: randomVector(random), k: 10 })],
  }),
  attack({
    name: 'http2-resets-of-heads',
    mode: 'resets',
    lanes: 2,
    shots: () => [{ method: 'HEAD', path: '/v1/me', headers: { expect: 'nonsense' }, body: null }],
  }),
  attack({
    name: 'http2-pieces',
    mode: 'pieces',
    lanes: 2,
    shots: (random) => [post(library('search'), { vector: randomVector(random), k: 10 })],
  }),
  attack({
    name: 'http2-pieces-of-heads',
    mode: 'pieces',
    lanes: 2,
    shots: () => [{ method: 'HEAD', path: '/v1/me', headers: {}, body: Buffer.from('{}') }],
  }),
  attack({ name: 'slow-readers', mode: 'stall', lanes: 20, shots: () => [get(library('export?limit=100000'))] }),
  attack({
    name: 'slow-readers-of-hits',
    mode: 'stall',
    lanes: 5,
    shots: (random) => [post(library('search'), { vector: randomVector(random), k: 10_000 })],
  }),
  attack({
    name: 'slow-bodies',
    mode: 'drip',
    lanes: 100,
    shots: (random) => [post(library('search'), { vector: randomVector(random), k: 10, text: ' '.repeat(1_000_000) })],
  }),
  attack({
    name: 'slow-uploads',
    role: 'readwrite',
    mode: 'drip',
    lanes: 100,
    shots: () => [
      post('/v1/documents/upload', `--b\r\n${'a'.repeat(1_000_000)}`, {
        'content-type': 'multipart/form-data; boundary=b',
      }),
    ],
  }),
];
