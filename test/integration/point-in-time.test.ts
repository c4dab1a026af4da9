import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AdminCall, restored, takeBackup } from '../support/targets/backup-calls';
import { ClusterProcesses } from '../support/processes/cluster-processes';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';
import { S3_KEY, TinyS3 } from '../support/servers/tiny-s3';

/**
 * Restores to a moment, of real processes that are killed in between: embedded into a folder, a cluster into a bucket.
 */

const SHIPPING = { BACKUP_LOG: 'true', BACKUP_LOG_SECONDS: '1' };

const itemOf = (n: number, version: number) => ({
  external_id: `id-${n}`,
  vector: [Math.cos(n + version), Math.sin(n)],
  metadata: { n, version },
  content: `text number ${n}`,
});
const itemsOf = (count: number, version: number) => ({
  items: Array.from({ length: count }, (_, n) => itemOf(n, version)),
});

/** What a collection holds, in its order, with versions. */
async function contentOf(call: AdminCall, collection: string): Promise<any[]> {
  return (await call('GET', `/v1/collections/${collection}/export?limit=10000`)).vectors;
}

/** A moment after what was acknowledged and before what comes, by the clock of this machine. */
async function moment(): Promise<string> {
  const ms = Date.now() + 2;
  await eventually('the clock goes on', async () => Date.now() > ms);
  return new Date(ms).toISOString();
}

async function reaches(call: AdminCall, name: string, until: string): Promise<any> {
  const reached = (one: any): boolean => one.name === name && one.until !== null && one.until >= until;
  let found: any;
  await eventually(`${name} can be restored to ${until}`, async () => {
    found = (await call('GET', '/v1/admin/backups')).restorable.find(reached);
    return found !== undefined;
  });
  return found;
}

/** Changes of every kind: replaced, patched, by a filter, deleted. */
async function change(call: AdminCall, name: string): Promise<void> {
  await call('POST', `/v1/collections/${name}/bulk_upsert`, itemsOf(20, 2));
  await call('PATCH', `/v1/collections/${name}/vectors/id-30`, { metadata: { patched: true } });
  await call('POST', `/v1/collections/${name}/update_by_filter`, { filters: { n: { $gte: 90 } }, set: { high: true } });
  await call('POST', `/v1/collections/${name}/delete_by_filter`, { filters: { n: { $in: [40, 41] } } });
  await call('DELETE', `/v1/collections/${name}/delete/id-50`);
}

