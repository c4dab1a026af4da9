import { X509Certificate } from 'node:crypto';
import { ApiServer } from '../support/chart/api-server';
import { CHART } from '../support/chart/chart-files';
import { golden, manifestsFrom, NAMESPACE, RELEASE, render } from '../support/chart/golden';
import { type HelmResult, helmWithCluster, KUBERNETES_VERSIONS, testWithHelm } from '../support/chart/helm';
import { type Manifest, named } from '../support/chart/manifest';

/**
 * What the chart renders where a release of it runs already: upgrades keep what must be kept, and refuse what would
 * harm.
 */

/** Renders for a cluster that holds these objects. */
async function upgrade(objects: Manifest[], ...values: string[]): Promise<HelmResult> {
  const cluster = await ApiServer.start({ kubernetes: KUBERNETES_VERSIONS[1], objects, namespace: NAMESPACE });
  try {
    return await helmWithCluster(
      cluster.kubeconfig,
      'template',
      RELEASE,
      CHART,
      '--namespace',
      NAMESPACE,
      '--dry-run=server',
      '--kube-version',
      KUBERNETES_VERSIONS[1],
      ...values.flatMap((value) => ['--set', value]),
    );
  } finally {
    await cluster.close();
  }
}

async function upgraded(objects: Manifest[], ...values: string[]): Promise<Manifest[]> {
  const { status, stdout, stderr } = await upgrade(objects, ...values);
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return manifestsFrom(stdout);
}

const AUTH = 'search-quiver-auth';
const COORDINATOR = 'search-quiver-coordinator';

testWithHelm('secrets are kept', async () => {
  const before = golden('minimal');
  const secret = named(before, 'Secret', AUTH)!;
  secret.data = {
    'api-key': Buffer.from('the first key').toString('base64'),
    'cluster-secret': Buffer.from('the first secret').toString('base64'),
  };
  expect(named(await upgraded(before), 'Secret', AUTH)?.data).toEqual(secret.data);

  const data = named(await upgraded(before, 'auth.apiKey=another-key'), 'Secret', AUTH)?.data;
  expect(data).toEqual({ ...secret.data, 'api-key': Buffer.from('another-key').toString('base64') });

  delete secret.data['cluster-secret'];
  const completed = named(await upgraded(before), 'Secret', AUTH)?.data;
  expect(completed['api-key']).toBe(secret.data['api-key']);
  expect(Buffer.from(completed['cluster-secret'], 'base64').toString()).toMatch(/^[A-Za-z0-9]{40}$/);
});

testWithHelm("the autoscaler's count of coordinators is kept, and without it the given one", async () => {
  const before = golden('minimal');
  named(before, 'Deployment', COORDINATOR)!.spec.replicas = 5;
  const replicas = async (...values: string[]): Promise<number> =>
    named(await upgraded(before, ...values), 'Deployment', COORDINATOR)!.spec.replicas;
  expect(await replicas('coordinator.autoscaling.enabled=true')).toBe(5);
  expect(await replicas()).toBe(2);
});

testWithHelm("the number of etcd's members is not changed", async () => {
  const { status, stderr } = await upgrade(golden('minimal'), 'etcd.replicas=5');
  expect(status).not.toBe(0);
  expect(stderr).toContain('etcd.replicas is 5, but this release was installed with 3');
});

testWithHelm('nodes are taken away only when they were drained', async () => {
  const before = golden('minimal');
  named(before, 'StatefulSet', 'search-quiver-node')!.spec.replicas = 6;
  const { status, stderr } = await upgrade(before, 'node.replicas=4');
  expect(status).not.toBe(0);
  expect(stderr).toContain('node.replicas goes from 6 to 4: drain the nodes from search-quiver-node-4 on');
  expect(
    named(await upgraded(before, 'node.replicas=4', 'node.scaleInDrained=true'), 'StatefulSet', 'search-quiver-node')
      ?.spec.replicas,
  ).toBe(4);
  expect(named(await upgraded(before, 'node.replicas=8'), 'StatefulSet', 'search-quiver-node')?.spec.replicas).toBe(8);
});

const CERTIFICATES = ['coordinator', 'node', 'etcd'].map((component) => `search-quiver-${component}-tls`);
const pemOf = (objects: Manifest[], name: string, key: string): string =>
  Buffer.from(named(objects, 'Secret', name)!.data[key], 'base64').toString();

testWithHelm('the chart makes certificates that etcd and members can use, and keeps them', async () => {
  const before = render('minimal', KUBERNETES_VERSIONS[1]);
  const authority = new X509Certificate(pemOf(before, 'search-quiver-authority', 'tls.crt'));
  expect(authority.ca).toBe(true);
  for (const name of CERTIFICATES) {
    const certificate = new X509Certificate(pemOf(before, name, 'tls.crt'));
    expect(certificate.verify(authority.publicKey)).toBe(true);
    expect(pemOf(before, name, 'ca.crt')).toBe(pemOf(before, 'search-quiver-authority', 'tls.crt'));
    // To show to servers and to clients.
    expect(certificate.keyUsage.sort()).toEqual(['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
  }
  const members = named(before, 'StatefulSet', 'search-quiver-node')!.spec.template.spec.containers[0].env.find(
    ({ name }: { name: string }) => name === 'TLS_SERVER_NAME',
  ).value;
  const [ofCoordinators, ofNodes, ofEtcd] = CERTIFICATES.map(
    (name) => new X509Certificate(pemOf(before, name, 'tls.crt')),
  );
  for (const certificate of [ofCoordinators, ofNodes]) expect(certificate.checkHost(members)).toBe(members);
  for (const i of [0, 1, 2])
    expect(ofEtcd.checkHost(`search-quiver-etcd-${i}.search-quiver-etcd.vectors.svc.cluster.local`)).toBeDefined();

  const after = await upgraded(before);
  for (const name of [...CERTIFICATES, 'search-quiver-authority', 'search-quiver-etcd-users', AUTH])
    expect(named(after, 'Secret', name)?.data).toEqual(named(before, 'Secret', name)?.data);
});

testWithHelm('a certificate that was deleted is made anew by the same authority', async () => {
  const before = render('minimal', KUBERNETES_VERSIONS[1]);
  const [gone, ...kept] = CERTIFICATES;
  const after = await upgraded(before.filter(({ metadata }) => metadata.name !== gone));
  for (const name of kept) expect(named(after, 'Secret', name)?.data).toEqual(named(before, 'Secret', name)?.data);
  expect(pemOf(after, gone, 'tls.crt')).not.toBe(pemOf(before, gone, 'tls.crt'));
  expect(
    new X509Certificate(pemOf(after, gone, 'tls.crt')).verify(
      new X509Certificate(pemOf(before, 'search-quiver-authority', 'tls.crt')).publicKey,
    ),
  ).toBe(true);
});

testWithHelm('an etcd that is there keeps speaking as it was installed', async () => {
  const { status, stderr } = await upgrade(golden('minimal'), 'tls.enabled=false');
  expect(status).not.toBe(0);
  expect(stderr).toContain('tls.enabled is false, but the etcd of this release was installed with the opposite');
  const plain = golden('everything-off');
  const words = ['etcd.replicas=1', 'node.replicas=1', 'config.DEFAULT_REPLICAS=1'];
  expect((await upgrade(plain, ...words)).stderr).toContain('set tls.enabled=false');
  await upgraded(plain, ...words, 'tls.enabled=false');
});
