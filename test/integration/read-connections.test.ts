import { connect as connectHttp2 } from 'node:http2';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { ProcessMetrics } from '../../shared/base/metrics/process-metrics';
import { ThreadTraceCounts } from '../../shared/base/metrics/trace-metrics';
import { RenewedCertificates } from '../../shared/base/process/renewed-certificates';
import { QuiverError } from '../../shared/base/errors/quiver-error';
import { OWN_VERSION, READ_THREADS, versionToText } from '../../shared/base/process/member-version';
import { packageRoot } from '../../shared/base/process/package-root';
import type { ClusterCredentials } from '../../shared/wire/streams/rpc-channel';
import { FRAME_TYPES } from '../../shared/wire/frames/frame-link';
import { metadataOf, metadataToBytes } from '../../shared/wire/handshake/handshake-metadata';
import { READS_GREETING } from '../../shared/wire/frames/reads-greeting';
import { FramesChannel } from '../../shared/wire/frames/frames-channel';
import { readFramesMethod } from '../../shared/wire/frames/read-frames';
import { RpcServer } from '../../shared/wire/streams/rpc-server';
import type { ReadThreads } from '../../node/hosting/threads/read-threads';
import { systemClock } from '../../shared/base/time/clock';
import { silentLogger } from '../../shared/base/logs/logger';
import { sharedAnswerBytes } from '../../node/hosting/services/answer-bytes';
import { nodeLimits, shardServices } from '../../node/hosting/services/shard-service';
import { ReplicaPublisher } from '../../node/hosting/threads/replica-publisher';
import { dealerTo, startReadThreads } from '../../node/hosting/threads/read-threads';
import type { NodeOperation } from '../../node/hosting/services/operation-observer';
import { CertificateAuthority } from '../support/cluster/certificate-authority';
import { eventually } from '../support/eventually';
import { clientTo, inTime, PLAIN, SHARD, within } from '../support/cluster/rpc-node';
import { ScriptedNodeShards } from '../support/cluster/scripted-node-shards';

/**
 * The connections of coordinators to the threads of a node, which are real here, beside a main thread in this process
 * whose answers are scripted: what the threads can't answer, which is everything, comes here.
 */

const SEARCH = {
  vector: Float32Array.of(1, 2),
  k: 3,
  filter: null,
  effort: { type: 'calibrated' as const },
  texts: false,
};

interface Node {
  server: RpcServer;
  threads: ReadThreads;
  port: number;
  shards: ScriptedNodeShards;
  /** What the threads counted, and what the main thread did on connections of its own. */
  onThreads: NodeOperation[];
  onMain: NodeOperation[];
  log: string[];
}

let node: Node;
const opened: { close(): void }[] = [];

/**
 * `knownAs`: the address of a proxy before it; default: its own. `provenWithinMs`: on the main thread.
 */
async function start(
  credentials: ClusterCredentials = PLAIN,
  knownAs: string | null = null,
  provenWithinMs?: number,
): Promise<Node> {
  const shards = new ScriptedNodeShards();
  const [onThreads, onMain, log]: [NodeOperation[], NodeOperation[], string[]] = [[], [], []];
  const limits = nodeLimits();
  const services = shardServices({
    shards,
    clock: systemClock,
    logger: silentLogger,
    limits,
    observer: { done: (operation) => onMain.push(operation) },
  });
  const unproven = provenWithinMs === undefined ? {} : { withinMs: provenWithinMs };
  const server = new RpcServer({
    services,
    ...credentials,
    unproven,
    version: { ...OWN_VERSION, features: [...OWN_VERSION.features, READ_THREADS] },
    addressOf: (own) => knownAs ?? `127.0.0.1:${own}`,
  });
  let threads: ReadThreads | null = null;
  const deal = dealerTo(() => threads);
  const port = await server.listenBeside('127.0.0.1:0', deal);
  threads = await startReadThreads({
    entry: join(packageRoot(__dirname), 'dist/node/read-thread.js'),
    threads: 2,
    address: knownAs ?? `127.0.0.1:${port}`,
    credentials,
    replicas: new ReplicaPublisher(),
    shards,
    limit: limits.reads,
    answerBytesMax: 256 * 1024 * 1024,
    answerBytes: sharedAnswerBytes(1 + 2),
    observer: { done: (operation) => onThreads.push(operation) },
    onSearches: () => undefined,
    traces: null,
    spans: new ThreadTraceCounts(),
    metrics: new ProcessMetrics({
      identity: { role: 'node', member: 'one', version: '1' },
      onMeasureError: () => undefined,
    }),
    clock: systemClock,
    logger: { ...silentLogger, error: (_fields, message) => void log.push(message) },
  });
  return { server, threads, port, shards, onThreads, onMain, log };
}

