import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ensureEtcdUsers } from '../../shared/cluster-store/etcd/etcd-users';
import { CertificateAuthority, replaceFile } from '../support/cluster/certificate-authority';
import { eventually } from '../support/eventually';
import { freePorts } from '../support/servers/free-ports';
import { EtcdProcess } from '../support/processes/etcd-process';
import { API_KEY, ClusterProcesses, SECRET } from '../support/processes/cluster-processes';
import { SecuredClient } from '../support/http/secured-client';

const certificate = (name: string): string => resolve(__dirname, '../support/certificates', name);

test('members that speak mutual TLS replicate and answer; one without a certificate is not let in', async () => {
  const environment = {
    TLS_CA_FILE: certificate('ca.pem'),
    TLS_CERT_FILE: certificate('server.pem'),
    TLS_KEY_FILE: certificate('server.key.pem'),
  };
  const cluster = await ClusterProcesses.start({ nodes: 2, coordinators: 1, replicas: 2, threads: 2, environment });
  try {
    await cluster.data('POST', '/v1/collections', { name: 'sealed', dim: 2 });
    await cluster.data('POST', '/v1/collections/sealed/upsert', { external_id: 'x', vector: [1, 2] });
    const { results } = await cluster.data('POST', '/v1/collections/sealed/search', { vector: [1, 2], k: 1 });
    expect(results).toMatchObject([{ external_id: 'x' }]);
    await cluster.settled();

    const stranger = await cluster.addCoordinator({
      TLS_CA_FILE: '',
      TLS_CERT_FILE: '',
      TLS_KEY_FILE: '',
      REQUEST_TIMEOUT_MS: '1500',
    });
    await stranger.start();
    const answer = await cluster.call('POST', '/v1/collections/sealed/search', { vector: [1, 2], k: 1 }, 1);
    expect(answer.error).toMatchObject({ code: 500, message: expect.stringContaining('unavailable') });
  } finally {
    await cluster.destroy();
  }
});

test('members go on while their etcd, which asks for certificates, begins to ask for users, and others join afterwards', async () => {
  const [client, peer, secure] = await freePorts(3);
  const files = {
    caFile: certificate('ca.pem'),
    certFile: certificate('server.pem'),
    keyFile: certificate('server.key.pem'),
  };
  const etcd = new EtcdProcess({
    ports: { client, peer },
    // The first is the test's own way in.
    flags: [
      '--listen-client-urls',
      `http://127.0.0.1:${client},https://127.0.0.1:${secure}`,
      '--client-cert-auth',
      '--trusted-ca-file',
      files.caFile,
      '--cert-file',
      files.certFile,
      '--key-file',
      files.keyFile,
    ],
  });
  await etcd.start();
  const endpoint = `https://127.0.0.1:${secure}`;
  const environment = {
    ETCD_ENDPOINTS: endpoint,
    ETCD_CA_FILE: files.caFile,
    ETCD_CERT_FILE: files.certFile,
    ETCD_KEY_FILE: files.keyFile,
    ETCD_USERNAME: 'quiver',
    ETCD_PASSWORD: 'of-members',
  };
  const cluster = await ClusterProcesses.start({ nodes: 2, coordinators: 1, replicas: 2, environment, etcd });
  try {
    await cluster.data('POST', '/v1/collections', { name: 'before', dim: 2 });
    await ensureEtcdUsers({ endpoints: [endpoint], ...files }, 'of-root', {
      name: 'quiver',
      password: 'of-members',
      prefix: '/q/',
    });
    const bare = cluster.openBareStore();
    await expect(bare.list('/q/')).rejects.toMatchObject({ kind: 'unavailable' });
    await bare.close();

    await cluster.data('POST', '/v1/collections', { name: 'after', dim: 2 });
    for (const name of ['before', 'after'])
      await cluster.data('POST', `/v1/collections/${name}/upsert`, { external_id: 'x', vector: [1, 2] });
    await (await cluster.addNode()).start();
    await cluster.nodes[0].stop();
    await cluster.nodes[0].start();
    await cluster.settled();
    for (const name of ['before', 'after'])
      expect(
        (await cluster.data('POST', `/v1/collections/${name}/search`, { vector: [1, 2], k: 1 })).results,
      ).toMatchObject([{ external_id: 'x' }]);
    const { nodes } = await cluster.data('GET', '/v1/cluster');
    expect(nodes.map(({ state }: { state: string }) => state)).toEqual(['up', 'up', 'up']);
  } finally {
    await cluster.destroy();
  }
});

test('members take new certificates, and another authority, without a restart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-member-tls-'));
  const file = (name: string): string => join(folder, name);
  const [first, second] = [new CertificateAuthority('first'), new CertificateAuthority('second')];
  const give = (of: string, authorities: CertificateAuthority[], signedBy: CertificateAuthority): void => {
    const { cert, key } = signedBy.issue(of);
    replaceFile(file(`${of}.key`), key);
    replaceFile(file(`${of}.pem`), cert);
    replaceFile(file(`${of}-ca.pem`), authorities.map(({ pem }) => pem).join(''));
  };
  const filesOf = (of: string) => ({
    TLS_CA_FILE: file(`${of}-ca.pem`),
    TLS_CERT_FILE: file(`${of}.pem`),
    TLS_KEY_FILE: file(`${of}.key`),
  });
  give('member', [first], first);
  const environment = {
    ...filesOf('member'),
    CLUSTER_SECRET: '',
    CLUSTER_SECRET_FILE: file('secret'),
    LOG_LEVEL: 'info',
  };
  replaceFile(file('secret'), `${SECRET}\n`);
  const cluster = await ClusterProcesses.start({ nodes: 2, coordinators: 1, replicas: 2, threads: 2, environment });
  try {
    await cluster.data('POST', '/v1/collections', { name: 'c', dim: 2 });
    await cluster.data('POST', '/v1/collections/c/upsert', { external_id: 'x', vector: [1, 2] });
    const members = [...cluster.nodes, ...cluster.coordinators];
    give('member', [first, second], second);
    for (const { pid } of members) process.kill(pid, 'SIGHUP');
    await eventually('each has taken them', () =>
      members.every(({ output }) => output.includes('certificates were replaced')),
    );

    // One that knows the second authority alone is let in, and accepts what the others show it now. Its API speaks TLS,
    // too.
    give('newcomer', [second], second);
    const newcomer = await cluster.addCoordinator({
      ...filesOf('newcomer'),
      HTTP_THREADS: '2',
      API_TLS_CERT_FILE: file('newcomer.pem'),
      API_TLS_KEY_FILE: file('newcomer.key'),
    });
    await newcomer.start();
    const client = new SecuredClient({ port: newcomer.port, ca: second.pem, key: API_KEY });
    await eventually(
      'it answers',
      async () =>
        (await client.call('POST', '/v1/collections/c/search', { vector: [1, 2], k: 1 })).json.data?.results?.length ===
        1,
    );
    expect(
      (await client.call('POST', '/v1/collections/c/upsert', { external_id: 'y', vector: [2, 1] })).json.status,
    ).toBe('success');
    client.close();
    await newcomer.stop();
    // Those of before still reach each other; a node that comes back has to be reached again.
    await cluster.nodes[1].stop();
    await cluster.nodes[1].start();
    await cluster.settled();
    await eventually(
      'the first coordinator finds both',
      async () =>
        (await cluster.data('POST', '/v1/collections/c/search', { vector: [1, 2], k: 5 })).results.length === 2,
    );
  } finally {
    await cluster.destroy();
    first.destroy();
    second.destroy();
    rmSync(folder, { recursive: true, force: true });
  }
});
