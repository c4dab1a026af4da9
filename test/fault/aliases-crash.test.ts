import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';
import { runSeed, seededRandom } from '../support/values/random';

/** A real process is killed with SIGKILL while aliases change, and asked after each start for what it acknowledged. */

const CYCLES = 5;
const COLLECTIONS = 3;
const ALIASES = ['p', 'q', 'r', 's'];

/** What each alias stands for; null: it is not there. */
type Table = Record<string, string | null>;

test('kill -9 while aliases change loses no answered change, and leaves none half done', async () => {
  const random = seededRandom(runSeed('aliases-crash'));
  const below = (count: number): number => Math.floor(random() * count);
  const server = new EmbeddedProcess({ environment: { HTTP_THREADS: '2' } });
  let table: Table = Object.fromEntries(ALIASES.map((alias) => [alias, null]));
  let answered = 0;
  try {
    await server.start();
    for (let i = 0; i < COLLECTIONS; i += 1) {
      await server.data('POST', '/v1/collections', { name: `c${i}`, dim: 2 });
      await server.data('POST', `/v1/collections/c${i}/upsert`, { external_id: `of c${i}`, vector: [1, 2] });
    }
    const found = async (name: string): Promise<string | null> => {
      const { error, data } = await server.call('POST', `/v1/collections/${name}/search`, { vector: [1, 2], k: 1 });
      return error === null ? data.results[0].external_id.slice('of '.length) : null;
    };

    for (let cycle = 0; cycle < CYCLES; cycle += 1) {
      /** What the change under way makes of the table. */
      let next: Table | null = null;
      const changing = (async () => {
        for (;;) {
          // All aliases at once, so that one that is half done would show.
          const wanted: Table = Object.fromEntries(
            ALIASES.map((alias) => [alias, below(4) === 0 ? null : `c${below(COLLECTIONS)}`]),
          );
          const actions = ALIASES.flatMap((alias): object[] => {
            const [before, after] = [table[alias], wanted[alias]];
            if (after === null) return before === null ? [] : [{ delete: { alias } }];
            return [{ [before === null ? 'create' : 'switch']: { alias, collection: after } }];
          });
          if (actions.length === 0) continue;
          next = wanted;
          const answer = await server.call('POST', '/v1/aliases', { actions }).catch(() => null);
          if (answer === null) return;
          expect(answer.error).toBeNull();
          [table, next] = [wanted, null];
          answered += 1;
        }
      })();
      const enough = answered + 2 + below(30);
      await eventually('enough is answered', () => answered >= enough);
      await server.kill();
      await changing;
      await server.start();
      const { aliases } = await server.data('GET', '/v1/aliases');
      const kept: Table = Object.fromEntries(ALIASES.map((alias) => [alias, null]));
      for (const { alias, collection } of aliases) kept[alias] = collection;
      expect([table, ...(next === null ? [] : [next])]).toContainEqual(kept);
      table = kept;
      for (const alias of ALIASES) expect(await found(alias)).toBe(table[alias]);
      for (const alias of ALIASES.filter((one) => table[one] !== null))
        expect((await server.call('POST', '/v1/collections', { name: alias, dim: 2 })).error?.code).toBe(409);
    }
  } finally {
    await server.destroy();
  }
});