function client(credentials: ClusterCredentials = PLAIN) {
  const made = clientTo(`127.0.0.1:${node.port}`, { credentials });
  opened.push(made.client);
  return made;
}

function framed(type: number, content: string | Buffer): Buffer {
  const bytes = Buffer.from(content);
  const head = Buffer.alloc(5);
  head.writeUInt32LE(bytes.length, 0);
  head[4] = type;
  return Buffer.concat([head, bytes]);
}

/** Searches until one is answered by a thread: the first ones go the way that is there. */
async function reachThread({ client: from }: ReturnType<typeof client>): Promise<void> {
  await eventually('a thread answers', async () => {
    const before = node.onThreads.length;
    await from.read(SHARD, 'search', SEARCH, inTime());
    await node.threads.flush();
    return node.onThreads.length > before;
  });
}

afterEach(async () => {
  for (const each of opened.splice(0)) each.close();
  await node.threads.close(0);
  await node.server.close(0);
});

test('searches come over connections to threads, which are dealt evenly, and everything else over those to the main thread', async () => {
  node = await start();
  node.shards.hits = () => [{ externalId: 'a', score: 1, metadata: '{}' }];
  const coordinators = [client(), client(), client(), client()];
  for (const coordinator of coordinators) await reachThread(coordinator);
  expect(node.threads.connections).toEqual([2, 2]);
  const mainBefore = node.onMain.length;
  expect((await coordinators[0].client.read(SHARD, 'search', SEARCH, inTime())).hits).toEqual([
    { externalId: 'a', score: 1, metadata: '{}' },
  ]);
  expect(await coordinators[0].client.read(SHARD, 'count', null, inTime())).toBe(0);
  await coordinators[0].client.write(SHARD, [{ type: 'delete', externalId: 'a' }], inTime());
  expect(node.onMain.slice(mainBefore)).toEqual(['count', 'write']);
  coordinators[0].client.close();
  await eventually('its connection is gone', () => node.threads.connections.reduce((sum, count) => sum + count) === 3);
});

test('long answers and errors come over frames as they are', async () => {
  node = await start();
  const one = client();
  await reachThread(one);
  // Of several messages, the last of which is small.
  const hits = Array.from({ length: 30_001 }, (_, i) => ({
    externalId: `item ${i}`,
    score: -i,
    metadata: `{"text":"${'é'.repeat(20)}"}`,
  }));
  node.shards.hits = () => hits;
  expect((await one.client.read(SHARD, 'search', { ...SEARCH, k: 30_001 }, inTime())).hits).toEqual(hits);
  node.shards.before = async () => {
    throw new QuiverError('storage_failed', 'the disk is full');
  };
  await expect(one.client.read(SHARD, 'search', SEARCH, inTime())).rejects.toMatchObject({
    kind: 'storage_failed',
    message: 'the disk is full',
  });
  expect(one.ended).toEqual([]);
});

