import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClusterProcesses } from '../support/processes/cluster-processes';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';
import { exports, metricsOfMonitoring } from '../support/machines/monitoring-files';
import { findPromtool, runPromtool } from '../support/machines/promtool';

/** What real processes export, and whether it is true. */

/** Longer than any test: a scrape that waits for a client's deadline never comes back. */
const NEVER_MS = '3600000';
/** Names that the contract gives, which promtool would have without `_total`. */
const CONTRACT_GAUGES = /^vectordb_(?:vectors|collections)_total /;
/** Series that are there only while something of the kind goes on. */
const PASSING = ['quiver_move_progress_ratio', 'quiver_shard_learner_progress_ratio'];

async function scrape(opsPort: number): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${opsPort}/metrics`);
  expect(answer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  return answer.text();
}

/** Samples of one metric: its labels, as they are written, and its value. */
function samples(text: string, name: string): { labels: string; value: number }[] {
  return [...text.matchAll(new RegExp(`^${name}(?:\\{(.*)\\})? (\\S+)$`, 'gm'))].map((match) => ({
    labels: match[1] ?? '',
    value: Number(match[2]),
  }));
}

function valueOf(text: string, name: string, labels = ''): number | undefined {
  return samples(text, name).find((sample) => sample.labels === labels)?.value;
}

function sumOf(text: string, name: string): number {
  return samples(text, name).reduce((sum, { value }) => sum + value, 0);
}

function items(count: number): { external_id: string; vector: number[]; metadata: object }[] {
  return Array.from({ length: count }, (_, i) => ({
    external_id: `item-${i}`,
    vector: [i, 1, 2],
    metadata: { parity: i % 2 },
  }));
}

const promtool = findPromtool();

describe('the metrics of the embedded form and of a cluster', () => {
  let cluster: ClusterProcesses;
  let embedded: EmbeddedProcess;
  const backups = mkdtempSync(join(tmpdir(), 'quiver-metrics-'));
  /** By process, after some work. */
  const texts = new Map<string, string>();

  beforeAll(async () => {
    // With all that has metrics of its own.
    embedded = new EmbeddedProcess({
      environment: { HTTP_THREADS: '2', AUDIT_LOG: 'stdout', BACKUP_TARGET: `file:${backups}`, BACKUP_LOG: 'true' },
    });
    cluster = await ClusterProcesses.start({
      nodes: 2,
      coordinators: 2,
      replicas: 2,
      shards: 2,
      environment: { REQUEST_TIMEOUT_MS: NEVER_MS },
    });
    await embedded.start();
    for (const service of [cluster, embedded]) {
      await service.data('POST', '/v1/collections', { name: 'books', dim: 3 });
      await service.data('POST', '/v1/collections', { name: 'films', dim: 3 });
      await service.data('POST', '/v1/collections/books/bulk_upsert', { items: items(90) });
      await service.data('POST', '/v1/collections/films/bulk_upsert', { items: items(10) });
      await service.data('DELETE', '/v1/collections/books/delete/item-3');
      await service.data('POST', '/v1/collections/films/upsert', { external_id: 'a text', text: 'rivers in spring' });
      await service.data('POST', '/v1/collections/books/search', { vector: [1, 2, 3], k: 5 });
      await service.data('POST', '/v1/collections/books/bulk_search', { queries: [{ vector: [1, 2, 3] }] });
      await service.data('POST', '/v1/collections/books/hybrid_search', { query_text: 'rivers', k: 5 });
      await service.data('POST', '/v1/collections/books/rerank', { vector: [1, 2, 3], candidates: ['item-1'] });
      await service.data('POST', '/v1/query', { collection_name: 'films', query: 'rivers' });
    }
    await cluster.settled();
    const held = async (): Promise<number> =>
      (await Promise.all(cluster.nodes.map(({ opsPort }) => scrape(opsPort)))).reduce(
        (sum, text) => sum + sumOf(text, 'quiver_replica_vectors'),
        0,
      );
    await eventually('followers have applied what is written', async () => (await held()) === 200);
    for (const member of [...cluster.coordinators, ...cluster.nodes])
      texts.set(member.id, await scrape(member.opsPort));
    texts.set('embedded', await scrape(embedded.opsPort));
  });

  afterAll(async () => {
    await cluster?.destroy();
    await embedded?.destroy();
    rmSync(backups, { recursive: true, force: true });
  });

  function textOf(id: string): string {
    return texts.get(id) as string;
  }

  test.each(['coordinator-0', 'coordinator-1', 'embedded'])('%s counts each vector of every collection once', (id) => {
    expect(samples(textOf(id), 'vectordb_vectors_total').sort((a, b) => a.value - b.value)).toEqual([
      { labels: 'collection="films"', value: 11 },
      { labels: 'collection="books"', value: 89 },
    ]);
    expect(valueOf(textOf(id), 'vectordb_collections_total')).toBe(2);
    expect(sumOf(textOf(id), 'quiver_shard_vectors')).toBe(100);
  });

  test('the nodes come to the same by those that lead, and hold everything twice', () => {
    const nodes = ['node-0', 'node-1'].map(textOf);
    expect(nodes.reduce((sum, text) => sum + sumOf(text, 'quiver_replicas_vectors'), 0)).toBe(100);
    expect(nodes.reduce((sum, text) => sum + sumOf(text, 'quiver_replica_vectors'), 0)).toBe(200);
    expect(valueOf(textOf('embedded'), 'quiver_replicas_vectors')).toBe(100);
  });

  test('coordinators see the same cluster, one of them as its controller', () => {
    const coordinators = ['coordinator-0', 'coordinator-1'].map(textOf);
    for (const text of coordinators) {
      expect(valueOf(text, 'quiver_nodes', 'state="up"')).toBe(2);
      expect(valueOf(text, 'quiver_coordinators')).toBe(2);
      expect(valueOf(text, 'quiver_shards', 'state="ok"')).toBe(4);
      expect(samples(text, 'quiver_shard_in_sync_replicas').map(({ value }) => value)).toEqual([2, 2, 2, 2]);
      expect(valueOf(text, 'quiver_measure_failures_total')).toBe(0);
    }
    expect(coordinators.reduce((sum, text) => sum + sumOf(text, 'quiver_controller'), 0)).toBe(1);
    expect(
      coordinators.reduce(
        (sum, text) => sum + (valueOf(text, 'quiver_shard_map_changes_total', 'reason="create"') ?? 0),
        0,
      ),
    ).toBeGreaterThanOrEqual(4);
  });

  test('every process says who it is, that it is ready, and in a cluster that etcd answers', () => {
    for (const [id, text] of texts) {
      const role = id === 'embedded' ? 'embedded' : id.split('-')[0];
      expect(samples(text, 'quiver_process_info')[0].labels).toMatch(
        new RegExp(`^role="${role}",member="${id === 'embedded' ? 'node-0' : id}",version="\\d`),
      );
      expect(valueOf(text, 'quiver_ready')).toBe(1);
      if (id === 'embedded') continue;
      expect(valueOf(text, 'quiver_etcd_up')).toBe(1);
      expect(valueOf(text, 'quiver_member_registered')).toBe(1);
    }
  });

  test.each(['coordinator-0', 'embedded'])('%s has measured every phase of the searches that it did', (id) => {
    const count = (phase: string): number | undefined =>
      valueOf(textOf(id), 'quiver_search_phase_duration_seconds_count', `phase="${phase}"`);
    // search, bulk_search, hybrid_search, rerank and query; two of them came as texts; hybrid merges as it goes.
    expect(['parse', 'route', 'embed', 'node', 'merge', 'serialise'].map(count)).toEqual([5, 5, 2, 5, 4, 5]);
    expect(valueOf(textOf(id), 'quiver_embedding_duration_seconds_count', 'kind="passage"')).toBe(1);
    expect(valueOf(textOf(id), 'quiver_embedding_batch_texts_sum', 'kind="query"')).toBe(2);
  });

  test('nodes have measured what they did for coordinators', () => {
    const done = (operation: string): number =>
      ['node-0', 'node-1'].reduce(
        (sum, id) =>
          sum + (valueOf(textOf(id), 'quiver_node_operation_duration_seconds_count', `operation="${operation}"`) ?? 0),
        0,
      );
    // Searches, bulk, hybrid and query, of two shards each.
    expect(done('search')).toBeGreaterThanOrEqual(8);
    expect(done('keywordSearch')).toBeGreaterThanOrEqual(2);
    expect(done('write')).toBeGreaterThanOrEqual(6);
  });

  test('memory is shown by part and never negative, and RocksDB’s and FAISS’s are there', () => {
    for (const id of ['node-0', 'embedded']) {
      const memory = samples(textOf(id), 'quiver_replica_memory_bytes');
      const of = (part: string): number =>
        memory.filter(({ labels }) => labels.endsWith(`part="${part}"`)).reduce((sum, { value }) => sum + value, 0);
      expect(memory.filter(({ value }) => !(value >= 0))).toEqual([]);
      for (const part of ['vector_index', 'directory', 'rocksdb_memtables']) expect(of(part)).toBeGreaterThan(0);
    }
  });

  test('everything that alerts and dashboard name is exported', () => {
    const all = [...texts.values()].join('\n');
    const { alerts, dashboard } = metricsOfMonitoring();
    const missing = [...alerts, ...dashboard].filter((name) => !PASSING.includes(name) && !exports(all, name));
    expect(missing).toEqual([]);
    for (const name of PASSING) expect(all).toContain(`# TYPE ${name} gauge`);
  });

  test('every metric of Quiver’s own has a help text, a unit where it has one, and none is exported that nobody explains', () => {
    for (const text of texts.values()) {
      const names = [...text.matchAll(/^# TYPE ((?:quiver|vectordb)_\w+) (\w+)$/gm)];
      expect(names.length).toBeGreaterThan(20);
      for (const [, name, type] of names) {
        expect(text).toMatch(new RegExp(`^# HELP ${name} \\S.{8,}$`, 'm'));
        if (type === 'counter') expect(name).toMatch(/_total$/);
        expect(name).not.toMatch(/_(?:ms|milliseconds|kb|mb|percent)(?:_|$)/);
      }
    }
  });

  (promtool === null ? test.skip : test)('promtool finds no fault but the two names that the contract gives', () => {
    for (const [id, text] of texts) {
      const faults = runPromtool(promtool as string, ['check', 'metrics'], text)
        .said.split('\n')
        .filter((line) => line !== '' && !CONTRACT_GAUGES.test(line));
      expect([id, faults]).toEqual([id, []]);
    }
  });

  test('a scrape comes back while shards do not, and says which', async () => {
    await Promise.all(cluster.nodes.map((node) => node.kill()));
    const [{ opsPort }] = cluster.coordinators;
    await eventually('every shard counts as down', async () => {
      const text = await scrape(opsPort);
      const up = samples(text, 'quiver_shard_up');
      return (
        up.length === 4 && up.every(({ value }) => value === 0) && valueOf(text, 'quiver_nodes', 'state="down"') === 2
      );
    });
    const text = await scrape(opsPort);
    expect(valueOf(text, 'vectordb_collections_total')).toBe(2);
    expect(samples(text, 'vectordb_vectors_total')).toEqual([]);
    expect(valueOf(text, 'quiver_shards', 'state="unavailable"')).toBe(4);
    expect(valueOf(text, 'quiver_measure_failures_total')).toBe(0);
  });
});
