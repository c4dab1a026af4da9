import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, ChannelCredentials, type Metadata, status } from '@grpc/grpc-js';
import { silentLogger } from '../../shared/base/logs/logger';
import { RenewedCertificates } from '../../shared/base/process/renewed-certificates';
import { readsDefinition, writesDefinition } from '../../shared/wire/streams/protocol';
import { RpcChannel } from '../../shared/wire/streams/rpc-channel';
import { RpcServer } from '../../shared/wire/streams/rpc-server';
import { type ClusterTls, readClusterTls } from '../../shared/wire/handshake/transport-security';
import {
  BEYOND_MS,
  PLAIN,
  RpcNode,
  SECRET,
  SHARD,
  clientTo,
  inTime,
  provenMetadata,
  within,
} from '../support/cluster/rpc-node';
import { eventually } from '../support/eventually';
import { ScriptedNodeShards } from '../support/cluster/scripted-node-shards';

/**
 * Who is let in to a node: holders of the secret and, with TLS, of a certificate that the cluster's authority signed.
 */

const folder = mkdtempSync(join(tmpdir(), 'quiver-certificates-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function openssl(...args: string[]): void {
  execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
}

/** An authority of its own, and a certificate that it signed, for 127.0.0.1 where nothing else is named. */
function makeCertificates(name: string, names = 'IP:127.0.0.1,DNS:localhost'): ClusterTls {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl(
    'req',
    '-x509',
    ...key,
    '-keyout',
    `${name}-ca.key`,
    '-out',
    `${name}-ca.pem`,
    '-subj',
    `/CN=${name} authority`,
    '-days',
    '1',
  );
  openssl('req', ...key, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
  writeFileSync(join(folder, 'names'), `subjectAltName=${names}`);
  openssl(
    'x509',
    '-req',
    '-in',
    `${name}.csr`,
    '-CA',
    `${name}-ca.pem`,
    '-CAkey',
    `${name}-ca.key`,
    '-CAcreateserial',
    '-out',
    `${name}.pem`,
    '-days',
    '1',
    '-extfile',
    'names',
  );
  return readClusterTls({
    caFile: join(folder, `${name}-ca.pem`),
    certFile: join(folder, `${name}.pem`),
    keyFile: join(folder, `${name}.key`),
  });
}

async function count(
  node: RpcNode,
  credentials: { secret: string; tls: ClusterTls | null },
  patienceMs = BEYOND_MS,
): Promise<number> {
  const { client } = clientTo(node.address, { credentials, readRetryMs: 300 });
  try {
    return await client.read(SHARD, 'count', null, within(patienceMs));
  } finally {
    client.close();
  }
}

describe('without TLS', () => {
  let node: RpcNode;
  beforeAll(async () => {
    node = await RpcNode.start(new ScriptedNodeShards());
  });
  afterAll(() => node.close());

  test('the secret lets in', async () => {
    expect(await count(node, { secret: SECRET, tls: null })).toBe(0);
  });

  test.each(['', 'another', `${SECRET} `, SECRET.slice(1)])('"%s" in its place is refused at once', async (secret) => {
    await expect(count(node, { secret, tls: null })).rejects.toMatchObject({
      kind: 'internal',
      message: expect.stringContaining('refused the credentials'),
    });
  });

  test('writes need it, too', async () => {
    const { client } = clientTo(node.address, { credentials: { secret: 'wrong', tls: null } });
    await expect(client.write(SHARD, [{ type: 'delete', externalId: 'a' }], inTime())).rejects.toMatchObject({
      kind: 'internal',
    });
    client.close();
  });
});

describe('what is sent to open a stream', () => {
  let node: RpcNode;
  let raw: Client;
  beforeAll(async () => {
    node = await RpcNode.start(new ScriptedNodeShards());
    raw = new Client(node.address, ChannelCredentials.createInsecure());
  });
  afterAll(async () => {
    raw.close();
    await node.close();
  });

  const READS = readsDefinition.Exchange;
  const WRITES = writesDefinition.Exchange;

  /** OK when a stream of a method is taken, else why not. */
  function open(method: typeof READS | typeof WRITES, metadata: Metadata, client = raw): Promise<status> {
    return new Promise((done) => {
      const call = client.makeBidiStreamRequest(
        method.path,
        method.requestSerialize as never,
        method.responseDeserialize as never,
        metadata,
      );
      call.on('metadata', () => {
        done(status.OK);
        setImmediate(() => call.cancel());
      });
      call.on('data', () => undefined);
      call.on('error', (error: Error & { code: status }) => done(error.code));
    });
  }

  test('opens it once, and no stream of another method', async () => {
    const metadata = await provenMetadata(raw, node.address, READS.path);
    expect(await open(WRITES, metadata.clone())).toBe(status.UNAUTHENTICATED);
    expect(await open(READS, metadata.clone())).toBe(status.OK);
    expect(await open(READS, metadata.clone())).toBe(status.UNAUTHENTICATED);
  });

  test('opens none at another node, nor at the same address when the node was started anew', async () => {
    const metadata = await provenMetadata(raw, node.address, READS.path);
    const { port } = node;
    raw.close();
    await node.close();
    node = await RpcNode.start(new ScriptedNodeShards(), { port });
    raw = new Client(node.address, ChannelCredentials.createInsecure());
    expect(await open(READS, metadata.clone())).toBe(status.UNAUTHENTICATED);
    const other = await RpcNode.start(new ScriptedNodeShards());
    const toOther = new Client(other.address, ChannelCredentials.createInsecure());
    expect(await open(READS, metadata.clone(), toOther)).toBe(status.UNAUTHENTICATED);
    toOther.close();
    await other.close();
  });

  test('is refused when any of it is another', async () => {
    for (const field of [
      'quiver-member',
      'quiver-nonce-bin',
      'quiver-server-nonce-bin',
      'quiver-stream',
      'quiver-proof-bin',
    ]) {
      const metadata = await provenMetadata(raw, node.address, READS.path);
      const [value] = metadata.get(field);
      if (Buffer.isBuffer(value)) value[value.length - 1] ^= 1;
      metadata.set(field, Buffer.isBuffer(value) ? value : '2');
      expect({ field, code: await open(READS, metadata) }).toEqual({ field, code: status.UNAUTHENTICATED });
      const lacking = await provenMetadata(raw, node.address, READS.path);
      lacking.remove(field);
      expect({ field, code: await open(READS, lacking) }).toEqual({ field, code: status.UNAUTHENTICATED });
    }
  });
});

test('members with different secrets both say so in their logs', async () => {
  const lines: Record<'client' | 'server', string[]> = { client: [], server: [] };
  const logOf = (side: 'client' | 'server') => ({
    ...silentLogger,
    error: (fields: object, message: string) => void lines[side].push(`${message} ${JSON.stringify(fields)}`),
  });
  const server = new RpcServer({ ...PLAIN, services: [], name: 'the-server', log: logOf('server') });
  const channel = new RpcChannel({
    address: `127.0.0.1:${await server.listen('127.0.0.1:0')}`,
    credentials: { secret: 'another secret', tls: null, name: 'the-client', log: logOf('client') },
  });
  try {
    const end = await new Promise((ended) =>
      channel.open(readsDefinition.Exchange, { ready: () => undefined, frame: () => undefined, ended }),
    );
    expect(end).toMatchObject({ isRefused: true, reason: expect.stringContaining('did not prove') });
    await eventually('both have said it', () => lines.client.length > 0 && lines.server.length > 0);
    expect(lines.client.join()).toMatch(/CLUSTER_SECRET is another one.*the-server/);
    expect(lines.server.join()).toMatch(/CLUSTER_SECRET is not the same.*the-client/);
  } finally {
    channel.close();
    await server.close(0);
  }
});

describe('with TLS', () => {
  const ours = makeCertificates('ours');
  const theirs = makeCertificates('theirs');
  let node: RpcNode;
  beforeAll(async () => {
    node = await RpcNode.start(new ScriptedNodeShards(), { credentials: { secret: SECRET, tls: ours } });
  });
  afterAll(() => node.close());

  test('a certificate of the authority and the secret let in', async () => {
    expect(await count(node, { secret: SECRET, tls: ours })).toBe(0);
  });

  test('the certificate alone does not', async () => {
    await expect(count(node, { secret: 'wrong', tls: ours })).rejects.toMatchObject({ kind: 'internal' });
  });

  test("another authority's certificate is not let in, even by one who trusts the node", async () => {
    await expect(count(node, { secret: SECRET, tls: { ...theirs, ca: ours.ca } })).rejects.toMatchObject({
      kind: 'unavailable',
    });
  });

  test('a node of another authority is not talked to', async () => {
    await expect(count(node, { secret: SECRET, tls: { ...ours, ca: theirs.ca } })).rejects.toMatchObject({
      kind: 'unavailable',
    });
  });

  test('nobody gets in without encryption', async () => {
    await expect(count(node, { secret: SECRET, tls: null })).rejects.toMatchObject({ kind: 'unavailable' });
  });
});

describe('with TLS and one name for all members', () => {
  const members = makeCertificates('members', 'DNS:quiver-members');
  let node: RpcNode;
  beforeAll(async () => {
    node = await RpcNode.start(new ScriptedNodeShards(), { credentials: { secret: SECRET, tls: members } });
  });
  afterAll(() => node.close());

  test('who asks for that name reaches a member at any address', async () => {
    expect(await count(node, { secret: SECRET, tls: { ...members, serverName: 'quiver-members' } })).toBe(0);
  });

  test.each([undefined, 'others'])('the certificate is not taken for %p', async (serverName) => {
    await expect(count(node, { secret: SECRET, tls: { ...members, serverName } })).rejects.toMatchObject({
      kind: 'unavailable',
    });
  });
});

test('certificates that are replaced count for what is opened later, of servers and clients, and what is open goes on', async () => {
  const [first, second] = [makeCertificates('renewed-first'), makeCertificates('renewed-second')];
  const both = Buffer.concat([first.ca, second.ca]);
  const withRenewal = (tls: ClusterTls) => ({ ...tls, renewed: new RenewedCertificates(tls) });
  const [nodeTls, clientTls] = [withRenewal(first), withRenewal(first)];
  const node = await RpcNode.start(new ScriptedNodeShards(), { credentials: { secret: SECRET, tls: nodeTls } });
  const { client } = clientTo(node.address, { credentials: { secret: SECRET, tls: clientTls }, readRetryMs: 300 });
  try {
    expect(await client.read(SHARD, 'count', null, inTime())).toBe(0);
    nodeTls.renewed.renew({ ...second, ca: both });
    clientTls.renewed.renew({ ...second, ca: both });
    expect(await count(node, { secret: SECRET, tls: second })).toBe(0);
    expect(await client.read(SHARD, 'count', null, inTime())).toBe(0);
    // The connection of before ends with the node; the client shows its new certificate to the next one, which knows no
    // other.
    await node.close();
    nodeTls.renewed.renew(second);
    await node.listen();
    expect(await client.read(SHARD, 'count', null, inTime())).toBe(0);
  } finally {
    client.close();
    await node.close();
  }
});
