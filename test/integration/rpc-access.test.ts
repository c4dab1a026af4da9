import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ClusterTls, readClusterTls } from '../../shared/rpc/transport-security';
import { RpcNode, SECRET, SHARD, clientTo, within } from '../support/rpc-node';
import { ScriptedNodeShards } from '../support/scripted-node-shards';

/** Who is let in to a node: holders of the secret and, with TLS, of a certificate that the cluster's authority signed. */

const folder = mkdtempSync(join(tmpdir(), 'quiver-certificates-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function openssl(...args: string[]): void {
  execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
}

/** An authority of its own, and a certificate that it signed, for 127.0.0.1 where nothing else is named. */
function makeCertificates(name: string, names = 'IP:127.0.0.1,DNS:localhost'): ClusterTls {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl('req', '-x509', ...key, '-keyout', `${name}-ca.key`, '-out', `${name}-ca.pem`, '-subj', `/CN=${name} authority`, '-days', '1');
  openssl('req', ...key, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
  writeFileSync(join(folder, 'names'), `subjectAltName=${names}`);
  openssl('x509', '-req', '-in', `${name}.csr`, '-CA', `${name}-ca.pem`, '-CAkey', `${name}-ca.key`, '-CAcreateserial', '-out', `${name}.pem`, '-days', '1', '-extfile', 'names');
  return readClusterTls({ caFile: join(folder, `${name}-ca.pem`), certFile: join(folder, `${name}.pem`), keyFile: join(folder, `${name}.key`) });
}

async function count(node: RpcNode, credentials: { secret: string; tls: ClusterTls | null }, patienceMs = 10_000): Promise<number> {
  const { client } = clientTo(node.address, { credentials, readRetryMs: 300 });
  try {
    return await client.count(SHARD, within(patienceMs));
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
    const startMs = performance.now();
    await expect(count(node, { secret, tls: null })).rejects.toMatchObject({ kind: 'internal', message: expect.stringContaining('refused the credentials') });
    expect(performance.now() - startMs).toBeLessThan(5_000);
  });

  test('writes need it, too', async () => {
    const { client } = clientTo(node.address, { credentials: { secret: 'wrong', tls: null } });
    await expect(client.write(SHARD, [{ type: 'delete', externalId: 'a' }], within(10_000))).rejects.toMatchObject({ kind: 'internal' });
    client.close();
  });
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
    await expect(count(node, { secret: SECRET, tls: { ...theirs, ca: ours.ca } })).rejects.toMatchObject({ kind: 'unavailable' });
  });

  test('a node of another authority is not talked to', async () => {
    await expect(count(node, { secret: SECRET, tls: { ...ours, ca: theirs.ca } })).rejects.toMatchObject({ kind: 'unavailable' });
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
    await expect(count(node, { secret: SECRET, tls: { ...members, serverName } })).rejects.toMatchObject({ kind: 'unavailable' });
  });
});
