import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { RocksKeyValueStore } from '../../node/engine/kv/rocks-key-value-store';
import { shardOf } from '../../shared/contract/shard/shard-of';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';

/**
 * What is gone of a data folder of the embedded form when the service starts, and what becomes of it: a loss is told by
 * name and with the ways out, nothing is made in its place, and what is not lost is served. Losses of the only replica
 * of a shard on a node are in test/fault/lost-replicas.test.ts and
 * test/fault/cluster/lose-data.test.ts.
 */

const SHARDS = 3;
const ITEMS = 60;
/** The shard that is lost. */
const LOST = 1;
const ids = Array.from({ length: ITEMS }, (_, i) => `id-${i}`);
const itemOf = (externalId: string, i: number) => ({
  external_id: externalId,
  vector: [i % 7, i % 5, 1, i],
  metadata: { i },
  text: `word${i % 6} of a text`,
});

let folder: string;
/** The data folder of a stopped service. `earlier`: the same before the last writes. */
let sound: string;
let earlier: string;
let targetFolder: string;
let uid: string;
let otherUid: string;
let whole: unknown;
let wholeOthers: unknown;
let count = 0;
const services: EmbeddedProcess[] = [];

function serviceIn(dataDir: string): EmbeddedProcess {
  const service = new EmbeddedProcess({ dataDir, environment: { BACKUP_TARGET: `file:${targetFolder}` } });
  services.push(service);
  return service;
}

/** What searches, hybrid searches and exports of a collection answer. */
async function answersOf(service: EmbeddedProcess, name: string): Promise<unknown> {
  const search = await service.data('POST', `/v1/collections/${name}/search`, {
    vector: [1, 2, 1, 30],
    k: ITEMS,
    exact: true,
  });
  const hybrid = await service.data('POST', `/v1/collections/${name}/hybrid_search`, {
    vector: [1, 2, 1, 30],
    query_text: 'word3',
    k: 10,
  });
  const items = await service.data('POST', `/v1/collections/${name}/scroll`, { limit: ITEMS, include_vectors: true });
  return { search: search.results, hybrid: hybrid.results, items: items.vectors };
}

const shardsOf = (dataDir: string, of = uid): string => join(dataDir, 'node', 'shards', of);
const shardIn = (dataDir: string, shard = LOST): string => join(shardsOf(dataDir), String(shard));
const recordsIn = (dataDir: string): string => join(shardIn(dataDir), 'records');

function removeFrom(place: string, which: RegExp): void {
  const names = readdirSync(place).filter((name) => which.test(name));
  expect(names.length).toBeGreaterThan(0);
  for (const name of names) rmSync(join(place, name), { recursive: true });
}

function replace(place: string, by: string): void {
  rmSync(place, { recursive: true });
  cpSync(by, place, { recursive: true });
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-lost-'));
  [sound, earlier, targetFolder] = ['sound', 'earlier', 'backups'].map((name) => join(folder, name));
  const service = serviceIn(sound);
  await service.start();
  for (const [name, shards] of [
    ['things', SHARDS],
    ['others', 2],
  ] as const) {
    await service.data('POST', '/v1/collections', { name, dim: 4, shards, description: `all ${name}`, language: 'en' });
    await service.data('POST', `/v1/collections/${name}/bulk_upsert`, { items: ids.map(itemOf) });
  }
  await service.stop();
  cpSync(sound, earlier, { recursive: true });
  await service.start();
  await service.data('POST', '/v1/collections/things/bulk_upsert', { items: ids.map((id, i) => itemOf(id, i + 100)) });
  whole = await answersOf(service, 'things');
  wholeOthers = await answersOf(service, 'others');
  await service.stop();
  // What is in the log becomes a table by the next start.
  await service.start();
  await service.stop();
  const byShards = new Map(
    readdirSync(join(sound, 'node', 'shards')).map((one) => [
      readdirSync(shardsOf(sound, one)).filter((name) => /^\d+$/.test(name)).length,
      one,
    ]),
  );
  [uid, otherUid] = [byShards.get(SHARDS)!, byShards.get(2)!];
});

afterEach(() => Promise.all(services.splice(0).map((service) => service.kill())));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function copyOf(from: string): string {
  const dataDir = join(folder, `copy-${count++}`);
  cpSync(from, dataDir, { recursive: true });
  return dataDir;
}

