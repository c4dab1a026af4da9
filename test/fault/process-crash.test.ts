import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';
import { runSeed, seededRandom } from '../support/values/random';

/**
 * The promise of durability, seen from outside: a real process is killed with SIGKILL at random moments under
 * concurrent writers, started again on the same data, and asked for everything it acknowledged.
 */

const CYCLES = Number(process.env.CYCLES ?? 8);
const DIM = 8;
const IDS = 400;
const WRITERS = 4;
/** Most ids of one fetch. */
const FETCHED_MAX = 100;

/** What is known of one id: the last acknowledged state, and the states that unanswered writes may have left. */
interface Knowledge {
  acknowledged: number | null;
  possible: (number | null)[];
}

function vectorOf(version: number): number[] {
  return Array.from({ length: DIM }, (_, i) => Math.fround(Math.sin(version * 7 + i)));
}

test(
  'kill -9 under load loses no acknowledged write and brings no deleted vector back',
  async () => {
    const random = seededRandom(runSeed('process-crash'));
    const server = new EmbeddedProcess({ environment: { HTTP_THREADS: '2' } });
    const known = new Map<string, Knowledge>();
    for (let i = 0; i < IDS; i++) known.set(`id-${i}`, { acknowledged: null, possible: [] });
    let version = 0;
    let acknowledgedWrites = 0;
    try {
      await server.start();
      await server.data('POST', '/v1/collections', { name: 'crash', dim: DIM, shards: 2 });

      /** One writer owns every id whose number is congruent to it, so each id has one history in program order. */
      const write = async (writer: number, stopped: () => boolean): Promise<void> => {
        while (!stopped()) {
          const count = 1 + Math.floor(random() * 20);
          const ids = [
            ...new Set(
              Array.from({ length: count }, () => `id-${Math.floor((random() * IDS) / WRITERS) * WRITERS + writer}`),
            ),
          ];
          const isDelete = random() < 0.3;
          const written = ids.map((id) => ({ id, state: isDelete ? null : ++version }));
          for (const { id, state } of written) known.get(id)?.possible.push(state);
          const answer = await (
            isDelete
              ? server.call('POST', '/v1/collections/crash/delete_batch', { external_ids: ids })
              : server.call('POST', '/v1/collections/crash/bulk_upsert', {
                  items: written.map(({ id, state }) => ({
                    external_id: id,
                    vector: vectorOf(state as number),
                    metadata: { version: state },
                  })),
                })
          ).catch(() => null);
          if (answer === null) return;
          expect(answer.error).toBeNull();
          acknowledgedWrites += 1;
          for (const { id, state } of written) known.set(id, { acknowledged: state, possible: [] });
        }
      };

      for (let cycle = 0; cycle < CYCLES; cycle++) {
        let stopped = false;
        const writers = Array.from({ length: WRITERS }, (_, writer) => write(writer, () => stopped));
        const enough = acknowledgedWrites + 5 + Math.floor(random() * 120);
        await eventually('enough is acknowledged', () => acknowledgedWrites >= enough);
        await server.kill();
        stopped = true;
        await Promise.all(writers);
        await server.start();

        let live = 0;
        const held = new Map<string, { vector: number[]; metadata: { version: number } }>();
        const all = [...known.keys()];
        for (let from = 0; from < IDS; from += FETCHED_MAX) {
          const { vectors } = await server.data('POST', '/v1/collections/crash/vectors/fetch', {
            ids: all.slice(from, from + FETCHED_MAX),
          });
          for (const item of vectors) held.set(item.external_id, item);
        }
        for (const [id, knowledge] of known) {
          const item = held.get(id);
          const found = item?.metadata.version ?? null;
          expect({ id, allowed: [knowledge.acknowledged, ...knowledge.possible] }).toEqual({
            id,
            allowed: expect.arrayContaining([found]),
          });
          if (item !== undefined) {
            live += 1;
            expect(item.vector.map(Math.fround)).toEqual(vectorOf(item.metadata.version));
          }
          known.set(id, { acknowledged: found, possible: [] });
        }
        const collection = await server.data('GET', '/v1/collections/crash');
        expect(collection.vector_count).toBe(live);
        const exported = await server.data('GET', '/v1/collections/crash/export');
        expect(exported.count).toBe(live);
        const scanned = await server.data('POST', '/v1/collections/crash/search', {
          vector: vectorOf(1),
          k: IDS,
          exact: true,
        });
        const liveIds = [...known].filter(([, knowledge]) => knowledge.acknowledged !== null).map(([id]) => id);
        expect(scanned.results.map((hit: { external_id: string }) => hit.external_id).sort()).toEqual(liveIds.sort());
      }
      expect(acknowledgedWrites).toBeGreaterThan(CYCLES * 5);
    } finally {
      await server.destroy();
    }
  },
  900_000 + CYCLES * 20_000,
);
