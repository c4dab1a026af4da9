import { randomBytes } from 'node:crypto';
import { HANDSHAKE_VERSION, metadataOf } from '../../../shared/wire/handshake/handshake-metadata';
import { NODES_GREETING, PROOF_GREETING, READS_GREETING } from '../../../shared/wire/frames/reads-greeting';
import { NONCE_BYTES } from '../../../shared/base/secret/member-proof';
import { beginning, FLAGS, frameOf, goAwayOf, headersOf, resetOf, TYPES } from '../../support/http/http2-frames';
import { attack, type Attack } from '../attack';

/** What members answer to each other, and what they do not. */
const METHODS = [
  '/nope/Nope',
  '/quiver.v1.Reads/Exchange',
  '/quiver.v1.Writes/Exchange',
  '/quiver.v1.Replication/Exchange',
  '/quiver.v1.Administration/Exchange',
  '/quiver.v1.Peers/Exchange',
];
const HELLO = '/quiver.v1.Members/Hello';
/** Of one write. */
const STREAMS = 50;
/** More than a connection may have open at once. */
const STREAMS_TOO_MANY = 2_000;
const RESETS = 500;
const FLOOD = 2_000;
/** Lanes of each of eight strangers: most stay open and say nothing. */
const IDLE_LANES = 150;
const LANES = 4;

/** Numbers in a row. */
function times<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i));
}

function call(
  path: string,
  more: readonly (readonly [string, string])[] = [],
  type = 'application/grpc',
): (readonly [string, string])[] {
  return [
    [':method', 'POST'],
    [':path', path],
    [':scheme', 'http'],
    [':authority', 'a'],
    ['content-type', type],
    ['te', 'trailers'],
    ...more,
  ];
}

/** The fields of a stream's proof by another secret than the cluster's. */
function wrongProof(): (readonly [string, string])[] {
  const fields = {
    version: HANDSHAKE_VERSION,
    name: 'stranger',
    nonce: randomBytes(NONCE_BYTES),
    serverNonce: randomBytes(NONCE_BYTES),
    number: '1',
    proof: randomBytes(32),
  };
  return Object.entries(metadataOf(fields).toHttp2Headers()).map(([name, value]) => [name, String(value)] as const);
}

/** Each path as many streams of one write, each ended in the same. */
function streamsOf(
  paths: readonly string[],
  fields: () => (readonly [string, string])[],
  end: (stream: number) => Buffer,
): Buffer[] {
  return paths.map((path) => {
    const streams = times(STREAMS, (i) => 1 + 2 * i).flatMap((stream) => [
      headersOf(stream, call(path, fields())),
      end(stream),
    ]);
    return Buffer.concat([beginning(), ...streams]);
  });
}

/** A message of gRPC of bytes that are none. */
function junk(stream: number): Buffer {
  return frameOf(TYPES.data, { stream, content: Buffer.from('00000000040affffff', 'hex') });
}

/** What a client of TLS sends first, of a version and with names, and the half of it. */
const CLIENT_HELLO = Buffer.from(
  `16030100c6010000c20303${'5a'.repeat(32)}20${'a5'.repeat(32)}0008130113021303c02f01000071000b000403000102000a00080006001d00170018000d0014001204030804040105030805050108060601020100100005000302683200` +
    `2b0003020304002d00020101003300260024001d0020${'11'.repeat(32)}`,
  'hex',
);

function stranger(given: Pick<Attack, 'name' | 'volleys'> & Partial<Attack>): Attack {
  return attack({ mode: 'volley', lanes: LANES, door: 'rpc', shots: () => [], ...given });
}

