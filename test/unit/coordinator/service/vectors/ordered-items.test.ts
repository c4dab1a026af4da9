import { type AnswerHold, NO_HOLD } from '../../../../../coordinator/service/answer-hold';
import { isDeep } from '../../../../../coordinator/service/routing/deep-reads';
import { OrderedItems } from '../../../../../coordinator/service/vectors/ordered-items';
import type { StoredItem } from '../../../../../shared/contract/shard/shard-read';

const COLLECTION = { name: 'c', uid: 'c', identity: 'c', shards: 8, dim: 2 };
const WANTED = { vectors: false };
const IDS = Array.from({ length: 100 }, (_, i) => `id-${i}`);
const KIB = 1024;
/** What all shards together answer with at once. */
const ROUND_BYTES = 512 * KIB;

/** Shards whose items have texts of so many characters, and what they answered in each round. */
function shardsOf(textCharacters: () => number) {
  const rounds: number[] = [];
  const costs: number[] = [];
  const parts = {
    shards: {
      read: async (
        _id: unknown,
        _kind: unknown,
        { externalIds, bytesMax }: { externalIds: string[]; bytesMax: number },
      ) => {
        const items: (StoredItem | null)[] = [];
        let bytes = 0;
        for (const externalId of externalIds) {
          if (bytes >= bytesMax) break;
          if (externalId.startsWith('absent')) {
            items.push(null);
            continue;
          }
          items.push({ externalId, stamp: 1, metadata: '{}', text: 't'.repeat(textCharacters()) });
          bytes += textCharacters();
        }
        rounds[rounds.length - 1] += bytes;
        return items;
      },
    },
    scatter: {
      read: (_collection: unknown, shards: number[], _call: unknown, ask: (id: unknown, i: number) => unknown) =>
        Promise.all(shards.map((shard, i) => ask({ shard }, i))),
    },
    sets: {
      inOne: (collection: unknown, _call: unknown, ask: (current: unknown) => unknown) => {
        rounds.push(0);
        return ask(collection);
      },
    },
    deep: {
      run: (hits: number, _call: unknown, read: () => unknown) => {
        costs.push(hits);
        return read();
      },
    },
  };
  return { items: new OrderedItems<typeof COLLECTION>(parts as never), rounds, costs };
}

/** What a read reserved at most, and the ids that it gave. */
async function read(
  items: OrderedItems<typeof COLLECTION>,
  ids: readonly string[],
): Promise<{ reserved: number[]; given: string[] }> {
  const reserved: number[] = [];
  const hold: AnswerHold = { ...NO_HOLD, itemBytesMax: () => 320 * KIB, reserve: (bytes) => void reserved.push(bytes) };
  const given: string[] = [];
  for await (const page of items.read(COLLECTION, ids, WANTED, { begin: () => ({ deadlineMs: Infinity }), hold }))
    given.push(...page.map((item) => item!.externalId));
  return { reserved, given };
}

test('where items are long, few shards are asked at once, and no more is reserved than these may answer', async () => {
  const { items, rounds } = shardsOf(() => 256 * KIB);
  expect((await read(items, IDS)).given).toEqual(IDS);
  rounds.length = 0;
  const { reserved, given } = await read(items, IDS);
  expect(given).toEqual(IDS);
  expect(Math.max(...rounds)).toBeLessThanOrEqual(2 * ROUND_BYTES);
  expect(reserved[0]).toBeLessThan(3 * 320 * KIB + ROUND_BYTES);
});

test('each part of what is long is a deep read, also before anybody knows it where many are under way', async () => {
  const { items, costs } = shardsOf(() => 256 * KIB);
  const reads = Array.from({ length: 9 }, () => read(items, IDS.slice(0, 1)));
  expect(costs.map(isDeep)).toEqual([...Array.from({ length: 8 }, () => false), true]);
  await Promise.all(reads);
  costs.length = 0;
  await read(items, IDS);
  expect(costs.filter((cost) => !isDeep(cost))).toEqual([]);
});

test('where items are short, all are asked for at once', async () => {
  const { items, rounds } = shardsOf(() => 100);
  await read(items, IDS);
  await read(items, IDS);
  expect(rounds).toHaveLength(2);
});

test('ids that are not there are asked for with few calls, also where items are long', async () => {
  const { items, rounds } = shardsOf(() => 256 * KIB);
  await read(items, IDS.slice(0, 10));
  rounds.length = 0;
  const absent = Array.from({ length: 100 }, (_, i) => `absent-${i}`);
  const found: unknown[] = [];
  for await (const page of items.read(COLLECTION, absent, WANTED, {
    begin: () => ({ deadlineMs: Infinity }),
    hold: NO_HOLD,
  }))
    found.push(...page);
  expect(found).toEqual(absent.map(() => null));
  expect(rounds.length).toBeLessThanOrEqual(4);
});

test('where short ones follow long ones, more are asked for with each round', async () => {
  let characters = 256 * KIB;
  const { items, rounds } = shardsOf(() => characters);
  await read(items, IDS.slice(0, 10));
  characters = 10;
  rounds.length = 0;
  const many = Array.from({ length: 3_000 }, (_, i) => `other-${i}`);
  expect((await read(items, many)).given).toEqual(many);
  expect(rounds.length).toBeLessThanOrEqual(6);
});
