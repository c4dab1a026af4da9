import { type ApiAnswer, dataOf } from '../../support/targets/api-client';
import { eventually } from '../../support/eventually';
import { runSeed, seededRandom } from '../../support/values/random';
import type { SuiteContext } from '../api-suite';

const ITEMS = 40;
/** Of each reader. */
const READS = 40;
/** Everybody wants these; the last comes and goes. */
const HOT = ['item 0', 'item 1', 'item 2'];
const GOING = 'item 2';

/**
 * Reads are answered whatever is written beside them: no answer is an error, but that an item that is deleted is not
 * found.
 */
export function readsBesideWritesSuite(context: SuiteContext): void {
  describe('reads beside writes', () => {
    const itemOf = (i: number, version: number) => ({
      external_id: `item ${i}`,
      vector: [i, 1, version % 7],
      metadata: { group: i % 2, version },
      text: `text ${version}`,
    });

    /** `beside`: what happens besides, once. */
    const run = async (seed: string, beside: (path: string) => Promise<void>): Promise<void> => {
      const random = seededRandom(runSeed(seed));
      const oneOf = <Thing>(things: readonly Thing[]): Thing => things[Math.floor(random() * things.length)];
      const path = `/v1/collections/${await context.collection({ shards: 2 })}`;
      const { api } = context;
      dataOf(await api.post(`${path}/bulk_upsert`, { items: Array.from({ length: ITEMS }, (_, i) => itemOf(i, 0)) }));
      let version = 0;
      const writes: (() => Promise<ApiAnswer>)[] = [
        () =>
          api.patch(`${path}/vectors/${encodeURIComponent(oneOf(HOT.slice(0, 2)))}`, {
            metadata: { version: (version += 1) },
          }),
        () => api.post(`${path}/upsert`, itemOf(oneOf([0, 1, 2, 3]), (version += 1))),
        () =>
          api.post(`${path}/bulk_upsert`, {
            items: Array.from({ length: ITEMS }, (_, i) => itemOf(i, (version += 1))),
          }),
        () => api.delete(`${path}/delete/${encodeURIComponent(GOING)}`),
        () => api.post(`${path}/update_by_filter`, { filters: { group: 1 }, set: { version: (version += 1) } }),
      ];
      const reads: (() => Promise<ApiAnswer>)[] = [
        () => api.get(`${path}/vectors/${encodeURIComponent(oneOf(HOT))}`),
        () => api.post(`${path}/vectors/fetch`, { ids: HOT }),
        () =>
          api.post(`${path}/scroll`, {
            limit: 1 + Math.floor(random() * ITEMS),
            ...(random() < 0.5 && { filters: { group: 1 } }),
          }),
        () => api.get(`${path}/export?limit=1000`),
        () =>
          api.post(`${path}/search`, {
            vector: [1, 1, random()],
            k: 5,
            ...(random() < 0.5 && { filters: { group: 1 } }),
          }),
        () => api.post(`${path}/hybrid_search`, { query_text: 'text', vector: [1, 1, random()], k: 5 }),
        () => api.post('/v1/query', { collection_name: path.slice(path.lastIndexOf('/') + 1), query: 'text', k: 5 }),
      ];
      const failed: unknown[] = [];
      let isOver = false;
      const note = ({ json, text }: ApiAnswer, mayBeGone: boolean): void => {
        const isGone = json?.error?.code === 404 && json.error.message.startsWith(`vector "${GOING}"`);
        if (json?.status !== 'success' && !(mayBeGone && isGone)) failed.push(json?.error ?? text);
      };
      const writers = writes.map(async (write) => {
        while (!isOver) note(await write(), true);
      });
      let isHappening = true;
      const happening = beside(path).finally(() => (isHappening = false));
      const readers = reads.map(async (read) => {
        for (let left = READS; left > 0 || isHappening; left -= 1) note(await read(), read === reads[0]);
      });
      await Promise.all([...readers, happening]).finally(() => (isOver = true));
      await Promise.all(writers);
      expect(failed).toEqual([]);
    };

    test('no read fails beside patches, upserts, deletes and updates by filter', () =>
      run('reads beside writes', async () => undefined));

    test('no read fails beside writes while files are rewritten, and while the number of shards changes', () =>
      run('reads beside a reshard', async (path) => {
        // A service without files has none to rewrite.
        await context.api.post(`${path}/purge`);
        dataOf(await context.api.post(`${path}/reshard`, { shards: 3 }));
        await eventually('there are 3 shards', async () => dataOf(await context.api.get(path)).shards === 3);
      }));
  });
}