const RPC_STRANGERS: Attack[] = [
  stranger({
    name: 'stranger-rpc:unknown-method',
    volleys: () => streamsOf(['/nope/Nope', '/', HELLO.toLowerCase()], () => [], resetOf),
  }),
  stranger({ name: 'stranger-rpc:methods', volleys: () => streamsOf(METHODS, () => [], resetOf) }),
  stranger({
    name: 'stranger-rpc:messages',
    volleys: () =>
      streamsOf(
        METHODS,
        () => [],
        (stream) => Buffer.concat([junk(stream), resetOf(stream)]),
      ),
  }),
  stranger({
    name: 'stranger-rpc:content-types',
    volleys: () =>
      METHODS.map((path) =>
        Buffer.concat([beginning(), headersOf(1, call(path, [], 'text/plain')), resetOf(1), goAwayOf(1, 2)]),
      ),
  }),
  stranger({ name: 'stranger-rpc:wrong-secret', volleys: () => streamsOf(METHODS, wrongProof, junk) }),
  stranger({ name: 'stranger-rpc:wrong-secret-reset', volleys: () => streamsOf(METHODS, wrongProof, resetOf) }),
  stranger({
    name: 'stranger-rpc:hellos',
    volleys: () =>
      streamsOf(
        [HELLO],
        () => helloOf(),
        (stream) => frameOf(TYPES.data, { flags: FLAGS.endStream, stream, content: Buffer.alloc(5) }),
      ),
  }),
  stranger({ name: 'stranger-rpc:hellos-reset', volleys: () => streamsOf([HELLO], () => helloOf(), resetOf) }),
  stranger({
    name: 'stranger-rpc:too-many-streams',
    volleys: () => [
      Buffer.concat([beginning(), ...times(STREAMS_TOO_MANY, (i) => headersOf(1 + 2 * i, call(METHODS[1])))]),
    ],
  }),
  stranger({
    name: 'stranger-rpc:resets',
    volleys: () => [
      Buffer.concat([
        beginning(),
        ...times(RESETS, (i) =>
          Buffer.concat([headersOf(1 + 2 * i, call(METHODS[i % METHODS.length])), resetOf(1 + 2 * i)]),
        ),
      ]),
    ],
  }),
  stranger({
    name: 'stranger-rpc:floods',
    volleys: () => [
      Buffer.concat([beginning(), ...times(FLOOD, () => frameOf(TYPES.ping, { content: Buffer.alloc(8) }))]),
      Buffer.concat([
        beginning(),
        ...times(FLOOD, () => frameOf(TYPES.settings, { content: Buffer.from('00040000ffff', 'hex') })),
      ]),
      Buffer.concat([
        beginning(),
        headersOf(1, call(METHODS[1]), 0),
        ...times(FLOOD, () => frameOf(TYPES.continuation, { stream: 1, content: Buffer.from([0, 1, 97, 1, 97]) })),
      ]),
    ],
  }),
  stranger({
    name: 'stranger-rpc:greetings',
    volleys: (random) =>
      [READS_GREETING, NODES_GREETING, PROOF_GREETING].flatMap((greeting) =>
        [Buffer.alloc(0), beginning(), garbage(random), Buffer.from('ffffffff00', 'hex')].map((rest) =>
          Buffer.concat([greeting, rest]),
        ),
      ),
  }),
  stranger({
    name: 'stranger-rpc:idle-greetings',
    mode: 'idle',
    lanes: IDLE_LANES,
    volleys: () => [READS_GREETING, NODES_GREETING, PROOF_GREETING],
  }),
  stranger({ name: 'stranger-rpc:by-tls', bySecured: true, volleys: () => streamsOf(METHODS, wrongProof, resetOf) }),
];

function helloOf(): (readonly [string, string])[] {
  const fields = {
    version: HANDSHAKE_VERSION,
    name: 'stranger',
    address: '127.0.0.1:1',
    nonce: randomBytes(NONCE_BYTES),
    program: '99.0.0',
  };
  return Object.entries(metadataOf(fields).toHttp2Headers()).map(([name, value]) => [name, String(value)] as const);
}

function garbage(random: () => number): Buffer {
  return Buffer.from(times(3_000, () => Math.floor(random() * 256)));
}

/** At any port, whatever it speaks. */
const EVERYWHERE: Attack[] = (['api', 'ops', 'rpc'] as const).flatMap((door) => [
  stranger({ name: `stranger-${door}:garbage`, door, volleys: (random) => times(8, () => garbage(random)) }),
  stranger({
    name: `stranger-${door}:connections`,
    door,
    mode: 'idle',
    lanes: IDLE_LANES,
    volleys: () => [Buffer.alloc(0)],
  }),
  stranger({
    name: `stranger-${door}:coming-and-going`,
    door,
    lanes: 20,
    volleys: () => [Buffer.alloc(0), Buffer.from('G'), Buffer.from('PRI * HTTP/2.0\r\n')],
  }),
  stranger({
    name: `stranger-${door}:half-handshakes`,
    door,
    isSecured: door === 'api',
    mode: 'idle',
    lanes: IDLE_LANES,
    volleys: () => [CLIENT_HELLO, CLIENT_HELLO.subarray(0, 100)],
  }),
  stranger({
    name: `stranger-${door}:slow-handshakes`,
    door,
    isSecured: door === 'api',
    mode: 'trickle',
    lanes: IDLE_LANES,
    volleys: () => [CLIENT_HELLO],
  }),
  stranger({
    name: `stranger-${door}:handshakes`,
    door,
    isSecured: door === 'api',
    bySecured: true,
    volleys: () => [Buffer.alloc(0), Buffer.from('GET / HTTP/1.1\r\n')],
  }),
  stranger({
    name: `stranger-${door}:http2`,
    door,
    volleys: () => streamsOf(['/', '/livez', '/metrics'], () => [['expect', 'nonsense']], resetOf),
  }),
  stranger({
    name: `stranger-${door}:half-heads`,
    door,
    mode: 'trickle',
    lanes: IDLE_LANES,
    volleys: () => [Buffer.from(`GET /livez HTTP/1.1\r\nhost: a\r\nx-long: ${'a'.repeat(2_000)}`)],
  }),
]);

const OPS_STRANGERS: Attack[] = [
  stranger({
    name: 'stranger-ops:requests',
    door: 'ops',
    volleys: () => [
      Buffer.from('GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(50)),
      Buffer.from('POST /livez HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\n'),
      Buffer.from('GET /readyz HTTP/1.1\r\nhost: a\r\nexpect: nonsense\r\n\r\n'),
      Buffer.from(`GET /${'a'.repeat(100_000)} HTTP/1.1\r\nhost: a\r\n\r\n`),
      Buffer.from('CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n'),
      Buffer.from('GET /livez HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'),
      Buffer.from('GET http://[a HTTP/1.1\r\nhost: a\r\n\r\n'),
    ],
  }),
];

/** Somebody at every port who knows neither a key nor the cluster's secret. */
export const STRANGER_ATTACKS: Attack[] = [...RPC_STRANGERS, ...OPS_STRANGERS, ...EVERYWHERE];
