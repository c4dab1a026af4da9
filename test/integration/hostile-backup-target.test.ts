import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { backupId } from '../../shared/backup-store/backup-format';
import {
  type LogSegment,
  openedSegment,
  segmentKey,
  segmentOf,
  segmentToBytes,
} from '../../shared/backup-store/log-format';
import { OTHER_SEALS, TEST_SEALS } from '../support/cluster/test-seals';
import { type AdminCall, backupEnded, takeBackup } from '../support/targets/backup-calls';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';
import { HostileTarget, mutated, placesIn, sha256 } from '../support/targets/hostile-target';
import { runSeed, seededRandom } from '../support/values/random';

/** A service whose backup target somebody else can write to, who knows no secret. */

const outside = mkdtempSync(join(tmpdir(), 'quiver-hostile-'));
const folder = join(outside, 'target');
const environment = { BACKUP_TARGET: `file:${folder}`, BACKUP_LOG: 'true', BACKUP_LOG_SECONDS: '1' };
const service = new EmbeddedProcess({ environment });
const target = new HostileTarget(folder);
const call: AdminCall = (method, path, body) => service.data(method, path, body);
/**
 * The name of a backup that somebody else has made: newer than all, and another one for each test, because what is
 * deleted stays so.
 */
let HOSTILE = '';
let made = 0;
let good: any;

const listed = async (): Promise<any[]> => (await call('GET', '/v1/admin/backups')).backups;
const stateOf = async (id: string): Promise<string | undefined> => (await listed()).find((one) => one.id === id)?.state;

async function deleteBackup(id: string): Promise<void> {
  await call('DELETE', `/v1/admin/backups/${id}`);
  await eventually(`backup ${id} is gone`, async () => (await stateOf(id)) === undefined);
}

/** How a restore ends; `refused` when it does not begin. */
async function endOf(body: object): Promise<{ state: string; error: string | null; warnings: string[] }> {
  const begun = await service.call<any>('POST', '/v1/admin/restore', body);
  if (begun.status !== 'success') {
    expect(begun.error!.code).toBeLessThan(500);
    return { state: 'refused', error: begun.error!.message, warnings: [] };
  }
  let last: any = null;
  const isOver = async (): Promise<boolean> => {
    last = await call('GET', `/v1/admin/restores/${begun.data.id}`);
    return last.state === 'done' || last.state === 'failed';
  };
  await eventually(`restore ${begun.data.id} is over`, isOver);
  for (const { name } of last.state === 'done' ? last.collections : []) await call('DELETE', `/v1/collections/${name}`);
  return last;
}

/** Nothing of what was there was taken away, or taken along. */
async function expectSound(): Promise<void> {
  expect(await stateOf(good.id)).toBe('done');
  const next = await takeBackup(call);
  expect(next).toMatchObject({ state: 'done', sealed: true, left_out: [] });
  await deleteBackup(next.id);
  expect(readdirSync(outside).sort()).toEqual(['bystander', 'target']);
  expect(readFileSync(join(outside, 'bystander'), 'utf8')).toBe('as it was');
}

beforeAll(async () => {
  writeFileSync(join(outside, 'bystander'), 'as it was');
  await service.start();
  await call('POST', '/v1/collections', { name: 'things', dim: 4 });
  await call('POST', '/v1/collections/things/bulk_upsert', {
    items: Array.from({ length: 300 }, (_, n) => ({ external_id: `i${n}`, vector: [n, 1, 2, 3], metadata: { n } })),
  });
  await call('POST', '/v1/admin/keys', { name: 'reader', role: 'readonly' });
  good = await takeBackup(call);
  await eventually(
    'a log is shipped',
    async () => existsSync(join(folder, 'heads')) && existsSync(join(folder, 'log')),
  );
});

beforeEach(() => {
  made += 1;
  HOSTILE = backupId(Date.now() + 60_000, made.toString(16).padStart(8, '0'));
});

afterAll(async () => {
  await service.destroy();
  rmSync(outside, { recursive: true, force: true });
});

test('what this service has made says so, and is restored without a word', async () => {
  expect(good).toMatchObject({ sealed: true, warnings: [] });
  expect(await endOf({ backup: good.id, rename: { things: 'copy' } })).toMatchObject({ state: 'done', warnings: [] });
});

