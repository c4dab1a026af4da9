import { NodeLinks } from '../../coordinator/cluster/calls/node-links';
import { systemClock } from '../../shared/base/time/clock';
import type { Filter } from '../../shared/contract/filter/filter';
import { ANY_REPLICA } from '../../shared/contract/shard/shard-client';
import type { OrderPlace } from '../../shared/contract/shard/item-order';
import type { AnswerOf, ReadKind, RequestOf } from '../../shared/contract/shard/shard-read';
import { eventually } from '../support/eventually';
import { ClusterProcesses, SECRET } from '../support/processes/cluster-processes';

/** Orders, counts, samples and terms by each replica of a shard, beside a plain list of the items: one story. */

const ITEMS = 400;
const READ_MS = 20_000;
const SEED = 11;
const CHEAP: Filter = { type: 'range', path: 'price', operator: 'lt', bound: 50 };

interface Row {
  id: string;
  price: number | null;
  shelf: string;
}

let cluster: ClusterProcesses;

beforeAll(async () => {
  cluster = await ClusterProcesses.start({ nodes: 2, coordinators: 1, shards: 1, replicas: 2 });
});

afterAll(async () => cluster?.destroy());

test('each replica orders, counts and draws the same, after writes and after a change of primaries', async () => {
  await cluster.data('POST', '/v1/collections', { name: 'c', dim: 4 });
  const rows = new Map(Array.from({ length: ITEMS }, (_, i) => [`i-${i}`, rowOf(i, i)]));
  await put([...rows.values()]);
  await checkEach([...rows.values()]);

  for (let i = 0; i < ITEMS; i += 3) rows.set(`i-${i}`, rowOf(i, 7 * i + 1));
  await put([...rows.values()].filter((_, i) => i % 3 === 0));
  const gone = Array.from({ length: 8 }, (_, i) => `i-${50 * i + 1}`);
  await cluster.data('POST', '/v1/collections/c/delete_by_filter', { filters: { $id: gone } });
  for (const id of gone) rows.delete(id);
  await checkEach([...rows.values()]);

  const primary = await cluster.primaryOf('c');
  await primary.kill();
  await eventually('another leads', async () => ((await cluster.shardOf('c')).primary ?? primary.id) !== primary.id);
  rows.set('late', { id: 'late', price: 3, shelf: 'shelf 1' });
  await put([rows.get('late')!]);
  await primary.start();
  await cluster.settled();
  await cluster.inSync();
  await checkEach([...rows.values()]);
});

/** Ties, and items that have no price. */
function rowOf(i: number, made: number): Row {
  return { id: `i-${i}`, price: made % 11 === 0 ? null : made % 90, shelf: `shelf ${made % 7}` };
}

async function put(rows: Row[]): Promise<void> {
  const items = rows.map(({ id, price, shelf }, i) => ({
    external_id: id,
    vector: [1, i, 2, 3],
    text: `word${shelf.slice(-1)}`,
    metadata: { shelf, ...(price === null ? {} : { price }) },
  }));
  await cluster.data('POST', '/v1/collections/c/bulk_upsert', { items });
}

async function checkEach(rows: Row[]): Promise<void> {
  const links = new NodeLinks({ credentials: { secret: SECRET, tls: null }, clock: systemClock });
  const collectionUid = await cluster.uidOf('c');
  const keys = [{ field: 'price', descending: true, missingFirst: false }];
  const ordered = [...rows].sort(
    (a, b) => (b.price ?? -1) - (a.price ?? -1) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0),
  );
  const shelves = [...new Set(rows.map(({ shelf }) => shelf))].sort();
  try {
    for (const { id: node, port } of cluster.nodes) {
      /** A follower answers once its primary has given it a share. */
      const read = async <Kind extends ReadKind>(kind: Kind, request: RequestOf<Kind>): Promise<AnswerOf<Kind>> => {
        let answer: AnswerOf<Kind> | undefined;
        await eventually(`${node} answers ${kind}`, async () => {
          const deadlineMs = systemClock.monotonicMs() + READ_MS;
          const to = { id: { collectionUid, shard: 0 }, epoch: ANY_REPLICA, deadlineMs };
          answer = await links
            .to(`127.0.0.1:${port}`)
            .read(to, kind, request)
            .answer.catch(() => undefined);
          return answer !== undefined;
        });
        return answer!;
      };
      const seen: string[] = [];
      for (let after: OrderPlace | null = null, more = true; more;) {
        const page: AnswerOf<'order'> = await read('order', { keys, filter: null, after, limit: 97 });
        seen.push(...page.places.map(({ externalId }) => externalId));
        ({ more } = page);
        after = page.places.at(-1) ?? null;
      }
      expect(seen).toEqual(ordered.map(({ id }) => id));
      const cheap = rows.filter(({ price }) => price !== null && price < 50);
      expect(await read('matches', { filter: CHEAP })).toBe(cheap.length);
      const [[[values], [numbers]]] = await read('aggregate', {
        questions: [
          {
            filter: CHEAP,
            externalIds: null,
            parts: [
              { type: 'values', path: 'shelf', order: 'value', limit: 100, prefix: null, share: null },
              { type: 'numbers', path: 'price', sum: false },
            ],
          },
        ],
      });
      expect(values).toMatchObject({
        values: shelves,
        counts: shelves.map((shelf) => cheap.filter((row) => row.shelf === shelf).length),
      });
      const prices = cheap.map(({ price }) => price ?? 0);
      expect(numbers).toMatchObject({ count: cheap.length, min: Math.min(...prices), max: Math.max(...prices) });
      const { externalIds } = await read('sample', { size: ITEMS, seed: SEED, filter: CHEAP });
      expect([...externalIds].sort()).toEqual(cheap.map(({ id }) => id).sort());
      const expansions = await read('keywordExpansions', { term: 'word', by: 'prefix', after: '', limit: 100 });
      expect(expansions).toEqual({
        terms: shelves.map((shelf) => `word${shelf.slice(-1)}`),
        frequencies: shelves.map((shelf) => rows.filter((row) => row.shelf === shelf).length),
      });
    }
  } finally {
    links.close();
  }
}
