import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(import.meta.url);

let budget;

/**
 * The product's own store, through the interface that the product uses, from the `dist` of a checkout. All stores of a
 * process share one budget of memory, as in the product; checkouts from before there was one have none.
 */
export async function open(folder, { dist }) {
  const rooms = ['node/engine', 'node', 'shared'].map((room) => join(dist, room, 'kv'));
  const folderOfStore = rooms.find((room) => existsSync(room)) ?? rooms[0];
  const { RocksKeyValueStore } = require(join(folderOfStore, 'rocks-key-value-store.js'));
  const budgetFile = join(folderOfStore, 'store-budget.js');
  if (existsSync(budgetFile)) budget ??= new (require(budgetFile).StoreBudget)();
  const store = await RocksKeyValueStore.open(folder, budget);
  const everything = { from: Buffer.from([0]), to: Buffer.alloc(32, 0xff) };
  return {
    write: (entries) =>
      store.write(
        entries.map(({ key, value }) => ({ type: 'put', key, value })),
        { sync: true },
      ),
    getMany: (keys) => store.getMany(keys),
    scan: () => store.scan(everything),
    close: () => store.close(),
    ...(typeof store.checkpoint === 'function' ? { checkpoint: (to) => store.checkpoint(to) } : {}),
  };
}