describe('of connections that carry frames', () => {
  const hello = (more: Record<string, string> = {}): Buffer =>
    framed(
      FRAME_TYPES.hello,
      metadataToBytes(
        metadataOf({
          version: '1',
          name: 'x',
          program: versionToText(OWN_VERSION),
          address: `127.0.0.1:${node.port}`,
          nonce: Buffer.alloc(16, 1),
          ...more,
        }),
      ),
    );
  /** What a stranger that sends `pieces` hears before its connection is cut. */
  const heardBy = async (...pieces: Buffer[]): Promise<Buffer> => {
    const stranger = connect(node.port, '127.0.0.1');
    const heard: Buffer[] = [];
    stranger.on('data', (chunk) => heard.push(chunk)).on('error', () => undefined);
    stranger.write(READS_GREETING);
    await eventually('it is welcomed', () => heard.length > 0);
    heard.length = 0;
    for (const piece of pieces) stranger.write(piece);
    await new Promise((done) => stranger.once('close', done));
    return Buffer.concat(heard);
  };
  const proof = (): Buffer =>
    framed(
      FRAME_TYPES.stream,
      metadataToBytes(
        metadataOf({
          name: 'x',
          nonce: Buffer.alloc(16, 1),
          serverNonce: Buffer.alloc(40, 2),
          number: '1',
          proof: Buffer.alloc(32, 3),
        }),
      ),
    );

  test('those of strangers are cut at what has no place, and nothing of them reaches a shard', async () => {
    node = await start();
    const one = client();
    await reachThread(one);
    const reads = node.shards.reads;
    const typeOf = (heard: Buffer): number | undefined => heard[4];
    expect(await heardBy(framed(FRAME_TYPES.message, ''))).toHaveLength(0);
    expect(await heardBy(framed(FRAME_TYPES.admitted, ''))).toHaveLength(0);
    expect(await heardBy(framed(200, ''))).toHaveLength(0);
    expect(await heardBy(framed(FRAME_TYPES.hello, 'no JSON'))).toHaveLength(0);
    // More than a handshake may hold, of which nothing is kept.
    expect(await heardBy(Buffer.from([0, 0, 64, 0, FRAME_TYPES.hello]))).toHaveLength(0);
    expect(await heardBy(proof())).toHaveLength(0);
    expect(typeOf(await heardBy(framed(FRAME_TYPES.hello, '{}')))).toBe(FRAME_TYPES.refused);
    expect(typeOf(await heardBy(hello({ address: 'elsewhere:1' })))).toBe(FRAME_TYPES.refused);
    // The server proves itself, and then refuses.
    const refused = await heardBy(hello(), proof());
    expect(typeOf(refused)).toBe(FRAME_TYPES.greeting);
    expect(refused.toString('latin1')).toContain('"code":16');
    expect(typeOf(await heardBy(hello(), framed(FRAME_TYPES.message, '')))).toBe(FRAME_TYPES.greeting);
    expect(typeOf(await heardBy(hello(), hello(), hello()))).toBe(FRAME_TYPES.greeting);
    expect(node.shards.reads).toBe(reads);
    expect(await one.client.read(SHARD, 'search', SEARCH, inTime())).toEqual({ hits: [], vectorCount: 0 });
    expect(one.ended).toEqual([]);
  });
});

test('what a thread says first may come along with its welcome', async () => {
  let to = 0;
  const proxy = createServer((from) => {
    const onward = connect(to, '127.0.0.1');
    from.on('error', () => onward.destroy()).pipe(onward);
    // Whatever comes in the first moment is sent on at once.
    let first: Buffer[] | null = [];
    onward
      .on('error', () => from.destroy())
      .on('data', (chunk: Buffer) => (first === null ? from.write(chunk) : first.push(chunk)));
    onward.on('close', () => from.destroy());
    setTimeout(() => {
      from.write(Buffer.concat(first!));
      first = null;
    }, 100);
  });
  await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done));
  const { port } = proxy.address() as AddressInfo;
  node = await start(PLAIN, `127.0.0.1:${port}`);
  to = node.port;
  const made = clientTo(`127.0.0.1:${port}`);
  opened.push(made.client, proxy);
  await reachThread(made);
});

/** How a connection that carries frames ends, or 'ready'. */
function endOf(credentials: ClusterCredentials): Promise<string> {
  const channel = new FramesChannel({ address: `127.0.0.1:${node.port}`, credentials });
  opened.push(channel);
  return new Promise((done) =>
    channel.open(readFramesMethod, {
      ready: () => done('ready'),
      frame: () => undefined,
      ended: ({ reason }) => done(reason),
    }),
  );
}

test('what was asked over a connection that fell silent is answered over another one', async () => {
  let to = 0;
  let isSilent = false;
  const proxy = createServer((from) => {
    const onward = connect(to, '127.0.0.1');
    let isForFrames = false;
    from.on('error', () => onward.destroy()).on('close', () => onward.destroy());
    onward.on('error', () => from.destroy()).on('close', () => from.destroy());
    from.on('data', (chunk: Buffer) => {
      isForFrames ||= chunk.subarray(0, READS_GREETING.length).equals(READS_GREETING);
      if (!(isSilent && isForFrames)) onward.write(chunk);
    });
    onward.on('data', (chunk: Buffer) => (isSilent && isForFrames ? undefined : from.write(chunk)));
  });
  await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done));
  const { port } = proxy.address() as AddressInfo;
  node = await start(PLAIN, `127.0.0.1:${port}`);
  to = node.port;
  const made = clientTo(`127.0.0.1:${port}`);
  opened.push(made.client, proxy);
  await reachThread(made);
  const onMain = node.onMain.length;
  isSilent = true;
  const reads = Array.from({ length: 3 }, () => made.client.read(SHARD, 'search', SEARCH, inTime()));
  expect(await Promise.all(reads)).toEqual(Array.from(reads, () => ({ hits: [], vectorCount: 0 })));
  expect(node.onMain.slice(onMain).filter((kind) => kind === 'search').length).toBeGreaterThanOrEqual(reads.length);
  isSilent = false;
  await reachThread(made);
});

