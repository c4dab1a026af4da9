import { ApiServer } from '../support/chart/api-server';
import { CHART } from '../support/chart/chart-files';
import { golden, manifestsFrom, NAMESPACE, RELEASE } from '../support/chart/golden';
import { type HelmResult, helmWithCluster, KUBERNETES_VERSIONS, testWithHelm } from '../support/chart/helm';
import { type Manifest, named } from '../support/chart/manifest';

/** What the chart renders where a release of it runs already: upgrades keep what must be kept, and refuse what would harm. */

/** Renders for a cluster that holds these objects. */
async function upgrade(objects: Manifest[], ...values: string[]): Promise<HelmResult> {
  const cluster = await ApiServer.start({ kubernetes: KUBERNETES_VERSIONS[1], objects, namespace: NAMESPACE });
  try {
    return await helmWithCluster(cluster.kubeconfig, 'template', RELEASE, CHART, '--namespace', NAMESPACE, '--dry-run=server', '--kube-version', KUBERNETES_VERSIONS[1], ...values.flatMap((value) => ['--set', value]));
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
  secret.data = { 'api-key': Buffer.from('the first key').toString('base64'), 'cluster-secret': Buffer.from('the first secret').toString('base64') };
  expect(named(await upgraded(before), 'Secret', AUTH)?.data).toEqual(secret.data);

  const data = named(await upgraded(before, 'auth.apiKey=another'), 'Secret', AUTH)?.data;
  expect(data).toEqual({ ...secret.data, 'api-key': Buffer.from('another').toString('base64') });

  delete secret.data['cluster-secret'];
  const completed = named(await upgraded(before), 'Secret', AUTH)?.data;
  expect(completed['api-key']).toBe(secret.data['api-key']);
  expect(Buffer.from(completed['cluster-secret'], 'base64').toString()).toMatch(/^[A-Za-z0-9]{40}$/);
});

testWithHelm("the autoscaler's count of coordinators is kept, and without it the given one", async () => {
  const before = golden('minimal');
  named(before, 'Deployment', COORDINATOR)!.spec.replicas = 5;
  const replicas = async (...values: string[]): Promise<number> => named(await upgraded(before, ...values), 'Deployment', COORDINATOR)!.spec.replicas;
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
  expect(named(await upgraded(before, 'node.replicas=4', 'node.scaleInDrained=true'), 'StatefulSet', 'search-quiver-node')?.spec.replicas).toBe(4);
  expect(named(await upgraded(before, 'node.replicas=8'), 'StatefulSet', 'search-quiver-node')?.spec.replicas).toBe(8);
});
