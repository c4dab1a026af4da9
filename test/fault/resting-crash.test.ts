import { EmbeddedProcess } from '../support/processes/embedded-process';
import { runSeed, seededRandom } from '../support/values/random';

/**
 * Shards that nobody uses are closed, and opened by their next use: a process with more collections than may be open is
 * killed at any moment of that, and has every acknowledged write when it is started again.
 */

/** Room for three open shards. */
const FILES = 256;
const COLLECTIONS = 9;
const WRITERS = 3;
const CYCLES = 4;

test('kill -9 while shards are closed and opened loses no acknowledged write, and lists count what there is', async () => {
  const random = seededRandom(runSeed('resting-crash'));
  const server = new EmbeddedProcess({ environment: { HTTP_THREADS: '2', IDLE_SHARD_SECONDS: '1' } });
  server.openFilesMax = FILES;
  const acknowledged = new Map<string, Set<string>>();
  const possible = new Map<string, Set<string>>();
  let written = 0;
  try {
    await server.start();
    for (let n = 0; n < COLLECTIONS; n += 1) {
      acknowledged.set(`c${n}`, new Set());
      possible.set(`c${n}`, new Set());
      await server.data('POST', '/v1/collections', { name: `c${n}`, dim: 2 });
    }
    for (let cycle = 0; cycle < CYCLES; cycle += 1) {
      const until = written + 20 + Math.floor(random() * 40);
      const write = async (writer: number): Promise<void> => {
        for (let n = 0; written < until; n += 1) {
          const collection = `c${writer + WRITERS * Math.floor(random() * (COLLECTIONS / WRITERS))}`;
          const id = `${cycle}-${writer}-${n}`;
          possible.get(collection)!.add(id);
          const answer = await server
            .call('POST', `/v1/collections/${collection}/upsert`, { external_id: id, vector: [n, 1] })
            .catch(() => null);
          if (answer === null) return;
          expect(answer.error).toBeNull();
          acknowledged.get(collection)!.add(id);
          written += 1;
        }
      };
      await Promise.race(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
      await server.kill();
      await server.start();
      const { collections } = await server.data('GET', '/v1/collections');
      for (const [name, ids] of acknowledged) {
        const { vectors } = await server.data('GET', `/v1/collections/${name}/export?limit=10000`);
        const found = new Set<string>(vectors.map(({ external_id }: any) => external_id));
        expect([...ids].filter((id) => !found.has(id))).toEqual([]);
        expect([...found].filter((id) => !possible.get(name)!.has(id))).toEqual([]);
        expect(collections.find((one: any) => one.name === name).vector_count).toBe(found.size);
        acknowledged.set(name, found);
      }
    }
    // What is closed in order stays closed at the next start, and is there.
    await server.stop();
    await server.start();
    const { collections } = await server.data('GET', '/v1/collections');
    for (const [name, ids] of acknowledged)
      expect(collections.find((one: any) => one.name === name).vector_count).toBe(ids.size);
    const metrics = await fetch(`http://127.0.0.1:${server.opsPort}/metrics`).then((answer) => answer.text());
    expect(metrics).toMatch(new RegExp(`^quiver_shards_resting(?:{[^}]*})? ${COLLECTIONS}$`, 'm'));
  } finally {
    await server.destroy();
  }
});