test('embedded: killed at any time, and restored to moments before, between and after, from the log alone and from a backup', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-moments-'));
  const embedded = new EmbeddedProcess({
    environment: { BACKUP_TARGET: `file:${folder}`, HTTP_THREADS: '2', ...SHIPPING },
  });
  const call: AdminCall = (method, path, body) => embedded.data(method, path, body);
  try {
    await embedded.start();
    await call('POST', '/v1/collections', { name: 'things', dim: 2, shards: 2 });
    await call('POST', '/v1/collections/things/bulk_upsert', itemsOf(100, 1));
    const [first, firstContent] = [await moment(), await contentOf(call, 'things')];
    await change(call, 'things');
    const [second, secondContent] = [await moment(), await contentOf(call, 'things')];
    // What is not shipped yet is shipped by the next process.
    await embedded.kill();
    await embedded.start();
    await call('DELETE', '/v1/collections/things/delete/id-1');
    const third = await moment();
    const range = await reaches(call, 'things', third);
    expect(range).toMatchObject({
      deleted_at: null,
      shards: [
        { shard: 0, gaps: 0, error: null },
        { shard: 1, gaps: 0, error: null },
      ],
    });
    expect(range.from <= first).toBe(true);

    expect(await restored(call, { until: first, rename: { things: 'at-first' } })).toMatchObject({
      state: 'done',
      backup: '',
      until: first,
    });
    expect(await contentOf(call, 'at-first')).toEqual(firstContent);
    expect((await restored(call, { until: second, rename: { things: 'at-second' }, shards: 3 })).state).toBe('done');
    expect(await contentOf(call, 'at-second')).toEqual(secondContent);
    expect((await call('POST', '/v1/collections/at-second/search', { vector: [1, 0], k: 3 })).results).toHaveLength(3);

    // And into a collection that is there and empty, with its own settings.
    await call('POST', '/v1/collections', { name: 'empty', dim: 2, shards: 3, description: 'mine' });
    expect(await restored(call, { until: second, collections: ['things'], rename: { things: 'empty' } })).toMatchObject(
      { state: 'done', until: second },
    );
    expect(await contentOf(call, 'empty')).toEqual(secondContent);
    expect(await call('GET', '/v1/collections/empty')).toMatchObject({ shards: 3, description: 'mine' });

    // Under its own name, emptied; and once more when the shards that the moment is of are gone.
    await call('POST', '/v1/collections', { name: 'again', dim: 2, shards: 2 });
    await call('POST', '/v1/collections/again/bulk_upsert', itemsOf(20, 1));
    const [before, beforeContent] = [await moment(), await contentOf(call, 'again')];
    await reaches(call, 'again', before);
    for (let turn = 0; turn < 2; turn += 1) {
      await call('POST', '/v1/collections/again/delete_by_filter', { filters: { n: { $gte: 0 } } });
      expect(await restored(call, { until: before, collections: ['again'] })).toMatchObject({
        state: 'done',
        error: null,
      });
      expect(await contentOf(call, 'again')).toEqual(beforeContent);
    }

    const thirdContent = await contentOf(call, 'things');
    const backup = await takeBackup(call, { collections: ['things'] });
    await call('POST', '/v1/collections/things/bulk_upsert', itemsOf(30, 3));
    const [fourth, fourthContent] = [await moment(), await contentOf(call, 'things')];
    await reaches(call, 'things', fourth);
    await call('DELETE', '/v1/collections/things');
    await embedded.kill();
    await embedded.start();
    const refusal = async (body: object): Promise<any> =>
      (await embedded.call('POST', '/v1/admin/restore', body)).error;
    let gone: any;
    await eventually(
      'the target knows that it is deleted',
      async () =>
        (gone = (await call('GET', '/v1/admin/backups')).restorable.find(({ name }: any) => name === 'things'))
          ?.deleted_at !== null,
    );
    expect(gone.from > third).toBe(true);
    // What is before the oldest backup is gone.
    expect(await refusal({ until: second, collections: ['things'] })).toMatchObject({
      code: 400,
      message: expect.stringContaining('can not be restored to'),
    });
    expect(
      await refusal({
        until: new Date(Date.now() + 600_000).toISOString(),
        collections: ['at-first'],
        rename: { 'at-first': 'x' },
      }),
    ).toMatchObject({ code: 400 });
    expect(await refusal({ until: '2001-01-01T00:00:00Z', collections: ['things'] })).toMatchObject({
      code: 404,
      message: expect.stringContaining('did not exist'),
    });
    expect(await refusal({})).toMatchObject({ code: 400 });
    const positions = { things: backup.collections[0].shards.map(({ position }: any) => position) };
    expect(await restored(call, { until: { positions } })).toMatchObject({ state: 'done', backup: backup.id });
    expect(await contentOf(call, 'things')).toEqual(thirdContent);
    expect(
      (await restored(call, { until: fourth, collections: ['things'], rename: { things: 'at-fourth' } })).state,
    ).toBe('done');
    expect(await contentOf(call, 'at-fourth')).toEqual(fourthContent);
    expect(readdirSync(join(folder, 'log')).length).toBeGreaterThan(0);
  } finally {
    await embedded.destroy();
    rmSync(folder, { recursive: true, force: true });
  }
});

