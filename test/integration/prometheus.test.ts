import { ClusterProcesses } from '../support/processes/cluster-processes';
import { eventually } from '../support/eventually';
import { ALERTS_FILE, alertNames, readDashboard } from '../support/machines/monitoring-files';
import { findPrometheus, PrometheusProcess } from '../support/machines/prometheus-process';

/** A real Prometheus on a real cluster: what operators will see. */

const VECTORS = 700;
/** Panels about what is under way only for a moment: moves, and replicas that catch up. */
const PASSING = ['Moves and learners'];

const binary = findPrometheus();

(binary === null ? describe.skip : describe)('a Prometheus that scrapes a cluster', () => {
  let cluster: ClusterProcesses;
  let prometheus: PrometheusProcess;

  beforeAll(async () => {
    cluster = await ClusterProcesses.start({ nodes: 2, coordinators: 2, replicas: 2, shards: 2 });
    for (const [collection, count] of [
      ['books', VECTORS - 100],
      ['films', 100],
    ] as const) {
      await cluster.data('POST', '/v1/collections', { name: collection, dim: 2 });
      const items = Array.from({ length: count }, (_, i) => ({ external_id: `item-${i}`, vector: [i, 1] }));
      await cluster.data('POST', `/v1/collections/${collection}/bulk_upsert`, { items });
    }
    await cluster.settled();
    const targets = [...cluster.coordinators, ...cluster.nodes].map(({ opsPort }) => `127.0.0.1:${opsPort}`);
    prometheus = await PrometheusProcess.start(binary as string, { targets, rulesFile: ALERTS_FILE });
    await eventually('every process is scraped', async () => (await prometheus.query('sum(up)'))[0]?.value === 4);
  });

  afterAll(async () => {
    await prometheus?.destroy();
    await cluster?.destroy();
  });

  test.each([
    'sum(max by (collection) (vectordb_vectors_total))',
    'sum(quiver_replicas_vectors)',
    'sum(quiver_replica_vectors and quiver_replica_leads == 1)',
  ])('%s is what was written', async (expression) => {
    await eventually(
      `${expression} is ${VECTORS}`,
      async () => (await prometheus.query(expression)).map(({ value }) => value).join() === String(VECTORS),
    );
  });

  test('the names of collections join what nodes say of uids', async () => {
    const byName =
      'sum by (collection) (quiver_replica_vectors * on (collection_uid) group_left (collection) max by (collection_uid, collection) (quiver_collection_info))';
    // Followers apply what is written after it is answered.
    await eventually('both have all of it', async () => {
      const found = new Map((await prometheus.query(byName)).map(({ metric, value }) => [metric.collection, value]));
      return found.size === 2 && found.get('books') === 2 * (VECTORS - 100) && found.get('films') === 200;
    });
  });

  test('every question of the dashboard has an answer', async () => {
    const expressions = readDashboard()
      .panels.filter(({ title }) => !PASSING.includes(title))
      .flatMap(({ targets }) => (targets ?? []).map(({ expr }) => expr));
    const ask = (expression: string): string =>
      expression.replaceAll('$__rate_interval', '1m').replaceAll('$job', 'quiver').replaceAll('$collection', '.*');
    let silent = expressions;
    // Rates need two scrapes, and something that goes on between them.
    await eventually('every panel shows something', async () => {
      await cluster.data('POST', '/v1/collections/books/search', { vector: [1, 2], k: 3 });
      await cluster.data('POST', '/v1/collections/films/hybrid_search', { query_text: 'rivers', k: 3 });
      await cluster.data('POST', '/v1/collections/films/upsert', { external_id: 'item-1', text: 'rivers' });
      const answers = await Promise.all(
        silent.map(async (expression) =>
          (await prometheus.query(ask(expression))).some(({ value }) => !Number.isNaN(value)),
        ),
      );
      silent = silent.filter((_, i) => !answers[i]);
      return silent.length === 0;
    }).catch((error: Error) => {
      throw new Error(`${error.message}: ${silent.join('\n')}`);
    });
  });

  test('the rules load, work and are silent while all is well; a lost node is told of', async () => {
    await eventually('every rule was evaluated', async () =>
      (await prometheus.rules()).every(({ health }) => health === 'ok'),
    );
    const rules = await prometheus.rules();
    expect(rules.map(({ name }) => name).sort()).toEqual(alertNames().sort());
    // A busy machine may well have something slow pending.
    expect(rules.filter(({ state }) => state === 'firing').map(({ name }) => name)).toEqual([]);

    await cluster.nodes[1].kill();
    const expected = ['QuiverProcessDown', 'QuiverNodeDown', 'QuiverShardAtRisk', 'QuiverShardDegraded'];
    const told = async (): Promise<string[]> =>
      (await prometheus.rules()).filter(({ state }) => state !== 'inactive').map(({ name }) => name);
    await eventually(`${expected.join(', ')} are pending`, async () => {
      const names = await told();
      return expected.every((name) => names.includes(name));
    });
  });
});