test('with TLS the connections to threads are as secured as any, and go on with renewed certificates', async () => {
  const authority = new CertificateAuthority('members');
  try {
    const issued = (): { ca: Buffer; cert: Buffer; key: Buffer } => {
      const { cert, key } = authority.issue('member');
      return { ca: Buffer.from(authority.pem), cert: Buffer.from(cert), key: Buffer.from(key) };
    };
    const renewed = new RenewedCertificates(issued());
    const credentials: ClusterCredentials = { ...PLAIN, tls: { ...issued(), renewed } };
    node = await start(credentials);
    await reachThread(client({ ...PLAIN, tls: issued() }));
    renewed.renew(issued());
    await reachThread(client({ ...PLAIN, tls: issued() }));
    // Without a certificate, nothing but the greeting is answered.
    for (const [greeting, first] of [[READS_GREETING, framed(FRAME_TYPES.hello, '{}')]] as const) {
      const stranger = connect(node.port, '127.0.0.1');
      let heard = '';
      stranger.on('data', (chunk) => (heard += chunk.toString('latin1'))).on('error', () => undefined);
      stranger.write(greeting);
      await eventually('it is welcomed', () => heard !== '');
      stranger.write(first);
      await new Promise((done) => stranger.once('close', done));
      expect(heard.replace(/[^ -~\r\n]/g, '')).toMatch(/^QUIVER READS OK\r\n.{0,4}$/);
    }
    const others = new CertificateAuthority('others');
    try {
      const foreign = others.issue('member');
      // Nor to a certificate of another authority.
      const raw = connect(node.port, '127.0.0.1');
      raw.on('error', () => undefined).write(READS_GREETING);
      await new Promise((done) => raw.once('data', done));
      const secured = connectTls({
        socket: raw,
        ca: authority.pem,
        cert: foreign.cert,
        key: foreign.key,
        checkServerIdentity: () => undefined,
      });
      const heard: Buffer[] = [];
      secured.on('data', (chunk) => heard.push(chunk)).on('error', () => undefined);
      secured.write(framed(FRAME_TYPES.hello, '{}'));
      await new Promise((done) => secured.once('close', done));
      expect(heard).toEqual([]);
      // And a coordinator talks only to a node of its authority, with the name that it expects.
      const own = issued();
      const ends = [
        await endOf({ ...PLAIN, tls: { ...own, ca: Buffer.from(others.pem) } }),
        await endOf({ ...PLAIN, tls: { ...own, serverName: 'elsewhere' } }),
        await endOf({ ...PLAIN, tls: own }),
      ];
      expect(ends).toEqual([expect.stringMatching(/certificate/), expect.stringMatching(/does not match/), 'ready']);
    } finally {
      others.destroy();
    }
  } finally {
    authority.destroy();
  }
});

test('a caller that does not prove the secret is refused by threads, too', async () => {
  node = await start();
  const { client: stranger } = client({ ...PLAIN, secret: 'another secret' });
  await expect(stranger.read(SHARD, 'search', SEARCH, inTime())).rejects.toMatchObject({ kind: 'internal' });
  expect(node.shards.reads).toBe(0);
});