function filesBelow(place: string): string[] {
  return existsSync(place)
    ? (readdirSync(place, { recursive: true }) as string[]).filter((path) => !path.endsWith('LOCK')).sort()
    : [];
}

/** `quiver repair`; answers what it printed. Throws when it ends with another code than 0. */
function repair(dataDir: string, ...words: string[]): string {
  return execFileSync(process.execPath, [resolve(__dirname, '../../scripts/quiver.cjs'), 'repair', ...words], {
    env: { PATH: process.env.PATH ?? '', DATA_DIR: dataDir },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

function refusedRepair(dataDir: string, ...words: string[]): { status: number; stdout: string; stderr: string } {
  try {
    repair(dataDir, ...words);
  } catch (error) {
    return error as { status: number; stdout: string; stderr: string };
  }
  throw new Error('it was done');
}

const LOSSES: [string, (dataDir: string) => void | Promise<void>][] = [
  ['the folder of a shard', (dataDir) => rmSync(shardIn(dataDir), { recursive: true })],
  ['the records of a shard', (dataDir) => rmSync(recordsIn(dataDir), { recursive: true })],
  [
    'everything in the folder of a shard',
    (dataDir) => {
      rmSync(shardIn(dataDir), { recursive: true });
      mkdirSync(shardIn(dataDir));
    },
  ],
  [
    'everything in the records of a shard',
    (dataDir) => {
      rmSync(recordsIn(dataDir), { recursive: true });
      mkdirSync(recordsIn(dataDir));
    },
  ],
  ['CURRENT of a shard', (dataDir) => rmSync(join(recordsIn(dataDir), 'CURRENT'))],
  ['CURRENT and the mark of a shard', (dataDir) => removeFrom(recordsIn(dataDir), /^(?:CURRENT|SYNCED)$/)],
  ['the manifest of the records of a shard', (dataDir) => removeFrom(recordsIn(dataDir), /^MANIFEST-/)],
  ['the tables of a shard', (dataDir) => removeFrom(recordsIn(dataDir), /\.sst$/)],
  [
    'the records of a shard, with new ones in their place',
    async (dataDir) => {
      rmSync(recordsIn(dataDir), { recursive: true });
      await (await RocksKeyValueStore.open(recordsIn(dataDir))).close();
    },
  ],
  [
    'the data of a shard, with those of another one in their place',
    (dataDir) => replace(shardIn(dataDir), shardIn(dataDir, 2)),
  ],
  [
    'the data of a shard, with those of another collection in their place',
    (dataDir) => replace(shardIn(dataDir), join(shardsOf(dataDir, otherUid), '1')),
  ],
  [
    'the last writes of a shard: an earlier copy is in its place',
    (dataDir) => replace(shardIn(dataDir), shardIn(earlier)),
  ],
  [
    'the last writes of the records of a shard: an earlier copy is in their place',
    (dataDir) => replace(recordsIn(dataDir), recordsIn(earlier)),
  ],
  [
    'the last writes of the records of a shard and the notes: a checkpoint tells what lacks',
    (dataDir) => {
      rmSync(join(dataDir, 'notes'), { recursive: true });
      replace(recordsIn(dataDir), recordsIn(earlier));
    },
  ],
  ['all shards of a collection', (dataDir) => rmSync(shardsOf(dataDir), { recursive: true })],
];

test.each(LOSSES)('without %s, it is told, and everything else is served', async (what, lose) => {
  const dataDir = copyOf(sound);
  await lose(dataDir);
  const before = filesBelow(recordsIn(dataDir));
  const service = serviceIn(dataDir);
  // Something that can be opened is there: it is told at each start.
  const starts = /in (?:its|their) place/.test(what) ? 2 : 1;
  for (let start = 0; start < starts; start += 1) {
    await service.start();
    const told = expect.objectContaining({
      code: 500,
      message: expect.stringMatching(/^shard \d of 3 of collection "things": .*(?:backup|repair)/),
    });
    const inLost = ids.find((id) => shardOf(id, SHARDS) === LOST)!;
    const calls: [string, string, unknown?][] = [
      ['POST', '/v1/collections/things/search', { vector: [1, 2, 3, 4], k: 5 }],
      ['POST', '/v1/collections/things/hybrid_search', { vector: [1, 2, 3, 4], query_text: 'word3', k: 5 }],
      ['POST', '/v1/collections/things/scroll', { limit: 10 }],
      ['POST', '/v1/collections/things/upsert', itemOf(inLost, 7)],
      ['GET', `/v1/collections/things/vectors/${inLost}`],
      ['DELETE', `/v1/collections/things/delete/${inLost}`],
      ['GET', '/v1/collections/things/stats'],
    ];
    for (const [method, path, body] of calls)
      expect([path, (await service.call(method, path, body)).error]).toEqual([path, told]);
    expect(service.output).toMatch(new RegExp(`"shard":${LOST}.*nothing is made in their place`));
    expect(await answersOf(service, 'others')).toEqual(wholeOthers);
    const { shards } = await service.data('GET', '/v1/cluster');
    expect(shards.find(({ collection, shard }: any) => collection === 'things' && shard === LOST).state).toBe(
      'unavailable',
    );
    // No backup of it becomes the newest.
    const { id } = await service.data('POST', '/v1/admin/backups', { collections: ['things'] });
    let ended: any = null;
    await eventually(
      'the backup is over',
      async () => (ended = await service.data('GET', `/v1/admin/backups/${id}`)).state !== 'running',
    );
    expect(ended.state === 'done' && ended.collections.some(({ name }: any) => name === 'things')).toBe(false);
    await (start === 0 ? service.kill() : service.stop());
  }
  // A copy that may lack something has to be looked into.
  if (!what.includes('last writes')) expect(filesBelow(recordsIn(dataDir))).toEqual(before);
  // Put back, everything is there again.
  rmSync(shardsOf(dataDir), { recursive: true, force: true });
  cpSync(shardsOf(sound), shardsOf(dataDir), { recursive: true });
  await service.start();
  expect(await answersOf(service, 'things')).toEqual(whole);
});

test('an earlier copy is told also where a kill kept the service from noting how far it was', async () => {
  const dataDir = copyOf(sound);
  const service = serviceIn(dataDir);
  await service.start();
  const inLost = ids.find((id) => shardOf(id, SHARDS) === LOST)!;
  await service.data('POST', '/v1/collections/things/upsert', itemOf(inLost, 500));
  await service.kill();
  replace(shardIn(dataDir), shardIn(sound));
  await service.start();
  expect((await service.call('GET', `/v1/collections/things/vectors/${inLost}`)).error).toMatchObject({
    code: 500,
    message: expect.stringContaining('its data are an earlier copy'),
  });
  await service.stop();
  // The folder as a whole may be put back: nothing in it is of another time.
  replace(dataDir, sound);
  await service.start();
  expect(await answersOf(service, 'things')).toEqual(whole);
});

test.each<[string, (dataDir: string) => void]>([
  [
    'the whole checkpoint of a shard',
    (dataDir) => removeFrom(shardIn(dataDir), /^(?:checkpoint-\d+|MANIFEST\.json|vectors)$/),
  ],
  ['the vectors of a shard', (dataDir) => rmSync(join(shardIn(dataDir), 'vectors'), { recursive: true })],
  ['the name of the store of a shard', (dataDir) => rmSync(join(recordsIn(dataDir), 'IDENTITY'))],
  ['the format of the folder', (dataDir) => rmSync(join(dataDir, 'format.json'))],
  [
    'the notes, as in the folder of an earlier version',
    (dataDir) => rmSync(join(dataDir, 'notes'), { recursive: true }),
  ],
  [
    'a note, whose content a loss of power took',
    (dataDir) => writeFileSync(join(dataDir, 'notes', `${uid}.${LOST}`), ''),
  ],
  [
    'the notes beside the shards',
    (dataDir) => [uid, otherUid].forEach((one) => rmSync(join(shardsOf(dataDir, one), 'collection.json'))),
  ],
])('without %s, nothing is lost', async (_what, lose) => {
  const dataDir = copyOf(sound);
  lose(dataDir);
  const service = serviceIn(dataDir);
  await service.start();
  expect(await answersOf(service, 'things')).toEqual(whole);
  await service.stop();
  // What was missing is there again.
  expect(filesBelow(dataDir).filter((path) => /^notes\/|collection\.json$|^format\.json$/.test(path))).toEqual(
    filesBelow(sound).filter((path) => /^notes\/|collection\.json$|^format\.json$/.test(path)),
  );
});

test('without all shards of all collections, none is served empty', async () => {
  for (const place of ['node', join('node', 'shards')]) {
    const dataDir = copyOf(sound);
    rmSync(join(dataDir, place), { recursive: true });
    const service = serviceIn(dataDir);
    await service.start();
    for (const name of ['things', 'others'])
      expect(
        (await service.call('POST', `/v1/collections/${name}/search`, { vector: [1, 2, 3, 4], k: 5 })).error,
      ).toMatchObject({
        code: 500,
        message: expect.stringContaining(`of collection "${name}": its data are gone`),
      });
    // It is no obstacle for what is new.
    await service.data('POST', '/v1/collections', { name: 'new', dim: 2 });
    await service.data('DELETE', '/v1/collections/things');
    await service.stop();
    expect(filesBelow(join(dataDir, 'notes')).some((note) => note.startsWith(uid))).toBe(false);
  }
});

const CLUSTER_LOSSES: [string, (dataDir: string) => void][] = [
  ['gone', (dataDir) => rmSync(join(dataDir, 'cluster'), { recursive: true })],
  [
    'gone, and so are the notes',
    (dataDir) => ['cluster', 'notes'].forEach((name) => rmSync(join(dataDir, name), { recursive: true })),
  ],
  [
    'empty',
    (dataDir) => {
      rmSync(join(dataDir, 'cluster'), { recursive: true });
      mkdirSync(join(dataDir, 'cluster'));
    },
  ],
  ['without its manifest', (dataDir) => removeFrom(join(dataDir, 'cluster'), /^MANIFEST-/)],
  [
    'an earlier copy',
    (dataDir) => {
      replace(join(dataDir, 'cluster'), join(earlier, 'cluster'));
    },
  ],
];

test.each(CLUSTER_LOSSES)(
  'where the store of collections and keys is %s, no start makes a new one, and the collections can be listed again',
  async (what, lose) => {
    const dataDir = copyOf(sound);
    lose(dataDir);
    const before = filesBelow(join(dataDir, 'cluster'));
    const refused = serviceIn(dataDir);
    await expect(refused.start()).rejects.toThrow(
      /collections and keys in .*cluster are gone, damaged or an earlier copy .*quiver repair --rebuild-cluster/,
    );
    expect(refusedRepair(dataDir)).toMatchObject({ status: 1, stderr: expect.stringContaining('--rebuild-cluster') });
    if (!what.includes('earlier copy')) expect(filesBelow(join(dataDir, 'cluster'))).toEqual(before);
    expect(repair(dataDir, '--rebuild-cluster')).toMatch(
      /collection "others": 2 shards\ncollection "things": 3 shards\nnot kept, so gone: API keys/,
    );
    const service = serviceIn(dataDir);
    await service.start();
    expect(await answersOf(service, 'things')).toEqual(whole);
    expect(await service.data('GET', '/v1/collections/things')).toMatchObject({
      description: 'all things',
      language: 'en',
      shards: SHARDS,
      vector_count: ITEMS,
    });
    await service.data('POST', '/v1/collections/things/upsert', itemOf('new', 1));
    await service.data('POST', '/v1/collections/things/reshard', { shards: 2 });
    await eventually(
      'it has two shards',
      async () => (await service.data('GET', '/v1/collections/things')).shards === 2,
    );
    await service.stop();
    expect(repair(dataDir)).toMatch(/nothing is missing of 2 collections/);
    expect(refusedRepair(dataDir, '--rebuild-cluster')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('nothing to make anew'),
    });
  },
);

test('collections of which an earlier version noted nothing are listed by what their shards say', async () => {
  const dataDir = copyOf(sound);
  for (const name of ['cluster', 'notes', join('node', 'shards', uid, 'collection.json')])
    rmSync(join(dataDir, name), { recursive: true });
  const name = `recovered-${uid.slice(0, 12)}`;
  expect(repair(dataDir, '--rebuild-cluster')).toContain(
    `collection "${name}": 3 shards (no note lies beside its shards`,
  );
  const service = serviceIn(dataDir);
  await service.start();
  expect(await answersOf(service, name)).toEqual(whole);
});

test('a deleted collection is not listed again, and a reshard leaves the note of the shards that are in use', async () => {
  const dataDir = copyOf(sound);
  const service = serviceIn(dataDir);
  await service.start();
  await service.data('POST', '/v1/collections/things/reshard', { shards: 1 });
  await eventually('it has one shard', async () => (await service.data('GET', '/v1/collections/things')).shards === 1);
  await service.data('DELETE', '/v1/collections/others');
  await eventually(
    'one note is left',
    async () =>
      filesBelow(join(dataDir, 'node', 'shards')).filter((path) => path.endsWith('collection.json')).length === 1,
  );
  await service.kill();
  rmSync(join(dataDir, 'cluster'), { recursive: true });
  expect(repair(dataDir, '--rebuild-cluster')).toMatch(/^collection "things": 1 shard\n/);
  await service.start();
  expect(await answersOf(service, 'things')).toEqual(whole);
  expect((await service.data('GET', '/v1/collections')).collections).toHaveLength(1);
});

test('keys and collections that are left of a damaged store are served when somebody accepts the loss', async () => {
  const dataDir = copyOf(sound);
  replace(join(dataDir, 'cluster'), join(earlier, 'cluster'));
  cpSync(shardsOf(dataDir, otherUid), shardsOf(dataDir, 'of-later'), { recursive: true });
  expect(repair(dataDir, '--accept-loss', 'cluster')).toContain('2 collections are listed (others, things)');
  const service = serviceIn(dataDir);
  await service.start();
  expect(service.output).toMatch(/of-later.*shards on the disk belong to no collection; they are left alone/);
  expect(await answersOf(service, 'things')).toEqual(whole);
});

test('a loss that somebody accepts begins the shard empty, or serves what is left; the rest of the collection is whole', async () => {
  const dataDir = copyOf(sound);
  rmSync(recordsIn(dataDir), { recursive: true });
  expect(refusedRepair(dataDir)).toMatchObject({
    status: 1,
    stdout: expect.stringMatching(/^shard 1 of 3 of collection "things" \(.*\): its data are gone\n/),
  });
  expect(repair(dataDir, '--accept-loss', `things/${LOST}`)).toContain('the loss is accepted');
  const service = serviceIn(dataDir);
  await service.start();
  expect(service.output).toContain('the loss of a shard was accepted');
  const left = ids.filter((id) => shardOf(id, SHARDS) !== LOST);
  const found = async (): Promise<string[]> =>
    (await service.data('POST', '/v1/collections/things/search', { vector: [1, 2, 3, 4], k: ITEMS })).results
      .map(({ external_id }: any) => external_id)
      .sort();
  expect(await found()).toEqual([...left].sort());
  const inLost = ids.find((id) => shardOf(id, SHARDS) === LOST)!;
  await service.data('POST', '/v1/collections/things/upsert', itemOf(inLost, 1));
  await service.kill();
  // It was accepted once, and is looked after from then on.
  await service.start();
  expect(await found()).toEqual([...left, inLost].sort());
  await service.stop();
  rmSync(shardIn(dataDir), { recursive: true });
  await service.start();
  expect(
    (await service.call('POST', '/v1/collections/things/search', { vector: [1, 2, 3, 4], k: 5 })).error,
  ).toMatchObject({ code: 500 });
  await service.stop();

  replace(shardsOf(dataDir), shardsOf(earlier));
  expect(repair(dataDir, '--accept-loss', 'things')).toContain(`shard 2 of collection "things": the loss is accepted`);
  await service.start();
  expect(service.output).toContain('what is left is served');
  expect(await found()).toEqual([...ids].sort());
  // Those of before the last writes.
  expect((await service.data('GET', `/v1/collections/things/vectors/${inLost}`)).metadata).toEqual({
    i: ids.indexOf(inLost),
  });
});

test('quiver repair says what it can not do', async () => {
  const dataDir = copyOf(sound);
  const service = serviceIn(dataDir);
  await service.start();
  expect(refusedRepair(dataDir).stderr).toContain('in use by another process');
  expect(refusedRepair(dataDir, '--rebuild-cluster').stderr).toContain('in use by another process');
  await service.stop();
  expect(refusedRepair(dataDir, '--accept-loss', 'nobody').stderr).toContain('there is no collection "nobody"');
  expect(refusedRepair(dataDir, '--accept-loss', 'things/3').stderr).toContain('has the shards 0 to 2');
  expect(refusedRepair(dataDir, '--else')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('usage: quiver repair'),
  });
  mkdirSync(join(folder, 'else'));
  expect(refusedRepair(join(folder, 'else')).stderr).toContain('is no data folder of a service');
  expect(readdirSync(join(folder, 'else'))).toEqual([]);
  expect(refusedRepair(join(folder, 'nowhere')).stderr).toContain('is no data folder of a service');
});