describe('a key that somebody else put into a backup', () => {
  const secret = 'a forged secret that nobody was given';
  const forged = JSON.stringify({
    id: 7,
    name: 'forged',
    role: 'admin',
    digest: sha256(secret),
    createdAt: '2026-01-01T00:00:00.000Z',
    isActive: true,
    expiresAt: null,
  });
  const admin = (): Promise<{ status: string }> =>
    service.call('GET', '/v1/admin/keys', undefined, { 'x-api-key': secret });

  test.each([
    ['without a seal', () => undefined],
    ['with the seal of before', () => JSON.parse(target.read(`backups/${good.id}.json`).toString()).seal as string],
    ['with a seal of his own', () => 'ab'.repeat(32)],
    ['with a seal that is none', () => ({ length: 32 }) as unknown as string],
  ])('%s is not restored unless an admin says so, and the refusal names it', async (_, sealOf) => {
    const manifest = target.contentOf(`backups/${good.id}.json`);
    target.put(`backups/${HOSTILE}.json`, { ...manifest, id: HOSTILE, keys: [...manifest.keys, forged] }, sealOf());
    expect((await listed())[0]).toMatchObject({ id: HOSTILE, state: 'done', sealed: false });
    expect(await endOf({ backup: HOSTILE, rename: { things: 'copy' }, keys: true })).toMatchObject({
      state: 'refused',
      error: expect.stringMatching(/7 "forged" \(admin\)/),
    });
    expect((await admin()).status).toBe('error');
    expect(await endOf({ backup: HOSTILE, rename: { things: 'copy' } })).toMatchObject({
      state: 'done',
      warnings: [expect.stringContaining('not sealed by this service')],
    });
    expect((await admin()).status).toBe('error');
    await deleteBackup(HOSTILE);
  });

  test('is named before those that may do less, however many there are', async () => {
    const many = Array.from({ length: 300 }, (_, n) =>
      JSON.stringify({ ...JSON.parse(forged), id: 10 + n, name: `n${n}`, role: 'readonly', digest: sha256(`n${n}`) }),
    );
    const manifest = target.contentOf(`backups/${good.id}.json`);
    target.put(`backups/${HOSTILE}.json`, { ...manifest, id: HOSTILE, keys: [...many, forged] });
    const { error } = await endOf({ backup: HOSTILE, rename: { things: 'copy' }, keys: true });
    expect(error).toMatch(/7 "forged" \(admin\), 10 "n0" .* and 101 more/);
    await deleteBackup(HOSTILE);
  });

  test('in the place of a sealed backup under its own name', async () => {
    const key = `backups/${good.id}.json`;
    const before = target.read(key);
    const manifest = target.contentOf(key);
    try {
      target.put(key, { ...manifest, keys: [...manifest.keys, forged] }, JSON.parse(before.toString()).seal);
      expect(await call('GET', `/v1/admin/backups/${good.id}`)).toMatchObject({ state: 'done', sealed: false });
      expect((await endOf({ backup: good.id, rename: { things: 'copy' }, keys: true })).state).toBe('refused');
      expect((await admin()).status).toBe('error');
    } finally {
      writeFileSync(join(folder, key), before);
    }
  });

  test('is no base of what this service seals', async () => {
    target.changed(
      good.id,
      {
        shard: (shard) => ({
          ...shard,
          segments: shard.segments.map((one: any) => ({ ...one, sha256: 'ab'.repeat(32) })),
        }),
      },
      HOSTILE,
    );
    const next = await takeBackup(call);
    expect(await endOf({ backup: next.id, rename: { things: 'copy' } })).toMatchObject({ state: 'done', warnings: [] });
    for (const id of [HOSTILE, next.id]) await deleteBackup(id);
  });
});

