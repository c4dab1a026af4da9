import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AdminCall, takeBackup } from '../support/targets/backup-calls';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';
import { runSeed, seededRandom } from '../support/values/random';

const ITEMS = 3000;
/**
 * The numbers of shards that each collection is restored into, and most milliseconds from when it is asked for to the
 * kill.
 */
const KILLS: [number, number][] = [
  [2, 100],
  [3, 500],
  [1, 1_000],
  [4, 1_500],
  [2, 2_000],
];

const folder = mkdtempSync(join(tmpdir(), 'quiver-restoring-'));
const quiver = new EmbeddedProcess({ environment: { BACKUP_TARGET: `file:${folder}`, HTTP_THREADS: '2' } });
const call: AdminCall = (method, path, body) => quiver.data(method, path, body);
afterAll(async () => {
  await quiver.destroy();
  rmSync(folder, { recursive: true, force: true });
});

/** Writes item after item until the process is gone; answers what was acknowledged. */
async function writeUntilKilled(name: string, everyMs: number): Promise<Set<string>> {
  const acknowledged = new Set<string>();
  for (let n = 0; ; n += 1) {
    await new Promise((wake) => setTimeout(wake, everyMs));
    try {
      await call('POST', `/v1/collections/${name}/upsert`, {
        external_id: `own-${n}`,
        vector: [1, 2, 3, n],
        metadata: { n },
      });
      acknowledged.add(`own-${n}`);
    } catch {
      return acknowledged;
    }
  }
}

test('kill -9 of the embedded process at any moment of a restore into an empty collection: it is restored, or it is what clients wrote', async () => {
  const random = seededRandom(runSeed('restore-embedded'));
  await quiver.start();
  await call('POST', '/v1/collections', { name: 'saved', dim: 4, shards: 2 });
  const saved = Array.from({ length: ITEMS }, (_, i) => `saved-${i}`);
  for (let from = 0; from < ITEMS; from += 500) {
    const items = saved
      .slice(from, from + 500)
      .map((id, i) => ({ external_id: id, vector: [1, 2, 3, from + i], metadata: { n: from + i } }));
    await call('POST', '/v1/collections/saved/bulk_upsert', { items });
  }
  const { id: backup } = await takeBackup(call, { collections: ['saved'] });
  const outcomes: string[] = [];
  for (const [round, [shards, withinMs]] of KILLS.entries()) {
    // The clients of every other round come after the restore has begun to seal, if at all.
    const name = `empty-${round}`;
    await call('POST', '/v1/collections', { name, dim: 4, shards: 2, description: name });
    const { id } = await call('POST', '/v1/admin/restore', { backup, rename: { saved: name }, shards });
    const writing = writeUntilKilled(name, round % 2 === 0 ? 400 + withinMs : 150);
    await new Promise((wake) => setTimeout(wake, random() * withinMs));
    await quiver.kill();
    const acknowledged = await writing;
    await quiver.start();
    let restore: any;
    await eventually(
      'the restore is over',
      async () => !['running', 'cancelling'].includes((restore = await call('GET', `/v1/admin/restores/${id}`)).state),
    );
    const found = new Set(
      (await call('GET', `/v1/collections/${name}/export?limit=100000`)).vectors.map((one: any) => one.external_id),
    );
    outcomes.push(restore.state);
    expect({ state: restore.state, lost: [...acknowledged].filter((one) => !found.has(one)) }).toEqual({
      state: restore.state,
      lost: [],
    });
    const view = await call('GET', `/v1/collections/${name}`);
    if (restore.state === 'done')
      expect({ saved: saved.every((one) => found.has(one)), ...view }).toMatchObject({
        saved: true,
        shards,
        description: name,
      });
    else {
      expect(restore.error).toContain('not empty any more');
      expect({ saved: saved.filter((one) => found.has(one)), ...view }).toMatchObject({
        saved: [],
        shards: 2,
        description: name,
      });
    }
  }
  console.log(`it was ${outcomes.join(', ')}`);
  expect(outcomes).toContain('done');
});
