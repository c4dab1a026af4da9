import { connect } from 'node:net';
import type { AppendAck, AppendMessage } from '../../node/replication/core/messages';
import { StreamReplicationLinks } from '../../node/replication/links/stream-replication-links';
import type { SnapshotReceiver } from '../../node/replication/links/snapshot-receiver';
import { ReplicationService } from '../../node/replication/links/replication-service';
import { silentLogger } from '../../shared/base/logs/logger';
import { OWN_VERSION, versionToText } from '../../shared/base/process/member-version';
import { FRAME_TYPES } from '../../shared/wire/frames/frame-link';
import { metadataOf, metadataToBytes } from '../../shared/wire/handshake/handshake-metadata';
import { NODES_GREETING } from '../../shared/wire/frames/reads-greeting';
import type { ClusterCredentials } from '../../shared/wire/streams/rpc-channel';
import { RpcServer } from '../../shared/wire/streams/rpc-server';
import { systemClock } from '../../shared/base/time/clock';
import { CertificateAuthority } from '../support/cluster/certificate-authority';
import { eventually } from '../support/eventually';
import { freePorts } from '../support/servers/free-ports';
import { PLAIN } from '../support/cluster/rpc-node';

/** The streams between the replicas of two nodes, over real connections. */

const SHARD = { collectionUid: 'c', shard: 3 };

interface End {
  name: string;
  port: number;
  links: StreamReplicationLinks;
  server: RpcServer;
  /** The appends that came, and the answers. */
  appends: { message: AppendMessage; bytes: number }[];
  acks: AppendAck[];
  /** Streams that came. */
  served: number;
  log: string[];
}

const ends: End[] = [];
const addresses = new Map<string, string>();

afterEach(async () => {
  for (const { links, server } of ends.splice(0)) {
    links.close();
    await server.close(0);
  }
  addresses.clear();
});

async function start(
  name: string,
  { credentials = PLAIN, port }: { credentials?: ClusterCredentials; port?: number } = {},
): Promise<End> {
  const own = port ?? (await freePorts(1))[0];
  const address = `127.0.0.1:${own}`;
  const log: string[] = [];
  const links = new StreamReplicationLinks({
    nodeId: name,
    addressOf: (node) => addresses.get(node) ?? null,
    credentials: { ...credentials, name },
    clock: systemClock,
    log: { ...silentLogger, warn: (_fields, message) => void log.push(message) },
  });
  const service = new ReplicationService({ links, snapshots: {} as SnapshotReceiver });
  const server = new RpcServer({ services: [service], ...credentials, name, addressOf: () => address });
  const end: End = { name, port: own, links, server, appends: [], acks: [], served: 0, log };
  const { serve } = service.frames;
  service.frames.serve = (call) => {
    end.served += 1;
    serve(call);
  };
  links.deliverTo({
    onAppend: (shard, message) => {
      end.appends.push({
        message,
        bytes: message.entries.reduce((sum, { write }) => sum + (write?.payload.length ?? 0), 0),
      });
      const match = message.prev.sequence + message.entries.length;
      links.sendAck(message.from, shard, {
        epoch: message.epoch,
        replica: { node: name, store: `store of ${name}` },
        sentAt: message.sentAt,
        awaited: 0,
        result: { type: 'match', match, agreed: match },
      });
    },
    onAck: (_shard, ack) => end.acks.push(ack),
    onStreamStarted: () => undefined,
  });
  await server.listenBeside(address, null, service.frames);
  addresses.set(name, address);
  ends.push(end);
  return end;
}

let moment = 0;

/** `bytes` of payload; 0: a heartbeat. */
function send(from: End, to: string, bytes = 0): void {
  const write = {
    source: { session: 's', requestNumber: 1, settledBelow: 1 },
    payload: Buffer.concat([Buffer.of(1, 1), Buffer.alloc(Math.max(0, bytes - 2))]),
  };
  const entries = bytes === 0 ? [] : [{ epoch: 1, sequence: 8, write }];
  const recorded = [{ replica: { node: to, store: `store of ${to}` }, epoch: 1, match: 7 }];
  from.links.sendAppend(to, SHARD, {
    epoch: 1,
    from: from.name,
    prev: { epoch: 1, sequence: 7 },
    commit: 7,
    sentAt: (moment += 1),
    releasesLease: false,
    sharesSince: 0,
    withdrawsShare: false,
    recorded,
    entries,
  });
}

/** Heartbeats until something is answered that is sent from now on. */
async function answered(from: End, to: string): Promise<void> {
  const after = moment;
  await eventually(`${to} answers`, () => {
    send(from, to);
    return from.acks.some(({ sentAt, replica }) => sentAt > after && replica.node === to);
  });
}

async function bothWays(a: End, b: End): Promise<void> {
  await answered(a, b.name);
  await answered(b, a.name);
  // Longer than a frame, so in pieces; and heartbeats that are said again, so beats.
  send(a, b.name, 3 * 1024 * 1024);
  await eventually('a long write arrives', () => b.appends.some(({ bytes }) => bytes === 3 * 1024 * 1024));
  await answered(a, b.name);
  await answered(a, b.name);
}