test('a thread that ends breaks only what was under way on its connections, which is answered over others, and is replaced', async () => {
  node = await start();
  const [one, other] = [client(), client()];
  await reachThread(one);
  await reachThread(other);
  expect(node.threads.connections).toEqual([1, 1]);
  let release = (): void => undefined;
  const held = new Promise<void>((done) => (release = done));
  node.shards.before = () => held;
  const before = node.shards.reads;
  const reads = [one, other].flatMap(({ client: from }) =>
    Array.from({ length: 5 }, () => from.read(SHARD, 'search', SEARCH, inTime())),
  );
  await eventually('all have begun', () => node.shards.reads === before + 10);
  const { threads } = node.threads as unknown as { threads: { worker: { terminate(): Promise<number> } }[] };
  await threads[0].worker.terminate();
  await eventually('its reads come another way', () => node.shards.reads === before + 15);
  node.shards.before = async () => undefined;
  release();
  await Promise.all(reads);
  expect(node.log).toEqual(['a thread that answers reads has ended; it is replaced']);
  expect([...one.ended, ...other.ended]).toEqual([]);
  await eventually('it is replaced, and its coordinator is back', async () => {
    await Promise.all([one, other].map(({ client: from }) => from.read(SHARD, 'search', SEARCH, inTime())));
    return node.threads.connections.reduce((sum, count) => sum + count) === 2 && node.threads.ids.every((id) => id > 0);
  });
});

describe('a connection over which nobody proves to be a member is cut in time, and that of a member stays', () => {
  const WITHIN_MS = 3_000;
  /** Connected; on a machine that is very busy, only after some attempts. */
  const provenClient = async (credentials?: ClusterCredentials) => {
    const made = client(credentials);
    await eventually('a member is connected', () =>
      made.client.read(SHARD, 'count', null, within(10_000)).then(
        () => true,
        () => false,
      ),
    );
    return made;
  };
  const closed = (socket: { destroyed: boolean; once(event: 'close', listener: () => void): unknown }): Promise<void> =>
    socket.destroyed ? Promise.resolve() : new Promise((done) => socket.once('close', done));
  const open = (bytes = ''): Socket => {
    const socket = connect(node.port, '127.0.0.1');
    socket.on('error', () => undefined).resume();
    if (bytes !== '') socket.write(bytes, 'latin1');
    return socket;
  };

  test('without TLS', async () => {
    node = await start(PLAIN, null, WITHIN_MS);
    const { client: member, ended } = await provenClient();
    const endedBefore = ended.length;
    // The last one speaks HTTP/2 as it should, answers pings, and is no member.
    const stranger = connectHttp2(`http://127.0.0.1:${node.port}`);
    stranger.on('error', () => undefined);
    await Promise.all([
      closed(open()),
      closed(open('P')),
      closed(open('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')),
      closed(stranger),
    ]);
    await member.read(SHARD, 'count', null, inTime());
    expect(ended).toHaveLength(endedBefore);
  });

  test('with TLS, of which the handshake is begun', async () => {
    const authority = new CertificateAuthority('members');
    try {
      const { cert, key } = authority.issue('member');
      const credentials: ClusterCredentials = {
        ...PLAIN,
        tls: { ca: Buffer.from(authority.pem), cert: Buffer.from(cert), key: Buffer.from(key) },
      };
      node = await start(credentials, null, WITHIN_MS);
      const { client: member, ended } = await provenClient(credentials);
      const endedBefore = ended.length;
      await Promise.all([closed(open()), closed(open('\x16\x03\x01'))]);
      await member.read(SHARD, 'count', null, inTime());
      expect(ended).toHaveLength(endedBefore);
    } finally {
      authority.destroy();
    }
  });
});

test('a connection that begins slowly, or with something else, is one to the main thread; one that says nothing is cut by its closing', async () => {
  node = await start();
  const slow = connect(node.port, '127.0.0.1');
  let heard = '';
  slow.on('data', (chunk) => (heard += chunk.toString('latin1'))).on('error', () => undefined);
  for (const byte of READS_GREETING) {
    slow.write(Buffer.of(byte));
    await new Promise((next) => setImmediate(next));
  }
  await eventually('it is welcomed', () => heard.startsWith('QUIVER READS OK\r\n'));
  const odd = connect(node.port, '127.0.0.1');
  odd.on('error', () => undefined).resume();
  odd.write('QUIVER WRITES 1\r\n and more');
  await new Promise((done) => odd.once('close', done));
  const silent = connect(node.port, '127.0.0.1');
  silent.on('error', () => undefined).resume();
  await new Promise((done) => silent.once('connect', done));
  await eventually(
    'it is accepted',
    async () =>
      (await new Promise<number>((count) =>
        (node.server as any).greeted.server.getConnections((_: unknown, open: number) => count(open)),
      )) >= 1,
  );
  await node.server.close(0);
  if (!silent.destroyed) await new Promise((done) => silent.once('close', done));
  slow.destroy();
});
