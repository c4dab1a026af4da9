import { API_KEY, ClusterProcesses } from '../support/processes/cluster-processes';
import { DashboardBrowser, goTo } from '../support/machines/dashboard-browser';

/** The dashboard over a cluster of real processes. */

test('through a coordinator: nodes, shards and a drain as they are, and a node that is killed', async () => {
  const [cluster, browser] = await Promise.all([
    ClusterProcesses.start({ nodes: 3, coordinators: 1 }),
    DashboardBrowser.launch(),
  ]);
  try {
    await cluster.data('POST', '/v1/collections', { name: 'spread', dim: 8, shards: 2, replicas: 2 });
    const { page, misdeeds } = await browser.signedIn(cluster.baseUrl(), API_KEY);
    const node = (id: string) =>
      page.getByRole('region', { name: 'Cluster' }).getByRole('listitem').filter({ hasText: id });
    await page.getByText('3 nodes · 1 coordinator · 2 shards').waitFor();
    await page.getByRole('row').filter({ hasText: 'spread' }).nth(1).getByText('leads').waitFor();
    await page.getByRole('button', { name: 'Drain node-0' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Drain' }).click();
    await node('node-0').getByText('drained').waitFor();
    await page.getByRole('button', { name: 'Undrain node-0' }).click();
    await node('node-0').getByText('up', { exact: true }).waitFor();

    for (const part of ['search', 'browse', 'map', 'settings']) {
      await goTo(page, `#/collections/spread/${part}`);
      await page.locator('main .card').first().waitFor();
    }
    await goTo(page, '#/');
    await node('node-2').getByText('up', { exact: true }).waitFor();
    await cluster.nodes[2].kill();
    await node('node-2').getByText('down', { exact: true }).waitFor();
    expect(misdeeds).toMatchObject({ violations: [], errors: [], strangers: [] });
  } finally {
    await browser.close();
    await cluster.destroy();
  }
});