test.each<[string, Parameters<HostileTarget['changed']>[1]]>([
  [
    'a million shards',
    {
      manifest: (manifest) => ({
        ...manifest,
        collections: [
          {
            ...manifest.collections[0],
            record: JSON.stringify({ ...JSON.parse(manifest.collections[0].record), shards: 1_000_000 }),
          },
        ],
      }),
    },
  ],
  [
    'shards of no number',
    {
      manifest: (manifest) => ({
        ...manifest,
        collections: [
          {
            ...manifest.collections[0],
            record: JSON.stringify({ ...JSON.parse(manifest.collections[0].record), shards: null }),
          },
        ],
      }),
    },
  ],
  [
    'a name that leads elsewhere',
    {
      manifest: (manifest) => ({
        ...manifest,
        collections: [
          {
            ...manifest.collections[0],
            record: manifest.collections[0].record.replace('"things"', '"../../etc"'),
            name: '../../etc',
          },
        ],
      }),
    },
  ],
  [
    'no shards',
    { manifest: (manifest) => ({ ...manifest, collections: [{ ...manifest.collections[0], shards: [] }] }) },
  ],
  [
    'fewer shards than its record says',
    {
      manifest: (manifest) => ({
        ...manifest,
        collections: [
          {
            ...manifest.collections[0],
            record: JSON.stringify({ ...JSON.parse(manifest.collections[0].record), shards: 7 }),
          },
        ],
      }),
    },
  ],
  ['an object name that leads out', { shard: (shard) => void (shard.segments[0].key = '../../etc/passwd') }],
  ['an object name that begins at the root', { shard: (shard) => void (shard.segments[0].key = '/etc/passwd') }],
  [
    'an object name that leads out behind data/',
    { shard: (shard) => void (shard.live[0].key = 'data/../../bystander') },
  ],
  ['no segments', { shard: (shard) => void (shard.segments = null) }],
  [
    '100,000 segments',
    { shard: (shard) => void (shard.segments = Array.from({ length: 100_000 }, () => shard.segments[0])) },
  ],
  [
    '100,000 segments of nothing',
    { shard: (shard) => void (shard.segments = Array.from({ length: 100_000 }, () => ({}))) },
  ],
  ['a spec of 5 MB', { shard: (shard) => void (shard.spec = 'x'.repeat(5_000_000)) }],
  ['a spec that is none', { shard: (shard) => void (shard.spec = null) }],
  ['a spec of another shape', { shard: (shard) => void (shard.spec = '{"format":1,"dim":"4"}') }],
  ['a journal of segments', { shard: (shard) => void (shard.journal = shard.segments) }],
  ['segments of a journal', { shard: (shard) => void (shard.segments = shard.journal) }],
  ['live records of segments', { shard: (shard) => void (shard.live = shard.segments) }],
  ['marks of segments', { shard: (shard) => void (shard.marks = shard.segments) }],
  ['the same records twice', { shard: (shard) => void (shard.segments = [...shard.segments, ...shard.segments]) }],
  [
    'index files that lead out',
    {
      shard: (shard) =>
        void (shard.index = {
          checkpoint: { operation: 1, lastRecno: 1, number: 1, vectors: 'v', files: {} },
          files: [{ path: '../../bystander', bytes: 1, parts: [] }],
        }),
    },
  ],
  [
    'a checkpoint whose folder leads out',
    {
      shard: (shard) =>
        void (shard.index = {
          checkpoint: { operation: 1, lastRecno: 1, number: '1/../../../../bystander', vectors: '../x', files: {} },
          files: [{ path: 'x', bytes: 1, parts: [] }],
        }),
    },
  ],
  ['another dimension', { shard: (shard) => void (shard.dim = 4000) }],
  ['more items than there are', { shard: (shard) => void (shard.items = 1e12) }],
])('a backup with %s ends as done, failed or refused, and takes nothing along', async (_, change) => {
  target.changed(good.id, change, HOSTILE);
  const { state, error } = await endOf({ backup: HOSTILE, rename: { things: 'copy' } });
  expect({ state, error: state === 'done' ? null : (error?.slice(0, 30) ?? '') }).not.toEqual({
    state: 'failed',
    error: '',
  });
  expect(['done', 'failed', 'refused']).toContain(state);
  expect(['done', 'unreadable']).toContain(await stateOf(HOSTILE));
  await deleteBackup(HOSTILE);
  await expectSound();
});

