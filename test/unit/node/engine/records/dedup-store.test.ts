import { MemoryKeyValueStore } from '../../../../support/models/memory-key-value-store';
import { DedupStore } from '../../../../../node/engine/records/dedup-store';
import { DedupTable } from '../../../../../node/engine/shard/writing/dedup-table';

/** What a shard reads of its marks while others are written. */

const BOUNDS = { nowMs: 0, bytesMax: Infinity };

let store: MemoryKeyValueStore;
let marks: DedupStore;

beforeEach(() => {
  store = new MemoryKeyValueStore();
  marks = new DedupStore(store);
});

const tokenOf = (n: number): string => n.toString(16).padStart(32, '0');

/** One batch with the marks of these tokens, in this order: each gets the next number. */
async function put(...tokens: number[]): Promise<void> {
  const operations = tokens.map((n) => ({ token: tokenOf(n) }));
  const table = await DedupTable.read(marks, await marks.usage(), operations);
  for (const { token } of operations)
    table.put(
      { token, digest: 'd'.repeat(32), expiresAtMs: 1, entries: [], verdict: null, progress: null, earlier: [] },
      BOUNDS,
    );
  await store.write(table.changes());
}

/** Writes between the look at the order of the marks and that at the marks themselves, once. */
function writeMeanwhile(write: () => Promise<void>): void {
  const getMany = store.getMany.bind(store);
  store.getMany = async (keys) => {
    store.getMany = getMany;
    await write();
    return getMany(keys);
  };
}

/** As whoever takes all marks over reads them. */
async function readAll(limit: number): Promise<string[]> {
  const tokens: string[] = [];
  for (let last = 0; ;) {
    const page = await marks.after(last, limit);
    if (page.length === 0) return tokens;
    tokens.push(...page.map(({ token }) => token));
    last = page[page.length - 1].sequence;
  }
}

test('a mark that is written again while a page is read hides none of those between its old place and its new one', async () => {
  await put(1, 2, 3, 4, 5);
  writeMeanwhile(() => put(2));
  expect(await readAll(3)).toEqual([1, 3, 4, 5, 2].map(tokenOf));
});

test('nor those that are written before it in the same batch', async () => {
  await put(1, 2, 3);
  writeMeanwhile(() => put(4, 5, 3));
  expect(await readAll(100)).toEqual([1, 2, 4, 5, 3].map(tokenOf));
});
