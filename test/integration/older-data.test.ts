import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { EmbeddedProcess } from '../support/processes/embedded-process';
import { StoredReplica } from '../support/shards/stored-replica';

/**
 * Data folders as earlier versions wrote them, kept under test/fixtures, open with everything in them.
 *
 * embedded-rocksdb-6.17: version 0.1.0, whose records were written by RocksDB 6.17. Made by 60 items, a stop, 20 items
 * (10 of them updates), two deletes, and SIGKILL. replica-rocksdb-6.17: a replica's folder of the same version: 35
 * entries of the log, 30 applied, a checkpoint at 20, and SIGKILL.
 */

const folders: string[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

function unpacked(fixture: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-older-'));
  folders.push(folder);
  execFileSync('tar', ['-xzf', resolve(__dirname, `../fixtures/${fixture}.tar.gz`), '-C', folder]);
  return folder;
}

const IDS = Array.from({ length: 70 }, (_, i) => `item-${i}`).filter((id) => id !== 'item-3' && id !== 'item-55');

async function expectEverything(service: EmbeddedProcess): Promise<void> {
  const call = async (method: string, path: string, body?: unknown): Promise<any> => {
    const response = await fetch(service.baseUrl + path, {
      method,
      headers: { 'x-api-key': 'fixture-key', 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const answer = (await response.json()) as { status: string; data: any; error: unknown };
    expect(answer.error ?? null).toBeNull();
    return answer.data;
  };
  const { collections } = await call('GET', '/v1/collections');
  expect(collections).toEqual([
    expect.objectContaining({
      name: 'kept',
      dim: 4,
      distance_metric: 'l2',
      description: 'of an earlier version',
      shards: 2,
    }),
  ]);
  const { vectors } = await call('POST', '/v1/collections/kept/scroll', { limit: 100 });
  expect(vectors.map(({ external_id }: { external_id: string }) => external_id)).toEqual(IDS);
  for (const { external_id, vector, metadata } of vectors) {
    const number = Number(external_id.slice('item-'.length));
    const round = number >= 50 ? 2 : 1;
    expect(vector).toEqual([number, round, number % 7, 1]);
    expect(metadata).toEqual({ number, round, tags: [`t${number % 3}`], nested: { even: number % 2 === 0 } });
  }
  const found = await call('POST', '/v1/collections/kept/search', {
    vector: [52, 2, 3, 1],
    k: 1,
    filters: { round: 2 },
  });
  expect(found.results[0].external_id).toBe('item-52');
  const item = await call('GET', '/v1/collections/kept/vectors/item-61');
  expect(item.text).toBe('text of item 61 in round 2');
  const keys = await call('GET', '/v1/admin/keys');
  expect(JSON.stringify(keys)).toContain('"reader"');
}

test('an embedded data folder of version 0.1.0, written by RocksDB 6.17', async () => {
  const service = new EmbeddedProcess({
    dataDir: unpacked('embedded-rocksdb-6.17'),
    environment: { API_KEY: 'fixture-key' },
  });
  try {
    await service.start();
    await expectEverything(service);
    await service.stop();
    await service.start();
    await expectEverything(service);
  } finally {
    await service.destroy();
  }
});

test("a replica's folder of version 0.1.0, written by RocksDB 6.17", async () => {
  const folder = unpacked('replica-rocksdb-6.17');
  const spec = { collectionUid: 'kept', shard: 0, dim: 4, metric: 'l2' as const, language: 'en' as const };
  const replica = await new StoredReplica(folder, spec).open();
  const { state } = replica.storage;
  expect(state).toMatchObject({ promisedEpoch: 2, firstSequence: 1, lastSequence: 35, appliedSequence: 30 });
  expect(state.lossy).toBeUndefined();
  await replica.storage.apply(35);
  const items = await replica.items();
  expect(items.map(({ externalId }) => externalId)).toEqual(Array.from({ length: 35 }, (_, i) => `item-${i + 1}`));
  expect(await StoredReplica.entries(replica.storage, 1)).toHaveLength(35);
  await replica.close();
});