test.each([
  ['collections that are none', (manifest: any) => ({ ...manifest, collections: null })],
  ['no content at all', () => null],
  ['keys that are none', (manifest: any) => ({ ...manifest, keys: {} })],
  ['another id than its name', (manifest: any) => ({ ...manifest, id: good.id })],
])('a manifest with %s is shown as unreadable, and is passed over and deleted', async (_, change) => {
  target.put(`backups/${HOSTILE}.json`, change({ ...target.contentOf(`backups/${good.id}.json`), id: HOSTILE }));
  const shown = (await listed())[0];
  expect(shown).toMatchObject({
    id: HOSTILE,
    state: 'unreadable',
    sealed: false,
    error: expect.stringContaining(HOSTILE),
  });
  expect(await call('GET', `/v1/admin/backups/${HOSTILE}`)).toMatchObject({ state: 'unreadable' });
  expect(await endOf({ backup: HOSTILE })).toMatchObject({
    state: 'refused',
    error: expect.stringContaining('can not be restored'),
  });
  expect((await service.call<any>('POST', `/v1/admin/backups/${HOSTILE}/verify`)).error).toMatchObject({ code: 400 });
  await expectSound();
  await deleteBackup(HOSTILE);
  expect(await stateOf(HOSTILE)).toBeUndefined();
});

test('what is no file where an object is expected is no object', async () => {
  const places = ['backups', 'claims', 'checks', 'heads', 'collections'].map((kind) =>
    join(folder, kind, `${HOSTILE}.json`),
  );
  for (const place of places) {
    mkdirSync(join(place, 'below'), { recursive: true });
    writeFileSync(join(place, 'below', 'x y'), 'x');
  }
  symlinkSync('/etc/passwd', join(folder, 'backups', '20200101T000000Z-00000000.json'));
  await expectSound();
  for (const place of [...places, join(folder, 'backups', '20200101T000000Z-00000000.json')])
    rmSync(place, { recursive: true });
});

describe('any field of any JSON object', () => {
  const random = seededRandom(runSeed('fields of a hostile backup target'));

  test.each(['manifest', 'shard'] as const)('of a %s', async (kind) => {
    const manifest = target.contentOf(`backups/${good.id}.json`);
    const content = kind === 'manifest' ? manifest : target.contentOf(manifest.collections[0].shards[0].manifest.key);
    const ends: Record<string, number> = {};
    const places = placesIn(content);
    expect(places.length).toBeGreaterThan(15);
    for (const place of places) {
      target.changed(good.id, { [kind]: (one: any) => mutated(one, place, random()) }, HOSTILE);
      const { state } = await endOf({ backup: HOSTILE, rename: { things: 'copy' } });
      ends[state] = (ends[state] ?? 0) + 1;
      expect(['done', 'unreadable']).toContain(await stateOf(HOSTILE));
    }
    expect((ends.refused ?? 0) + (ends.failed ?? 0)).toBeGreaterThan(0);
    await deleteBackup(HOSTILE);
    await expectSound();
  });

  test('of a record', async () => {
    const { collections } = target.contentOf(`backups/${good.id}.json`);
    const record = JSON.parse(collections[0].record);
    for (const place of placesIn(record)) {
      const changed = JSON.stringify(mutated(record, place, random()));
      target.changed(
        good.id,
        { manifest: (one) => ({ ...one, collections: [{ ...one.collections[0], record: changed }] }) },
        HOSTILE,
      );
      await endOf({ backup: HOSTILE, rename: { things: 'copy' } });
    }
    await deleteBackup(HOSTILE);
    await expectSound();
  });

  test('of what is beside: claims, checks, histories, heads', async () => {
    await call('POST', `/v1/admin/backups/${good.id}/verify`);
    await eventually('it is checked', async () => existsSync(join(folder, 'checks', `${good.id}.json`)));
    target.put(`claims/${HOSTILE}.json`, { id: HOSTILE, startedAt: '', bases: [good.id], logs: ['u'] });
    const keys = ['claims', 'checks', 'collections', 'heads'].flatMap((kind) =>
      readdirSync(join(folder, kind)).map((name) => `${kind}/${name}`),
    );
    expect(keys.length).toBeGreaterThanOrEqual(4);
    for (const key of keys) {
      const before = target.read(key);
      const content = target.contentOf(key);
      for (const place of placesIn(content)) {
        target.put(key, mutated(content, place, random()));
        expect(await stateOf(good.id)).toBe('done');
      }
      await expectSound();
      writeFileSync(join(folder, key), before);
    }
    rmSync(join(folder, 'claims', `${HOSTILE}.json`));
  });
});

