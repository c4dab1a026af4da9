import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { collectionFromEntry, collectionPath } from '../../../coordinator/service/collections/collection-record';
import {
  RESHARDS_PREFIX,
  reshardFromEntry,
  type ReshardRecord,
  type ReshardState,
} from '../../../coordinator/service/collections/reshard-record';
import { assignmentFromEntry, assignmentPath } from '../../../shared/cluster-store/entries/shard-assignment';
import { type AdminCall, restored, takeBackup } from '../../support/targets/backup-calls';
import type { ClusterProcesses } from '../../support/processes/cluster-processes';
import { eventually } from '../../support/eventually';
import type { MemberProcess } from '../../support/processes/member-process';
import { sharedCluster } from './shared-cluster';

const folder = mkdtempSync(join(tmpdir(), 'quiver-restoring-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const on = sharedCluster({
  nodes: 3,
  coordinators: 2,
  environment: { REQUEST_TIMEOUT_MS: '8000', BACKUP_TARGET: `file:${folder}` },
});

const SAVED = Array.from({ length: 1000 }, (_, i) => `saved-${i}`);

type Victim = 'the controller' | 'an old primary' | 'a new primary';
const KILLS: [ReshardState, Victim][] =
  process.env.RESTORE_KILLS === 'all'
    ? (['seeding', 'filling', 'sealing', 'opening'] as const).flatMap((state) =>
        (['the controller', 'an old primary', 'a new primary'] as const).map((victim): [ReshardState, Victim] => [
          state,
          victim,
        ]),
      )
    : [
        ['seeding', 'the controller'],
        ['seeding', 'a new primary'],
        ['sealing', 'an old primary'],
        ['opening', 'the controller'],
      ];

/** Calls `then` once, as soon as the reshard of a restore is in this state. Answers what ends that. */
async function once(
  cluster: ClusterProcesses,
  wanted: ReshardState,
  then: (reshard: ReshardRecord) => void,
): Promise<() => Promise<void>> {
  const store = cluster.openStore();
  let isOver = false;
  const { revision } = await store.list(RESHARDS_PREFIX);
  const stop = store.watch(RESHARDS_PREFIX, revision, (events) => {
    for (const event of events) {
      if (isOver || event.type !== 'put' || reshardFromEntry(event).state !== wanted) continue;
      isOver = true;
      then(reshardFromEntry(event));
    }
  });
  return async () => {
    stop();
    await store.close();
  };
}

async function victimOf(
  cluster: ClusterProcesses,
  victim: Victim,
  { from, to }: ReshardRecord,
): Promise<MemberProcess> {
  if (victim === 'the controller') {
    const { controller } = await cluster.view();
    return cluster.coordinators.find(({ id }) => id === controller)!;
  }
  const store = cluster.openStore();
  try {
    const entry = await store.get(
      assignmentPath({ collectionUid: victim === 'an old primary' ? from.uid : to.uid, shard: 0 }),
    );
    const node = entry === null ? undefined : assignmentFromEntry(entry).primary?.node;
    return cluster.nodes.find(({ id }) => id === node) ?? cluster.nodes[0];
  } finally {
    await store.close();
  }
}

/** Much more than a vector of 3 KiB takes in records and index, and less than the room that its file has for more. */
const SMALL_BYTES = 16 * 1024;

test('a backup of one item is small, also when its nodes were started again', async () => {
  await on.runs(async (cluster) => {
    const call: AdminCall = (method, path, body) => cluster.data(method, path, body);
    await call('POST', '/v1/collections', { name: 'one', dim: 768, shards: 1, replicas: 2 });
    await call('POST', '/v1/collections/one/upsert', {
      external_id: 'only',
      vector: Array.from({ length: 768 }, (_, i) => Math.sin(i)),
    });
    expect((await takeBackup(call, { collections: ['one'] })).copied_bytes).toBeLessThan(SMALL_BYTES);
    for (const node of cluster.nodes) {
      await node.end('SIGTERM');
      await node.start();
    }
    await cluster.settled();
    await call('POST', '/v1/collections/one/upsert', {
      external_id: 'only',
      vector: Array.from({ length: 768 }, (_, i) => Math.cos(i)),
    });
    const { id, copied_bytes: copied } = await takeBackup(call, { collections: ['one'] });
    expect(copied).toBeLessThan(SMALL_BYTES);
    expect((await restored(call, { backup: id, rename: { one: 'two' } })).state).toBe('done');
    const of = async (name: string): Promise<unknown> => (await call('GET', `/v1/collections/${name}/export`)).vectors;
    expect(await of('two')).toEqual(await of('one'));
  });
});

async function saved(cluster: ClusterProcesses): Promise<{ call: AdminCall; backup: string }> {
  const call: AdminCall = (method, path, body) => cluster.data(method, path, body);
  await call('POST', '/v1/collections', { name: 'saved', dim: 4, shards: 2, replicas: 2 });
  await call('POST', '/v1/collections/saved/bulk_upsert', {
    items: SAVED.map((id, n) => ({ external_id: id, vector: [1, 2, 3, n], metadata: { n } })),
  });
  const { id } = await takeBackup(call, { collections: ['saved'] });
  return { call, backup: id };
}

/** A restore once it is over, whichever coordinator is there to say so. */
async function ended(cluster: ClusterProcesses, id: string): Promise<any> {
  let last: any = null;
  await eventually('the restore is over', async () => {
    for (const coordinator of [0, 1]) {
      const { data } = await cluster
        .call('GET', `/v1/admin/restores/${id}`, undefined, coordinator)
        .catch(() => ({ data: null }));
      if (data !== null) last = data;
    }
    return last !== null && last.state !== 'running' && last.state !== 'cancelling';
  });
  return last;
}