test('between two nodes, appends and their answers go over one stream each way', async () => {
  const [a, b] = [await start('a'), await start('b')];
  await bothWays(a, b);
  expect([a.served, b.served]).toEqual([1, 1]);
  expect(a.links.versionOf('b')).toEqual(OWN_VERSION);
});

test('with TLS, too, and to nobody whose certificate is of another authority', async () => {
  const [authority, other] = [new CertificateAuthority('cluster'), new CertificateAuthority('other')];
  const credentialsBy = (issuer: CertificateAuthority): ClusterCredentials => {
    const { cert, key } = issuer.issue('member');
    return { ...PLAIN, tls: { ca: Buffer.from(authority.pem), cert: Buffer.from(cert), key: Buffer.from(key) } };
  };
  const [a, b] = [
    await start('a', { credentials: credentialsBy(authority) }),
    await start('b', { credentials: credentialsBy(authority) }),
  ];
  await bothWays(a, b);
  expect(b.served).toBe(1);
  const stranger = await start('stranger', { credentials: credentialsBy(other) });
  const came = b.appends.length;
  send(stranger, 'b');
  await eventually('it is turned away, and tries again', () => {
    send(stranger, 'b');
    return stranger.links.versionOf('b') === null && b.appends.length === came;
  });
  expect(b.served).toBe(1);
  authority.destroy();
  other.destroy();
});

test('a stream that breaks is opened again', async () => {
  const a = await start('a');
  const first = await start('b');
  await answered(a, 'b');
  await first.server.close(5_000);
  await eventually('the loss is noticed', () => a.links.versionOf('b') === null);
  expect(a.log).toEqual(['the replication stream to a node broke; it is set up anew']);
  const later = await start('b', { port: first.port });
  await answered(a, 'b');
  expect(later.served).toBe(1);
});

test('a node that is away for a while gets its stream again when it is back', async () => {
  const a = await start('a');
  const first = await start('b');
  await answered(a, 'b');
  await first.server.close(5_000);
  // Long enough for several attempts, none of which is taken.
  const until = performance.now() + 800;
  while (performance.now() < until) {
    send(a, 'b');
    await new Promise((wake) => setTimeout(wake, 20));
  }
  const again = await start('b', { port: first.port });
  await answered(a, 'b');
  expect(again.served).toBe(1);
});

test('a node that stands still is left within seconds, and has its stream again', async () => {
  const [a, b] = [await start('a'), await start('b')];
  await answered(a, 'b');
  // As if it stood still: it reads nothing any more, and says nothing.
  const silent = [
    ...(b.server as unknown as { framed: { sockets: Set<import('node:net').Socket> }[] }).framed[0].sockets,
  ];
  for (const socket of silent) socket.removeAllListeners('data').resume();
  await eventually('it is left', () => {
    send(a, 'b');
    return a.log.length > 0;
  });
  await answered(a, 'b');
  expect(b.served).toBe(2);
});

test('who does not know the secret gets nothing to the replicas', async () => {
  const [a, b] = [await start('a'), await start('b', { credentials: { ...PLAIN, secret: 'another' } })];
  for (let i = 0; i < 20; i++) {
    send(a, 'b');
    send(b, 'a');
    await new Promise((wake) => setTimeout(wake, 20));
  }
  expect([a.appends, b.appends, a.acks, b.acks]).toEqual([[], [], [], []]);
  expect([a.served, b.served]).toEqual([0, 0]);
});

test('a stranger at the door is cut at what has no place there', async () => {
  const a = await start('a');
  const frame = (type: number, content: Buffer | string): Buffer => {
    const bytes = Buffer.from(content);
    const head = Buffer.alloc(5);
    head.writeUInt32LE(bytes.length, 0);
    head[4] = type;
    return Buffer.concat([head, bytes]);
  };
  const hello = frame(
    FRAME_TYPES.hello,
    metadataToBytes(
      metadataOf({
        version: '1',
        name: 'x',
        program: versionToText(OWN_VERSION),
        address: `127.0.0.1:${a.port}`,
        nonce: Buffer.alloc(16, 1),
      }),
    ),
  );
  const proof = frame(
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
  const heardBy = (...pieces: Buffer[]): Promise<Buffer> =>
    new Promise((done) => {
      const stranger = connect(a.port, '127.0.0.1');
      const heard: Buffer[] = [];
      stranger.on('error', () => undefined).on('close', () => done(Buffer.concat(heard)));
      stranger.on('data', (chunk) => {
        heard.push(chunk);
        if (heard.length === 1) for (const piece of pieces) stranger.write(piece);
      });
      stranger.write(NODES_GREETING);
    });
  const append = frame(FRAME_TYPES.message, Buffer.of(1));
  expect((await heardBy(append)).toString()).toBe('QUIVER READS OK\r\n');
  expect((await heardBy(frame(FRAME_TYPES.hello, 'no JSON'))).toString()).toBe('QUIVER READS OK\r\n');
  expect((await heardBy(hello, append)).length).toBeGreaterThan(17);
  expect((await heardBy(hello, proof)).toString('latin1')).toContain('"code":16');
  expect(a.served).toBe(0);
  expect(a.appends).toEqual([]);
});
