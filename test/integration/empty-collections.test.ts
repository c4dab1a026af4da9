import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AdminCall, restored, takeBackup } from '../support/targets/backup-calls';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';

/**
 * Collections to which nobody has written take part in all that is done with collections, and can be written to after
 * it.
 */

let folder: string;
let service: EmbeddedProcess;
const call: AdminCall = (method, path, body) => service.data(method, path, body);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-empty-'));
  service = new EmbeddedProcess({
    environment: { BACKUP_TARGET: `file:${folder}`, BACKUP_LOG: 'true', BACKUP_LOG_SECONDS: '1' },
  });
  await service.start();
});
afterAll(async () => {
  await service.destroy();
  rmSync(folder, { recursive: true, force: true });
});

const ids = Array.from({ length: 12 }, (_, n) => `i${n}`);

/** It is empty, and takes what is written to it. */
async function isUsable(name: string): Promise<void> {
  expect((await call('GET', `/v1/collections/${name}/export?limit=100`)).vectors).toEqual([]);
  await call('POST', `/v1/collections/${name}/bulk_upsert`, {
    items: ids.map((external_id, n) => ({ external_id, vector: [n, 1] })),
  });
  expect((await call('POST', `/v1/collections/${name}/search`, { vector: [1, 1], k: 100 })).results).toHaveLength(
    ids.length,
  );
  expect((await call('GET', `/v1/collections/${name}`)).vector_count).toBe(ids.length);
}

test.each([
  [1, 3],
  [3, 1],
])('a reshard from %i to %i', async (from, to) => {
  const name = `reshard-${from}`;
  await call('POST', '/v1/collections', { name, dim: 2, shards: from });
  await call('POST', `/v1/collections/${name}/reshard`, { shards: to });
  await eventually('it has its new shards', async () => (await call('GET', `/v1/collections/${name}`)).shards === to);
  await isUsable(name);
});

test('a second backup, and restores of both', async () => {
  await call('POST', '/v1/collections', { name: 'kept', dim: 2, shards: 2 });
  const backups = [
    await takeBackup(call, { collections: ['kept'] }),
    await takeBackup(call, { collections: ['kept'] }),
  ];
  for (const [n, { id }] of backups.entries()) {
    expect(await restored(call, { backup: id, rename: { kept: `restored-${n}` } })).toMatchObject({ state: 'done' });
    await isUsable(`restored-${n}`);
  }
  // The third is of what was written since.
  await isUsable('kept');
  const { id } = await takeBackup(call, { collections: ['kept'] });
  expect(await restored(call, { backup: id, rename: { kept: 'full' } })).toMatchObject({ state: 'done' });
  expect((await call('GET', '/v1/collections/full')).vector_count).toBe(ids.length);
});

test('a restore to a moment at which nobody had written to it', async () => {
  await call('POST', '/v1/collections', { name: 'early', dim: 2, shards: 2 });
  const ms = Date.now() + 2;
  await eventually('the clock goes on', async () => Date.now() > ms);
  const until = new Date(ms).toISOString();
  const isReached = async (): Promise<boolean> =>
    (await call('GET', '/v1/admin/backups')).restorable.some(
      (one: { name: string; until: string | null }) => one.name === 'early' && one.until !== null && one.until >= until,
    );
  await eventually('it can be restored to that moment', isReached);
  await isUsable('early');
  expect(await restored(call, { collections: ['early'], until, rename: { early: 'earlier' } })).toMatchObject({
    state: 'done',
  });
  await isUsable('earlier');
});
