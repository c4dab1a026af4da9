import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { EtcdClusterStore } from '../../shared/cluster-store/etcd/etcd-cluster-store';
import { SealedClusterStore } from '../../shared/cluster-store/sealed-cluster-store';
import { silentLogger } from '../../shared/base/logs/logger';
import { EntrySeal } from '../../shared/base/secret/entry-seal';
import { API_KEY, ClusterProcesses, SECRET } from '../support/processes/cluster-processes';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { EtcdProcess } from '../support/processes/etcd-process';
import {
  answersOf,
  differenceOfHits,
  entriesOf,
  fill,
  keep,
  unpack,
  withoutHits,
  type Answers,
  type Hit,
} from '../support/shards/kept-folder';

/**
 * The data folders that releases left, embedded and of a node, open in this version with everything in them, and open
 * again after a stop. KEEP_FOLDERS=<version> (scripts/keep-folders.mjs) makes those of this version first.
 */

const { KEEP_FOLDERS } = process.env;
const folders: string[] = [];
const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-kept-'));
  folders.push(folder);
  return folder;
};
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** The names of the kept folders of a form, with those that are about to be made. */
function kept(form: string): string[] {
  const names = readdirSync(resolve(__dirname, '../fixtures')).filter((name) =>
    new RegExp(`^${form}-\\d+\\.\\d+\\.\\d+\\.tar\\.gz$`).test(name),
  );
  return [
    ...new Set([
      ...names.map((name) => name.replace('.tar.gz', '')),
      ...(KEEP_FOLDERS === undefined ? [] : [`${form}-${KEEP_FOLDERS}`]),
    ]),
  ].sort();
}

function embeddedIn(dataDir: string): EmbeddedProcess {
  return new EmbeddedProcess({ dataDir, environment: { API_KEY, EMBEDDING_MODEL: 'builtin' } });
}

/** One node on this data folder, and one coordinator. */
function clusterIn(dataDir: string, etcd: EtcdProcess): Promise<ClusterProcesses> {
  const environment = { EMBEDDING_MODEL: 'builtin' };
  return ClusterProcesses.start({
    nodes: 1,
    coordinators: 1,
    replicas: 1,
    etcd,
    environment,
    environmentOf: async (id) => (id === 'node-0' ? { DATA_DIR: dataDir } : ({} as Record<string, string>)),
  });
}

function openStore(etcd: EtcdProcess): SealedClusterStore {
  const store = new EtcdClusterStore({ endpoints: [etcd.endpoint], callTimeoutMs: 60_000 });
  return new SealedClusterStore({
    store,
    seal: new EntrySeal({ secret: SECRET }),
    rule: 'required',
    log: silentLogger,
    onRefused: () => undefined,
  });
}

if (KEEP_FOLDERS !== undefined) {
  test('the embedded data folder of this version is kept', async () => {
    const folder = newFolder();
    const service = embeddedIn(join(folder, 'data'));
    const call = service.data.bind(service);
    await service.start();
    await fill(call, 0);
    await service.stop();
    await service.start();
    await fill(call, 1);
    const answers = await answersOf(call);
    await service.kill();
    keep(`embedded-${KEEP_FOLDERS}`, folder, { answers });
    await service.destroy();
  });

  test("a node's data folder of this version is kept", async () => {
    const folder = newFolder();
    mkdirSync(join(folder, 'data'));
    const cluster = await clusterIn(join(folder, 'data'), await EtcdProcess.start());
    const call = (method: string, path: string, body?: unknown): Promise<any> => cluster.data(method, path, body);
    await fill(call, 0);
    await cluster.settled();
    await cluster.nodes[0].stop();
    await cluster.nodes[0].start();
    await cluster.settled();
    await fill(call, 1);
    const answers = await answersOf(call);
    await cluster.nodes[0].kill();
    const store = cluster.openStore();
    const entries = await entriesOf(store);
    await store.close();
    keep(`node-${KEEP_FOLDERS}`, folder, { answers, entries });
    await cluster.destroy();
  });
}

test('there is a folder of each form', () => {
  expect(kept('embedded')).not.toEqual([]);
  expect(kept('node')).not.toEqual([]);
});

test('hits are the same if another processor may answer them: scores by their first digits, near ones in any order', () => {
  const kept: Hit[] = [
    ['a', 20.5],
    ['b', 0.5],
    ['c', 0.49999],
    ['d', 0.1],
  ];
  expect(
    differenceOfHits(
      [
        ['a', 20.501],
        ['c', 0.500001],
        ['b', 0.5],
        ['e', 0.10001],
      ],
      kept,
    ),
  ).toBeNull();
  for (const other of [
    [['a', 20.6], kept[1], kept[2], kept[3]],
    [kept[1], kept[0], kept[2], kept[3]],
    [kept[0], kept[1], ['e', 0.49999], kept[3]],
    [kept[0], kept[1], kept[1], kept[3]],
    kept.slice(0, 3),
  ] as Hit[][])
    expect(differenceOfHits(other, kept)).not.toBeNull();
});

test.each(kept('embedded'))('%s opens with everything in it', async (name) => {
  const { dataDir, answers } = unpack(name, newFolder());
  const service = embeddedIn(dataDir);
  try {
    for (let start = 0; start < 2; start += 1) {
      await service.start();
      expectSame(await answersOf(service.data.bind(service)), answers);
      expect(await service.stop()).toBe(0);
    }
  } finally {
    await service.destroy();
  }
});

test.each(kept('node'))('%s opens with everything in it', async (name) => {
  const { dataDir, answers, entries } = unpack(name, newFolder());
  const etcd = await EtcdProcess.start();
  const store = openStore(etcd);
  await store.transact(
    [],
    entries.map(({ key, value }) => ({ type: 'put', key, value })),
  );
  await store.close();
  const cluster = await clusterIn(dataDir, etcd);
  try {
    for (let start = 0; start < 2; start += 1) {
      expectSame(await answersOf((method, path, body) => cluster.data(method, path, body)), answers);
      expect(await cluster.nodes[0].stop()).toBe(0);
      if (start > 0) break;
      await cluster.nodes[0].start();
      await cluster.settled();
    }
  } finally {
    await cluster.destroy();
  }
});

function expectSame(found: Answers, answers: Answers): void {
  expect(Object.keys(answers)).toEqual(['en', 'de', 'keys']);
  expect(withoutHits(found)).toEqual(withoutHits(answers));
  for (const language of ['en', 'de'] as const) {
    for (const kind of ['search', 'filtered', 'keywords'] as const)
      expect([language, kind, differenceOfHits(found[language][kind], answers[language][kind])]).toEqual([
        language,
        kind,
        null,
      ]);
  }
}
