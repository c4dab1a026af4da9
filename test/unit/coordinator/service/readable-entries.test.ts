import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BACKUPS_PATH, RESTORES_PATH } from '../../../../coordinator/jobs/backup/backup-record';
import { JOBS_PREFIX } from '../../../../coordinator/jobs/record/job-record';
import { COLLECTIONS_PREFIX, DROPS_PREFIX } from '../../../../coordinator/service/collections/collection-record';
import { RESHARDS_PREFIX } from '../../../../coordinator/service/collections/reshard-record';
import { OUTCOMES_PREFIX } from '../../../../coordinator/service/idempotency/store-dedup';
import { KEYS_PREFIX } from '../../../../coordinator/service/keys/key-record';
import { KEY_QUOTAS_PREFIX, TOKEN_QUOTAS_PREFIX } from '../../../../coordinator/service/keys/quota/quota-entry';
import { hoursPath, totalsPath } from '../../../../coordinator/service/keys/usage/usage-entries';
import type { PlainServer } from '../../../support/servers/plain-server';
import { startPlainServer } from '../../../support/servers/plain-server';
import { ApiClient, type ApiAnswer } from '../../../support/targets/api-client';

/** One stored record that is damaged: what lists it names it and shows the rest, and what needs it says so. */

const BACKUP = '20260102T030405Z-0000beef';
const RESTORE = `restore-${BACKUP}`;

let folder: string;
let server: PlainServer;
let call: (method: string, path: string, body?: unknown) => Promise<ApiAnswer>;
const list = async (path: string) => {
  const { json } = await call('GET', path);
  expect({ path, status: json?.status, error: json?.error }).toEqual({ path, status: 'success', error: null });
  return json as unknown as { data: any; warnings?: string[] };
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-damaged-'));
  server = await startPlainServer({ BACKUP_TARGET: `file:${folder}` });
  const client = new ApiClient(server);
  call = (method, path, body) => client.call({ method, path, body });
  for (const name of ['good', 'bad']) await call('POST', '/v1/collections', { name, dim: 2, distance_metric: 'l2' });
  for (const name of ['one', 'two']) await call('POST', '/v1/admin/keys', { name, role: 'readonly' });
  await call('POST', '/v1/admin/backups', { collections: ['good'] });
  const damaged = [
    `${COLLECTIONS_PREFIX}bad`,
    `${KEYS_PREFIX}3`,
    BACKUPS_PATH + BACKUP,
    RESTORES_PATH + RESTORE,
    ...[RESHARDS_PREFIX, DROPS_PREFIX, OUTCOMES_PREFIX, JOBS_PREFIX, '/q/uploads/'].map((prefix) => `${prefix}x`),
    `${KEY_QUOTAS_PREFIX}3`,
    `${TOKEN_QUOTAS_PREFIX}x/day`,
    ...[1, 2, 'all' as const].flatMap((subject) => [totalsPath(subject, 'x'), hoursPath(subject, 'x', 1)]),
  ];
  await server.store.transact(
    [],
    // Half of what was written; where that is JSON by chance, it has another shape.
    damaged.map((key, i) => ({ type: 'put', key, value: ['{"id":', 'null', '[]', '{}'][i % 4] })),
  );
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('collections', async () => {
  const { data, warnings } = await list('/v1/collections');
  expect(data.collections.map(({ name }: { name: string }) => name)).toEqual(['good']);
  expect(warnings).toEqual(['collection "bad" is left out: its stored record is damaged']);
  const { json } = await call('GET', '/v1/collections/bad');
  expect(json?.error).toMatchObject({
    code: 500,
    message: expect.stringMatching(/^the stored collection .* is unreadable$/),
  });
  // The name stays taken: what is stored under it is not overwritten.
  expect((await call('POST', '/v1/collections', { name: 'bad', dim: 2 })).json?.status).toBe('error');
  expect((await call('POST', '/v1/collections', { name: 'new', dim: 2, distance_metric: 'l2' })).json?.status).toBe(
    'success',
  );
  expect((await call('DELETE', '/v1/collections/new')).json?.status).toBe('success');
});

test('keys, and what they have used', async () => {
  const { data, warnings } = await list('/v1/admin/keys');
  expect(data.keys.map(({ id }: { id: number }) => id)).toEqual([1, 2]);
  expect(warnings).toEqual(['key 3 is left out: its stored record is damaged']);
  expect((await list('/v1/admin/keys/usage/summary')).data.by_key).toHaveLength(2);
  expect((await list('/v1/admin/keys/2/usage')).data).toBeDefined();
});

test('backups: a damaged one is shown as unreadable, and can be deleted', async () => {
  const shown = async (): Promise<string[][]> =>
    (await list('/v1/admin/backups')).data.backups.map(({ id, state }: { id: string; state: string }) => [id, state]);
  expect(await shown()).toEqual([
    [expect.any(String), 'running'],
    [BACKUP, 'unreadable'],
  ]);
  expect((await list(`/v1/admin/backups/${BACKUP}`)).data).toMatchObject({
    state: 'unreadable',
    error: `the entry ${BACKUPS_PATH}${BACKUP} is unreadable`,
  });
  expect((await call('DELETE', `/v1/admin/backups/${BACKUP}`)).json?.data).toMatchObject({ state: 'deleting' });
  expect(await shown()).toContainEqual([BACKUP, 'deleting']);
});

test('restores: a damaged one is shown as failed, and can be forgotten', async () => {
  const failed = {
    id: RESTORE,
    state: 'failed',
    started_at: '2026-01-02T03:04:05.000Z',
    error: `the entry ${RESTORES_PATH}${RESTORE} is unreadable`,
  };
  expect((await list('/v1/admin/restores')).data.restores).toMatchObject([failed]);
  expect((await list(`/v1/admin/restores/${RESTORE}`)).data).toMatchObject(failed);
  expect((await call('DELETE', `/v1/admin/restores/${RESTORE}`)).json?.data).toMatchObject(failed);
  expect((await list('/v1/admin/restores')).data.restores).toEqual([]);
});

test('jobs, reshards, and what a start and the clean-up go over', async () => {
  expect((await list('/v1/jobs')).data.jobs).toMatchObject([{ kind: 'backup' }]);
  expect((await list('/v1/cluster')).data.reshards).toEqual([]);
  expect((await call('GET', '/v1/health')).json?.status).toBe('success');
  await server.service.recover({ onOpened: async () => undefined });
});