test('embedded: the moments around a change of the number of shards stay through the backups after it, and a kill', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-moments-'));
  const embedded = new EmbeddedProcess({
    environment: { BACKUP_TARGET: `file:${folder}`, HTTP_THREADS: '2', ...SHIPPING },
  });
  const call: AdminCall = (method, path, body) => embedded.data(method, path, body);
  const stretches = async (): Promise<[number, number][]> => {
    const { restorable } = await call('GET', '/v1/admin/backups');
    return restorable
      .filter((one: any) => one.name === 'things' && one.from !== null)
      .map(({ from, until }: any) => [Date.parse(from), Date.parse(until)]);
  };
  let restores = 0;
  const contentAt = async (ms: number): Promise<any[]> => {
    const name = `restored-${(restores += 1)}`;
    expect(
      await restored(call, { until: new Date(ms).toISOString(), collections: ['things'], rename: { things: name } }),
    ).toMatchObject({ state: 'done', error: null });
    return contentOf(call, name);
  };
  try {
    await embedded.start();
    await call('POST', '/v1/collections', { name: 'things', dim: 2, shards: 2 });
    await call('POST', '/v1/collections/things/bulk_upsert', itemsOf(20, 1));
    const first = await takeBackup(call, {});
    const contents: any[][] = [await contentOf(call, 'things')];
    // Not a write comes between the last moment of a set and the first of the next one.
    for (const shards of [3, 1]) {
      await call('POST', '/v1/collections/things/reshard', { shards });
      await eventually(
        'it has its new shards',
        async () => (await call('GET', '/v1/collections/things')).shards === shards,
      );
      const settled = Date.parse(await moment());
      await eventually('the moments go on', async () =>
        (await stretches()).some(([from, until]) => from < settled && settled < until),
      );
      await call('POST', '/v1/collections/things/upsert', itemOf(100 + shards, 2));
      contents.push(await contentOf(call, 'things'));
      await embedded.kill();
      await embedded.start();
    }
    const last = await moment();
    await reaches(call, 'things', last);
    await takeBackup(call, {});
    await takeBackup(call, {});
    const sets = await stretches();
    expect(sets).toHaveLength(3);
    for (const [i, [from, until]] of sets.entries()) {
      if (i > 0) expect(from).toBe(sets[i - 1][1] + 1);
      expect(await contentAt(from)).toEqual(contents[Math.max(0, i - 1)]);
      if (i < 2) expect(await contentAt(until)).toEqual(contents[i]);
    }
    expect(await contentAt(Date.parse(last))).toEqual(contents[2]);
    await call('DELETE', `/v1/admin/backups/${first.id}`);
    // Those before have no backup of their own: they are there for some days.
    await eventually(
      'what the last set was before its own backup is not offered any more',
      async () => (await stretches()).at(-1)![0] > sets[2][0],
    );
  } finally {
    await embedded.destroy();
    rmSync(folder, { recursive: true, force: true });
  }
});

test('embedded: a data folder that is put back goes on apart from what it had shipped before', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-moments-'));
  const copy = mkdtempSync(join(tmpdir(), 'quiver-copy-'));
  const embedded = new EmbeddedProcess({
    environment: { BACKUP_TARGET: `file:${folder}`, HTTP_THREADS: '2', ...SHIPPING },
  });
  const call: AdminCall = (method, path, body) => embedded.data(method, path, body);
  const contentAt = async (until: string, name: string): Promise<any[]> => {
    expect(await restored(call, { until, collections: ['things'], rename: { things: name } })).toMatchObject({
      state: 'done',
      error: null,
    });
    return contentOf(call, name);
  };
  try {
    await embedded.start();
    await call('POST', '/v1/collections', { name: 'things', dim: 2, shards: 1 });
    await call('POST', '/v1/collections/things/bulk_upsert', itemsOf(100, 1));
    await takeBackup(call, { collections: ['things'] });
    await embedded.end('SIGTERM');
    cpSync(embedded.dataDir, copy, { recursive: true });

    await embedded.start();
    await change(call, 'things');
    const [before, beforeContent] = [await moment(), await contentOf(call, 'things')];
    await reaches(call, 'things', before);
    await embedded.end('SIGTERM');

    rmSync(embedded.dataDir, { recursive: true });
    cpSync(copy, embedded.dataDir, { recursive: true });
    await embedded.start();
    // A backup at once is of where the log stands now, whatever the target has behind the same number.
    const atOnce = await takeBackup(call, { collections: ['things'] });
    for (let n = 0; n < 12; n += 1) await call('POST', '/v1/collections/things/upsert', itemOf(100 + n, 4));
    const [between, betweenContent] = [await moment(), await contentOf(call, 'things')];
    await eventually('the gap is told', async () =>
      (await call('GET', '/v1/admin/backups')).restorable.some(
        ({ name, shards }: any) => name === 'things' && shards[0].gaps > 0,
      ),
    );
    await takeBackup(call, { collections: ['things'] });
    await call('POST', '/v1/collections/things/upsert', itemOf(200, 5));
    const [after, afterContent] = [await moment(), await contentOf(call, 'things')];
    await call('POST', '/v1/collections/things/upsert', itemOf(201, 5));
    await reaches(call, 'things', after);
    expect(await contentAt(after, 'after')).toEqual(afterContent);
    // Of before the gap nothing is there, unless the target was looked at before the first write.
    const wanted = { until: between, collections: ['things'], rename: { things: 'between' } };
    const { error } = await embedded.call('POST', '/v1/admin/restore', wanted);
    if (error === null) {
      await eventually(
        'it is restored',
        async () => (await embedded.call('GET', '/v1/collections/between')).status === 'success',
      );
      expect(await contentOf(call, 'between')).toEqual(betweenContent);
    } else expect(error).toMatchObject({ code: 400, message: expect.stringContaining('can not be restored to') });
    expect(await contentAt(before, 'before')).toEqual(beforeContent);
    expect(afterContent).toHaveLength(113);
    expect(await restored(call, { backup: atOnce.id, rename: { things: 'at-once' } })).toMatchObject({ state: 'done' });
    expect(await contentOf(call, 'at-once')).toHaveLength(100);
  } finally {
    await embedded.destroy();
    for (const one of [folder, copy]) rmSync(one, { recursive: true, force: true });
  }
});

