import { BACKUP_MANIFEST, SHARD_MANIFEST } from '../../shared/backup-store/content-schemas';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type BackupManifest, contentOf, objectsOf } from '../../shared/backup-store/backup-format';
import { ONLY_DRIVER } from '../../coordinator/jobs/driving/owned-entry';
import type { RunningService } from '../../coordinator/service-factory';
import { eventually } from '../support/eventually';
import { item, newCollection } from '../support/shards/plain-service';
import { runSeed, seededRandom } from '../support/values/random';
import { backedUp, Drivers, restoredBy, RestoringNode } from '../support/cluster/restoring-node';
import { scrolledPage } from '../support/http/whole-pages';

/** What backups of a shard name of those before them, over real shards and a folder. */

const random = seededRandom(runSeed('backups and purges'));
/** One that is nowhere else, and that no compression shortens to something else. */
const word = (): string =>
  Array.from({ length: 24 }, () => 'abcdefghijklmnopqrstuvwxyz'[Math.floor(random() * 26)]).join('');
/** So many in each of two shards that the first backup has indexes with them. */
const ITEMS = 2_600;

let held: RestoringNode;
let service: RunningService;
let drivers: Drivers;
let jobs: { close(): Promise<void> };
beforeEach(async () => {
  held = await RestoringNode.start();
  service = await held.service();
  drivers = await Drivers.start(service);
  jobs = await service.driveJobs(ONLY_DRIVER);
});
afterEach(async () => {
  await jobs.close();
  await drivers.close();
  await held.end();
});

const folder = (): string => held.target.slice('file:'.length);
const readObject = (key: string): Buffer => readFileSync(join(folder(), key));
const manifestOf = (id: string): BackupManifest => contentOf(BACKUP_MANIFEST, id, readObject(`backups/${id}.json`));

/** All objects of a backup, whoever wrote them, with what their manifests say of their length. */
function objectsOfBackup(id: string): Map<string, number> {
  const shards = manifestOf(id).collections.flatMap((one) => one.shards.map(({ manifest }) => manifest));
  const within = shards.flatMap(({ key }) => objectsOf(contentOf(SHARD_MANIFEST, key, readObject(key))));
  return new Map([...shards, ...within].map(({ key, bytes }) => [key, bytes]));
}

/** Backups whose folders hold what this one consists of. */
const writersOf = (id: string): string[] =>
  [...new Set([...objectsOfBackup(id).keys()].map((key) => key.split('/')[1]))].sort();

/** Objects of the target that hold one of the words. */
function objectsWith(words: readonly string[]): string[] {
  const files = readdirSync(folder(), { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile());
  return files
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((path) => words.some((one) => readFileSync(path).includes(one)));
}

const contents = async (name: string): Promise<unknown[]> =>
  (
    await scrolledPage(service.vectors.scroll(name, { cursor: null, limit: 10_000, filter: null, vectors: true }))
  ).vectors.map(({ vector, ...rest }) => ({ ...rest, vector: [...vector!] }));

async function write(from: number, to: number, named: (n: number) => string): Promise<void> {
  for (let at = from; at < to; at += 500) {
    const numbers = Array.from({ length: Math.min(500, to - at) }, (_, i) => at + i);
    await service.vectors.upsert(
      'things',
      numbers.map((n) => item(named(n), [1, n + 1], { metadata: { n, word: named(n) }, text: `about ${named(n)}` })),
    );
  }
}

/** Takes a backup, whose id is later than those before: ids of one second are in no order. */
async function taken(): Promise<string> {
  const second = Math.floor(Date.now() / 1000);
  await eventually('the clock goes on', () => Math.floor(Date.now() / 1000) > second);
  return backedUp(service);
}

async function purged(): Promise<void> {
  await service.collections.purge('things', true);
  const states = async (): Promise<string> =>
    (await service.collections.purge('things', false)).shards
      .flatMap((replicas) => replicas.map(({ state }) => state))
      .join();
  await eventually('the purge is over', async () => !(await states()).includes('running'));
  expect(await states()).toBe('done,done');
}

test('the first backup after a purge names nothing of those before, has nothing of what was deleted, and the next ones go on from it', async () => {
  await service.collections.create(newCollection('things', { shards: 2 }));
  const gone = Array.from({ length: 40 }, word);
  const nameOf = (n: number): string => (n % 65 === 0 && n < 2_600 ? gone[n / 65] : `item-${n}`);
  await write(0, ITEMS, nameOf);
  const [first, atFirst] = [await taken(), await contents('things')];
  expect(objectsWith(gone).length).toBeGreaterThan(0);

  // Without a purge, what was deleted stays in what the next backup names of the first.
  await service.vectors.delete('things', gone);
  const [second, atSecond] = [await taken(), await contents('things')];
  expect(writersOf(second)).toEqual([first, second]);
  expect(manifestOf(second).copiedBytes).toBeLessThan(manifestOf(first).copiedBytes / 2);
  expect(
    [...objectsOfBackup(second).keys()].filter((key) => gone.some((one) => readObject(key).includes(one))).length,
  ).toBeGreaterThan(0);

  await purged();
  const [third, atThird] = [await taken(), await contents('things')];
  expect(atThird).toEqual(atSecond);
  expect(writersOf(third)).toEqual([third]);
  expect(manifestOf(third).collections[0].shards.map(({ needs, items }) => [needs, items])).toEqual(
    manifestOf(second).collections[0].shards.map(({ items }) => [[third], items]),
  );
  expect(manifestOf(third).copiedBytes).toBe(manifestOf(third).totalBytes);
  expect([...objectsOfBackup(third).keys()].filter((key) => gone.some((one) => readObject(key).includes(one)))).toEqual(
    [],
  );

  await write(ITEMS, ITEMS + 100, nameOf);
  const [fourth, atFourth] = [await taken(), await contents('things')];
  expect(writersOf(fourth)).toEqual([third, fourth]);
  expect(manifestOf(fourth).copiedBytes).toBeLessThan(manifestOf(third).copiedBytes / 2);
  for (const id of [first, second, third, fourth]) {
    const objects = objectsOfBackup(id);
    for (const [key, bytes] of objects) expect([key, statSync(join(folder(), key)).size]).toEqual([key, bytes]);
    expect([id, manifestOf(id).totalBytes]).toEqual([id, [...objects.values()].reduce((sum, bytes) => sum + bytes, 0)]);
  }

  // Each of them is what was there, whichever shards it is restored into.
  const states: [string, unknown[], number][] = [
    [first, atFirst, 2],
    [second, atSecond, 3],
    [third, atThird, 2],
    [fourth, atFourth, 1],
  ];
  for (const [i, [backup, was, shards]] of states.entries()) {
    expect((await restoredBy(service, { backup, rename: { things: `copy-${i}` }, shards })).state).toBe('done');
    expect(await contents(`copy-${i}`)).toEqual(was);
  }

  // And with those from before the purge, what was deleted is gone from the target.
  for (const id of [first, second]) await service.backups.delete(id);
  await eventually(
    'both are gone',
    async () => (await service.backups.list()).map(({ id }) => id).join() === [fourth, third].join(),
  );
  await eventually(
    'and what they alone had',
    () => !readdirSync(join(folder(), 'data')).some((id) => id === first || id === second),
  );
  expect(objectsWith(gone)).toEqual([]);
  expect((await restoredBy(service, { backup: fourth, rename: { things: 'after' } })).state).toBe('done');
  expect(await contents('after')).toEqual(atFourth);
});