test.each(KILLS)('a restore into an empty collection that is %s goes on when %s is killed', async (state, victim) => {
  await on.runs(async (cluster) => {
    const { call, backup } = await saved(cluster);
    await call('POST', '/v1/collections', { name: 'hollow', dim: 4, shards: 3, replicas: 2, description: 'mine' });
    const killed: Promise<MemberProcess>[] = [];
    const stop = await once(cluster, state, (reshard) => {
      const kill = async (): Promise<MemberProcess> => {
        const member = await victimOf(cluster, victim, reshard);
        await member.kill();
        return member;
      };
      killed.push(kill());
    });
    const { id } = await call('POST', '/v1/admin/restore', { backup, rename: { saved: 'hollow' }, shards: 4 });
    await eventually('it came to the kill', () => killed.length > 0);
    const [member] = await Promise.all(killed);
    await stop();
    expect(await ended(cluster, id)).toMatchObject({ state: 'done', error: null });
    await member.start();
    await cluster.settled();
    expect(await call('GET', '/v1/collections/hollow')).toMatchObject({
      vector_count: SAVED.length,
      shards: 4,
      replicas: 2,
      description: 'mine',
    });
    expect(
      (await call('GET', '/v1/collections/hollow/export?limit=10000')).vectors.map((one: any) => one.external_id),
    ).toEqual(SAVED);
    await eventually('nothing is left of the empty shards', async () => (await cluster.strays()).length === 0);
    expect(await cluster.differences()).toEqual([]);
  });
});

test('a write that comes first is kept through the death of the controller, and the restore gives up without a trace', async () => {
  await on.runs(async (cluster) => {
    const { call, backup } = await saved(cluster);
    await call('POST', '/v1/collections', { name: 'hollow', dim: 4, shards: 2, replicas: 2 });
    const store = cluster.openStore();
    const uidOf = async (): Promise<string> => collectionFromEntry((await store.get(collectionPath('hollow')))!).uid;
    try {
      const before = await uidOf();
      const written: Promise<MemberProcess>[] = [];
      const stop = await once(cluster, 'seeding', () => {
        const writeAndKill = async (): Promise<MemberProcess> => {
          await call('POST', '/v1/collections/hollow/upsert', { external_id: 'mine', vector: [1, 2, 3, 4] });
          const { controller } = await cluster.view();
          const member = cluster.coordinators.find(({ id }) => id === controller)!;
          await member.kill();
          return member;
        };
        written.push(writeAndKill());
      });
      const { id } = await call('POST', '/v1/admin/restore', { backup, rename: { saved: 'hollow' } });
      await eventually('it began', () => written.length > 0);
      const [member] = await Promise.all(written);
      await stop();
      const restore = await ended(cluster, id);
      await member.start();
      await cluster.settled();
      const found = (await call('GET', '/v1/collections/hollow/export?limit=10000')).vectors.map(
        (one: any) => one.external_id,
      );
      // The write may have waited for the seal: then it came after the restore.
      if (restore.state === 'done') expect(found).toEqual([...SAVED, 'mine']);
      else {
        expect({ found, error: restore.error, uid: await uidOf() }).toEqual({
          found: ['mine'],
          error: expect.stringContaining('not empty any more'),
          uid: before,
        });
      }
      await eventually('nothing is left of what was given up', async () => (await cluster.strays()).length === 0);
    } finally {
      await store.close();
    }
  });
});

test.each(['seeding', 'sealing'] as const)(
  'a restore that is given up while it is %s leaves the collection as it was, or it was too late for that',
  async (state) => {
    await on.runs(async (cluster) => {
      const { call, backup } = await saved(cluster);
      await call('POST', '/v1/collections', { name: 'hollow', dim: 4, shards: 2, replicas: 2 });
      const before = await call('GET', '/v1/collections/hollow');
      const cancelled: Promise<{ state: string; collections: { shards_ready: number }[] }>[] = [];
      let id = '';
      const stop = await once(cluster, state, ({ restored }) => {
        id = restored!.restore;
        cancelled.push(call('DELETE', `/v1/admin/restores/${id}`));
      });
      await call('POST', '/v1/admin/restore', { backup, rename: { saved: 'hollow' }, shards: 3 });
      await eventually('it is given up', () => cancelled.length > 0);
      const [answer] = await Promise.all(cancelled);
      await stop();
      await eventually(
        'the restore is over',
        async () =>
          !['running', 'cancelling'].includes((await cluster.call('GET', `/v1/admin/restores/${id}`)).data?.state),
      );
      await cluster.settled();
      await eventually('nothing is left of what was given up', async () => (await cluster.strays()).length === 0);
      const after = await call('GET', '/v1/collections/hollow');
      // One that is too late is done, though nobody sees it any more.
      if (after.shards === 3) expect(after.vector_count).toBe(SAVED.length);
      else expect(after).toEqual(before);
      // As long as the shards are being filled, it never is.
      if (answer.state === 'cancelling' && answer.collections[0].shards_ready < 3) expect(after).toEqual(before);
      await call('POST', '/v1/collections/hollow/upsert', { external_id: 'mine', vector: [1, 2, 3, 4] });
      expect((await call('GET', '/v1/collections/hollow')).vector_count).toBe(after.vector_count + 1);
    });
  },
);
