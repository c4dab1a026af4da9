import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClusterProcesses } from '../support/processes/cluster-processes';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';
import { type AdminCall, restored, takeBackup } from '../support/targets/backup-calls';

/** Backups and restores of real processes: embedded, a cluster, and from one to the other. */

const folder = mkdtempSync(join(tmpdir(), 'quiver-backups-'));
const environment = { BACKUP_TARGET: `file:${folder}` };
const embedded = new EmbeddedProcess({ environment: { HTTP_THREADS: '2', ...environment } });
const call: AdminCall = (method, path, body) => embedded.data(method, path, body);
let first: any;

const vectorOf = (n: number): number[] => [Math.cos(n), Math.sin(n), n / 1000, 1];
const itemOf = (n: number, version = 0) => ({
  external_id: `id-${n}`,
  vector: vectorOf(n + version),
  metadata: { n, version },
  content: `text number ${n}`,
});

async function store(to: AdminCall, collection: string, numbers: number[], version = 0): Promise<void> {
  for (let at = 0; at < numbers.length; at += 500)
    await to('POST', `/v1/collections/${collection}/bulk_upsert`, {
      items: numbers.slice(at, at + 500).map((n) => itemOf(n, version)),
    });
}

/** What a collection holds, in its order. */
async function contentOf(of: AdminCall, collection: string): Promise<any[]> {
  const { vectors } = await of('GET', `/v1/collections/${collection}/export?limit=10000`);
  return vectors;
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

beforeAll(async () => {
  await embedded.start();
  await call('POST', '/v1/collections', {
    name: 'things',
    dim: 4,
    shards: 3,
    description: 'of all kinds',
    language: 'en',
  });
  await store(call, 'things', upTo(3000));
});

afterAll(async () => {
  await embedded.destroy();
  rmSync(folder, { recursive: true, force: true });
});

test('a backup has everything, says how far it is, and is restored under another name with all of it', async () => {
  first = await takeBackup(call);
  expect(first).toMatchObject({ state: 'done', items: 3000, progress: 1, error: null, target: `file:${folder}` });
  expect(first.collections).toMatchObject([
    { name: 'things', shards: [{ state: 'done' }, { state: 'done' }, { state: 'done' }] },
  ]);
  const restore = await restored(call, { backup: first.id, rename: { things: 'again' } });
  expect(restore).toMatchObject({
    state: 'done',
    progress: 1,
    collections: [{ from: 'things', name: 'again', shards: 3, shards_ready: 3 }],
  });
  expect(await contentOf(call, 'again')).toEqual(await contentOf(call, 'things'));
  const { data } = await embedded.call('GET', '/v1/collections/again');
  expect(data).toMatchObject({ dim: 4, shards: 3, description: 'of all kinds', language: 'en', vector_count: 3000 });
  const { results } = await call('POST', '/v1/collections/again/search', { vector: vectorOf(7), k: 1 });
  expect(results[0].external_id).toBe('id-7');
  // It is a collection like any other.
  await store(call, 'again', [7, 5000], 1);
  expect((await call('GET', '/v1/collections/again')).vector_count).toBe(3001);
});

test('analysers of keyword fields are restored, also into another number of shards, and hold for what is in it', async () => {
  const fields = [
    { path: 'title', weight: 2, analyser: 'de' },
    { path: 'text', weight: 1 },
  ];
  await call('POST', '/v1/collections', { name: 'tongues', dim: 4, language: 'en', keyword_fields: fields });
  const items = ['die Häuser', 'houses', 'ein Haus'].map((title, i) => {
    return { external_id: `${i}`, vector: vectorOf(i), text: i === 1 ? 'ein Haus' : 'a house', metadata: { title } };
  });
  await call('POST', '/v1/collections/tongues/bulk_upsert', { items });
  const found = async (name: string): Promise<number[]> => {
    const counts: number[] = [];
    for (const query of ['haus', 'houses', 'die houses', 'ein haus']) {
      const filters = { $text: { query, match: 'all' } };
      counts.push((await call('POST', `/v1/collections/${name}/count`, { filters })).count);
    }
    return counts;
  };
  const before = await found('tongues');
  expect(before).toEqual([3, 3, 1, 3]);
  const { id } = await takeBackup(call, { collections: ['tongues'] });
  for (const shards of [undefined, 3]) {
    const restore = await restored(call, {
      backup: id,
      rename: { tongues: 'again-tongues' },
      ...(shards && { shards }),
    });
    expect(restore.state).toBe('done');
    expect((await call('GET', '/v1/collections/again-tongues')).keyword_fields).toEqual(fields);
    expect(await found('again-tongues')).toEqual(before);
    await call('DELETE', '/v1/collections/again-tongues');
  }
  await call('DELETE', '/v1/collections/tongues');
  await call('DELETE', `/v1/admin/backups/${id}`);
  await eventually(
    'it is gone',
    async () => (await embedded.call('GET', `/v1/admin/backups/${id}`)).error?.code === 404,
  );
});

test('into another number of shards every item is there once', async () => {
  for (const shards of [1, 4, 6]) {
    const name = `in-${shards}`;
    expect((await restored(call, { backup: first.id, shards, rename: { things: name } })).state).toBe('done');
    expect(await contentOf(call, name)).toEqual(await contentOf(call, 'things'));
    await call('DELETE', `/v1/collections/${name}`);
  }
});

test('into a collection that is there and empty: it keeps its settings, and keys that are limited to it go on', async () => {
  await call('POST', '/v1/collections', {
    name: 'hollow',
    dim: 4,
    shards: 2,
    description: 'mine',
    language: 'en',
    ttl_seconds: 3600,
  });
  const { key, id } = await call('POST', '/v1/admin/keys', {
    name: 'limited',
    role: 'readonly',
    collections: [{ name: 'hollow', role: 'readonly' }],
  });
  const before = await call('GET', '/v1/collections/hollow');
  const restore = await restored(call, { backup: first.id, rename: { things: 'hollow' } });
  expect(restore).toMatchObject({
    state: 'done',
    progress: 1,
    collections: [{ from: 'things', name: 'hollow', shards: 2, shards_ready: 2 }],
  });
  expect(await contentOf(call, 'hollow')).toEqual(await contentOf(call, 'things'));
  expect(await call('GET', '/v1/collections/hollow')).toEqual({ ...before, vector_count: 3000 });
  const found = await embedded.call(
    'POST',
    '/v1/collections/hollow/search',
    { vector: vectorOf(7), k: 1 },
    { 'x-api-key': key },
  );
  expect(found.data.results[0].external_id).toBe('id-7');
  await call('DELETE', `/v1/admin/keys/${id}`);

  // Emptied, and restored into as another set of shards.
  await call('POST', '/v1/collections/hollow/delete_by_filter', { filters: { n: { $gte: 0 } } });
  expect((await restored(call, { backup: first.id, rename: { things: 'hollow' }, shards: 5 })).state).toBe('done');
  expect(await contentOf(call, 'hollow')).toEqual(await contentOf(call, 'things'));
  expect((await call('GET', '/v1/collections/hollow')).shards).toBe(5);

  // What is not empty, or not alike, is refused before anything is begun.
  const refusal = async (name: string) =>
    (await embedded.call('POST', '/v1/admin/restore', { backup: first.id, rename: { things: name } })).error;
  expect(await refusal('hollow')).toMatchObject({ code: 409, message: expect.stringContaining('not empty') });
  await call('POST', '/v1/collections', { name: 'unlike', dim: 3, distance_metric: 'l2' });
  expect(await refusal('unlike')).toMatchObject({
    code: 400,
    message: expect.stringMatching(/dim 3 and not 4, distance_metric l2 and not cosine, language none and not en/),
  });
  for (const name of ['hollow', 'unlike']) await call('DELETE', `/v1/collections/${name}`);
});

test('the next backup writes what changed, and stays whole when the first is deleted', async () => {
  await store(call, 'things', [1, 2, 3, 3001], 1);
  await call('DELETE', '/v1/collections/things/delete/id-10');
  const before = await contentOf(call, 'things');
  const second = await takeBackup(call, { collections: ['things'] });
  expect(second.copied_bytes).toBeLessThan(first.copied_bytes / 10);
  expect(second.items).toBe(3000);
  await call('DELETE', `/v1/admin/backups/${first.id}`);
  await eventually(
    'the first is gone',
    async () => (await embedded.call('GET', `/v1/admin/backups/${first.id}`)).error?.code === 404,
  );
  expect((await call('GET', '/v1/admin/backups')).backups.map(({ id }: any) => id)).toEqual([second.id]);
  await call('POST', `/v1/admin/backups/${second.id}/verify`);
  let checked: any;
  await eventually(
    'it is verified',
    async () => (checked = await call('GET', `/v1/admin/backups/${second.id}`)).verification?.state === 'done',
  );
  expect(checked.verification).toMatchObject({ damaged: [] });
  await store(call, 'things', [4, 5], 2);
  expect((await restored(call, { backup: second.id, rename: { things: 'second' } })).state).toBe('done');
  expect(await contentOf(call, 'second')).toEqual(before);
});

test('a backup of one item is small, also after a restart', async () => {
  const place = mkdtempSync(join(tmpdir(), 'quiver-backups-'));
  const other = new EmbeddedProcess({ environment: { BACKUP_TARGET: `file:${place}` } });
  const there: AdminCall = (method, path, body) => other.data(method, path, body);
  try {
    await other.start();
    await there('POST', '/v1/collections', { name: 'one', dim: 768 });
    await there('POST', '/v1/collections/one/upsert', {
      external_id: 'only',
      vector: Array.from({ length: 768 }, (_, i) => Math.sin(i)),
    });
    await other.stop();
    await other.start();
    const backup = await takeBackup(there);
    // Its vector is in the records and in the index, 3 KiB each.
    expect(backup.copied_bytes).toBeLessThan(16 * 1024);
    expect((await restored(there, { backup: backup.id, rename: { one: 'two' } })).state).toBe('done');
    expect(await contentOf(there, 'two')).toEqual(await contentOf(there, 'one'));
  } finally {
    await other.destroy();
    rmSync(place, { recursive: true, force: true });
  }
});

/** The objects of the records of a collection in a backup. */
function objectsOf(
  id: string,
  collection: string,
  part: 'records' | 'index' = 'records',
): { path: string; content: Buffer }[] {
  const read = (path: string): any => JSON.parse(JSON.parse(readFileSync(join(folder, path), 'utf8')).content);
  const { shards } = read(`backups/${id}.json`).collections.find(({ name }: any) => name === collection);
  const manifests = shards.map(({ manifest }: any) => read(manifest.key));
  const objects = manifests.flatMap(({ segments, index }: any) =>
    part === 'records' ? segments : (index?.files ?? []).flatMap(({ parts }: any) => parts),
  );
  return objects.map(({ key }: any) => ({ path: join(folder, key), content: readFileSync(join(folder, key)) }));
}

test('a damaged backup is told by its verification, and a restore of it leaves nothing', async () => {
  const [{ id }] = (await call('GET', '/v1/admin/backups')).backups;
  const { content, path: damaged } = objectsOf(id, 'things')[0];
  const broken = Buffer.from(content);
  broken[100] ^= 1;
  writeFileSync(damaged, broken);
  await call('POST', `/v1/admin/backups/${id}/verify`);
  let checked: any;
  await eventually(
    'it is verified',
    async () => ((checked = await call('GET', `/v1/admin/backups/${id}`)).verification?.damaged ?? []).length > 0,
  );
  expect(checked.verification.damaged).toHaveLength(1);
  const restore = await restored(call, { backup: id, rename: { things: 'broken' } });
  expect(restore).toMatchObject({ state: 'failed' });
  expect(restore.error).toContain('does not match its checksum');
  expect((await call('GET', '/v1/collections')).collections.map(({ name }: any) => name)).not.toContain('broken');
  writeFileSync(damaged, content);
  expect((await restored(call, { backup: id, rename: { things: 'broken' } })).state).toBe('done');
});

test('indexes that are damaged in a backup are made anew', async () => {
  await store(call, 'things', upTo(4000));
  const backup = await takeBackup(call, { collections: ['things'] });
  const parts = objectsOf(backup.id, 'things', 'index');
  expect(parts.length).toBeGreaterThan(0);
  for (const { path } of parts) writeFileSync(path, 'nothing of use');
  expect((await restored(call, { backup: backup.id, rename: { things: 'anew' } })).state).toBe('done');
  expect(await contentOf(call, 'anew')).toEqual(await contentOf(call, 'things'));
  const { results } = await call('POST', '/v1/collections/anew/search', { vector: vectorOf(7), k: 1 });
  expect(results[0].external_id).toBe('id-7');
  for (const { path, content } of parts) writeFileSync(path, content);
});

test('what can not be done is refused with a reason, and nothing is begun', async () => {
  const refusal = async (method: string, path: string, body?: unknown) =>
    (await embedded.call(method, path, body)).error;
  const [{ id }] = (await call('GET', '/v1/admin/backups')).backups;
  expect(await refusal('POST', '/v1/admin/backups', { collections: ['none'] })).toMatchObject({ code: 404 });
  expect(await refusal('POST', '/v1/admin/backups', { target: 'file:/etc' })).toMatchObject({
    code: 400,
    message: expect.stringContaining('BACKUP_TARGET'),
  });
  expect(await refusal('POST', '/v1/admin/backups', { target: `file:${folder}/../other` })).toMatchObject({
    code: 400,
  });
  expect(await refusal('POST', '/v1/admin/restore', { backup: id })).toMatchObject({
    code: 409,
    message: expect.stringContaining('rename'),
  });
  expect(await refusal('POST', '/v1/admin/restore', { backup: 'none' })).toMatchObject({ code: 404 });
  expect(await refusal('POST', '/v1/admin/restore', { backup: id, collections: ['none'] })).toMatchObject({
    code: 404,
  });
  expect(await refusal('DELETE', '/v1/admin/backups/20200101T000000Z-00000000')).toMatchObject({ code: 404 });
});

test('keys come back only when asked for, and a restored key works', async () => {
  const { key } = await call('POST', '/v1/admin/keys', { name: 'reader', role: 'readonly' });
  const backup = await takeBackup(call, { collections: ['things'], target: `file:${folder}/with-keys` });
  const other = new EmbeddedProcess({ environment });
  try {
    await other.start();
    const there: AdminCall = (method, path, body) => other.data(method, path, body);
    const from = { backup: backup.id, target: `file:${folder}/with-keys` };
    expect((await restored(there, { ...from, rename: { things: 'a' } })).state).toBe('done');
    expect((await there('GET', '/v1/admin/keys')).keys).toHaveLength(1);
    // Another service has another secret: anybody could have written these keys.
    const withKeys = { ...from, rename: { things: 'b' }, keys: true };
    expect((await other.call('POST', '/v1/admin/restore', withKeys)).error).toMatchObject({
      code: 400,
      message: expect.stringMatching(/\d+ "reader" \(readonly\).*"unsealed": true/),
    });
    expect((await there('GET', '/v1/admin/keys')).keys).toHaveLength(1);
    const taken = await restored(there, { ...withKeys, unsealed: true });
    expect(taken).toMatchObject({
      state: 'done',
      warnings: expect.arrayContaining([
        expect.stringContaining('taken on trust'),
        expect.stringContaining('not sealed by this service'),
      ]),
    });
    expect((await there('GET', '/v1/admin/keys')).keys.map(({ name }: any) => name)).toEqual(['default', 'reader']);
    expect((await other.call('GET', '/v1/collections', undefined, { 'x-api-key': key })).status).toBe('success');
  } finally {
    await other.destroy();
  }
});

test('whoever has the secret of before takes keys as its own', async () => {
  await call('POST', '/v1/admin/keys', { name: 'writer', role: 'readwrite' });
  const target = `file:${folder}/with-secret`;
  const backup = await takeBackup(call, { collections: ['things'], target });
  expect(backup).toMatchObject({ sealed: true, warnings: [], left_out: [] });
  const BACKUP_SECRET_OTHER = readFileSync(join(embedded.dataDir, 'backup-secret'), 'utf8').trim();
  const other = new EmbeddedProcess({
    environment: { ...environment, BACKUP_SECRET: 'a new secret of this service', BACKUP_SECRET_OTHER },
  });
  try {
    await other.start();
    const there: AdminCall = (method, path, body) => other.data(method, path, body);
    const done = await restored(there, { backup: backup.id, target, keys: true });
    expect(done).toMatchObject({ state: 'done', warnings: [expect.stringContaining('keys are as they were')] });
    expect((await there('GET', '/v1/admin/keys')).keys.map(({ name }: any) => name)).toContain('writer');
  } finally {
    await other.destroy();
  }
});

test('from embedded to a cluster and back, with replicas', async () => {
  const before = await contentOf(call, 'things');
  const backup = await takeBackup(call, { collections: ['things'] });
  const cluster = await ClusterProcesses.start({ nodes: 3, coordinators: 2, environment });
  try {
    const there: AdminCall = (method, path, body) => cluster.data(method, path, body);
    for (const [name, shards] of [
      ['same', 3],
      ['five', 5],
    ] as const) {
      expect((await restored(there, { backup: backup.id, rename: { things: name }, shards, replicas: 2 })).state).toBe(
        'done',
      );
      expect(await contentOf(there, name)).toEqual(before);
    }
    await there('POST', '/v1/collections', {
      name: 'hollow',
      dim: 4,
      shards: 2,
      replicas: 3,
      min_in_sync: 2,
      language: 'en',
    });
    expect((await restored(there, { backup: backup.id, rename: { things: 'hollow' } })).state).toBe('done');
    expect(await there('GET', '/v1/collections/hollow')).toMatchObject({
      shards: 2,
      replicas: 3,
      min_in_sync: 2,
      vector_count: before.length,
    });
    expect(await contentOf(there, 'hollow')).toEqual(before);
    await there('POST', '/v1/collections', { name: 'other-shape', dim: 4, shards: 1, replicas: 1, language: 'en' });
    expect(
      (await restored(there, { backup: backup.id, rename: { things: 'other-shape' }, shards: 3, replicas: 2 })).state,
    ).toBe('done');
    expect(await there('GET', '/v1/collections/other-shape')).toMatchObject({ shards: 3, replicas: 2 });
    expect(await contentOf(there, 'other-shape')).toEqual(before);
    expect(
      (await cluster.call('POST', '/v1/admin/restore', { backup: backup.id, rename: { things: 'hollow' } })).error,
    ).toMatchObject({ code: 409 });
    await cluster.settled();
    expect(await cluster.differences()).toEqual([]);
    await store(there, 'five', [7], 3);
    const after = await contentOf(there, 'five');
    const second = await takeBackup((method, path, body) => cluster.data(method, path, body, 1), {
      collections: ['five'],
    });
    // Its graphs are built by and by, and a backup takes new ones: once all is built, one changed item is little.
    let changes = 0;
    const isLittle = async (): Promise<boolean> => {
      await store(there, 'five', [8], 4 + changes++);
      const { copied_bytes: copied, total_bytes: total } = await takeBackup(there, { collections: ['five'] });
      return copied < total / 5;
    };
    await eventually('a backup of little', isLittle);
    expect((await restored(call, { backup: second.id, rename: { five: 'back' }, shards: 2 })).state).toBe('done');
    expect(await contentOf(call, 'back')).toEqual(after);
    await call('POST', '/v1/collections', { name: 'back-into', dim: 4, shards: 3, language: 'en' });
    expect((await restored(call, { backup: second.id, rename: { five: 'back-into' } })).state).toBe('done');
    expect(await contentOf(call, 'back-into')).toEqual(after);

    // A disk that is put back to before the restore has lost what was acknowledged since: it must not be filled again.
    expect(
      (await restored(there, { backup: backup.id, rename: { things: 'alone' }, shards: 1, replicas: 1 })).state,
    ).toBe('done');
    await store(there, 'alone', [9000], 5);
    const node = await cluster.primaryOf('alone');
    const clusterStore = cluster.openStore();
    const { uid } = JSON.parse((await clusterStore.get('/q/collections/alone'))!.value);
    await clusterStore.close();
    await node.stop();
    for (const path of [`shards/${uid}`, `stores/${uid}.0`])
      rmSync(join(node.dataDir, 'node', path), { recursive: true });
    node.spawn();
    await eventually('the node misses what it held', () => node.output.includes('the data of a replica are gone'));
    expect((await cluster.call('GET', '/v1/collections/alone/vectors/id-9000', undefined)).error).toMatchObject({
      code: 500,
    });
  } finally {
    await cluster.destroy();
  }
});