test('a log that somebody else has written again leads to no moment, unless an admin takes it on trust', async () => {
  const base = await takeBackup(call);
  const [{ uid, shards }] = target.contentOf(`backups/${base.id}.json`).collections;
  const { sequence } = shards[0].position;
  for (let n = 0; n < 3; n += 1)
    await call('POST', '/v1/collections/things/bulk_upsert', {
      items: [{ external_id: `l${n}`, vector: [n, 1, 2, 3] }],
    });
  const log = `log/${uid}.0`;
  const segments = (): LogSegment[] =>
    existsSync(join(folder, log))
      ? readdirSync(join(folder, log)).flatMap((name) => segmentOf({ key: `${log}/${name}`, bytes: 1 }) ?? [])
      : [];
  await eventually('the writes are shipped', async () => segments().some(({ last }) => last >= sequence + 3));
  const until = { positions: { things: [sequence + 3] } };
  expect(await endOf({ until, rename: { things: 'copy' } })).toMatchObject({ state: 'done', warnings: [] });
  for (const segment of segments()) {
    const { entries } = openedSegment(segment, target.read(segment.key), TEST_SEALS);
    writeFileSync(join(folder, segment.key), segmentToBytes(entries, { seals: OTHER_SEALS, key: segment.key }));
  }
  expect(await endOf({ until, rename: { things: 'copy' } })).toMatchObject({
    state: 'failed',
    error: expect.stringContaining('"unsealed": true'),
  });
  expect(await endOf({ until, rename: { things: 'copy' }, unsealed: true })).toMatchObject({
    state: 'done',
    warnings: [expect.stringContaining('not sealed by this service')],
  });
  await deleteBackup(base.id);
});

test('a void, and a segment of a log, that somebody else made are nobody else’s trouble', async () => {
  const [{ uid }] = target.contentOf(`backups/${good.id}.json`).collections;
  const log = `${uid}.0`;
  mkdirSync(join(folder, 'log', log), { recursive: true });
  const first = '0000000000000001';
  writeFileSync(join(folder, 'log', log, `${first}-9007199254740991-0-9007199254740991-0-9007199254740991`), 'x');
  writeFileSync(join(folder, 'log', log, `${first}-${first}-0-99999999999999999999-0-0`), 'x');
  mkdirSync(join(folder, 'void'), { recursive: true });
  writeFileSync(join(folder, 'void', '20200101T000000Z-00000000.json'), 'nothing');
  await expectSound();
  const { id } = await call('POST', '/v1/admin/backups', {});
  await backupEnded(call, id);
  await call('POST', '/v1/collections/things/bulk_upsert', { items: [{ external_id: 'later', vector: [1, 1, 2, 3] }] });
});

test('a segment of another century, and a head that says the same, make no item expire, over starts', async () => {
  const [{ uid }] = target.contentOf(`backups/${good.id}.json`).collections;
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  await call('POST', '/v1/collections/things/bulk_upsert', {
    items: [{ external_id: 'until tomorrow', vector: [1, 1, 2, 3], expires_at: tomorrow }],
  });
  const ms = Date.parse('2200-01-01T00:00:00Z');
  const name = { first: 2 ** 40, last: 2 ** 40, precedingEpoch: 2 ** 42, lastEpoch: 2 ** 42, fromMs: ms, toMs: ms };
  const key = segmentKey(`${uid}.0`, name);
  for (let start = 0; start < 2; start += 1) {
    writeFileSync(join(folder, key), segmentToBytes([{ sequence: 2 ** 40, epoch: 2 ** 42, at: ms, write: null }]));
    target.put('heads/x.json', {
      member: 'x',
      at: ms,
      shards: { [`${uid}.0`]: { sequence: 2 ** 40, epoch: 2 ** 42, untilMs: ms, since: 1, gaps: 0, error: null } },
    });
    await service.stop();
    await service.start();
    const { external_id: id } = await call('GET', '/v1/collections/things/vectors/until%20tomorrow');
    expect(id).toBe('until tomorrow');
    // What is written now is shipped behind what was.
    const before = target.contentOf('heads/node-0.json').at as number;
    await eventually(
      'the log is looked at',
      async () => (target.contentOf('heads/node-0.json').at as number) > before + 1_000,
    );
  }
  await expectSound();
});