test('a cluster whose primary is killed between writes, into a bucket that fails for a while', async () => {
  const store = await TinyS3.start();
  const environment = {
    ...SHIPPING,
    BACKUP_TARGET: 's3://backups/quiver',
    BACKUP_S3_ENDPOINT: store.endpoint,
    BACKUP_S3_ACCESS_KEY_ID: S3_KEY.id,
    BACKUP_S3_SECRET_ACCESS_KEY: S3_KEY.secret,
  };
  const cluster = await ClusterProcesses.start({ nodes: 3, coordinators: 1, environment });
  const call: AdminCall = (method, path, body) => cluster.data(method, path, body);
  try {
    await call('POST', '/v1/collections', { name: 'things', dim: 2, shards: 2, replicas: 3 });
    await call('POST', '/v1/collections/things/bulk_upsert', itemsOf(100, 1));
    const [first, firstContent] = [await moment(), await contentOf(call, 'things')];
    await change(call, 'things');
    const [second, secondContent] = [await moment(), await contentOf(call, 'things')];
    // The target is away, and the primary dies: its successor has what was not shipped.
    store.fault = ({ method }) => (method === 'PUT' ? { status: 503, code: 'SlowDown' } : null);
    await call('DELETE', '/v1/collections/things/delete/id-60');
    const primary = await cluster.primaryOf('things');
    await primary.kill();
    await eventually(
      'the next primary takes writes',
      async () =>
        (await cluster.call('POST', '/v1/collections/things/bulk_upsert', itemsOf(30, 3))).status === 'success',
    );
    const [third, thirdContent] = [await moment(), await contentOf(call, 'things')];
    store.fault = () => null;
    await call('POST', '/v1/collections/things/bulk_upsert', itemsOf(60, 4));
    await reaches(call, 'things', third);
    for (const [until, content, name, shards] of [
      [first, firstContent, 'at-first', 2],
      [second, secondContent, 'at-second', 3],
      [third, thirdContent, 'at-third', 2],
    ] as const) {
      expect(
        await restored(call, { until, collections: ['things'], rename: { things: name }, shards, replicas: 2 }),
      ).toMatchObject({ state: 'done', error: null });
      expect(await contentOf(call, name)).toEqual(content);
    }
    await call('POST', '/v1/collections', { name: 'empty', dim: 2, shards: 1, replicas: 2 });
    expect(
      (await restored(call, { until: third, collections: ['things'], rename: { things: 'empty' }, shards: 3 })).state,
    ).toBe('done');
    expect(await contentOf(call, 'empty')).toEqual(thirdContent);
    await primary.start();
    await cluster.settled();
    expect(await cluster.differences()).toEqual([]);
  } finally {
    await cluster.destroy();
    await store.close();
  }
});
