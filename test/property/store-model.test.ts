import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RocksKeyValueStore } from '../../node/engine/kv/rocks-key-value-store';
import { StoreBudget } from '../../node/engine/kv/store-budget';
import { runSeed, seededRandom } from '../support/values/random';

/**
 * Random writes, clears, gets and scans against a plain Map, with a restart after every sixty. The cache and the write
 * buffers are so small that tables are made, merged and read from the disk all the time.
 */

const ROUNDS = Number(process.env.ROUNDS ?? 25);
const KEYS = 5000;
const keyOf = (i: number): Buffer => Buffer.from(`k${String(i).padStart(6, '0')}`);

test('a store holds what a map holds, over restarts', async () => {
  const random = seededRandom(runSeed('store model'));
  const below = (n: number): number => Math.floor(random() * n);
  const folder = mkdtempSync(join(tmpdir(), 'quiver-store-model-'));
  const budget = new StoreBudget({ cacheBytes: 65_536, writeBufferBytes: 1_048_576 });
  const model = new Map<number, Buffer>();

  const write = (store: RocksKeyValueStore): Promise<void> => {
    const changes = Array.from({ length: 1 + below(60) }, () => {
      const i = below(KEYS);
      if (random() < 0.25) {
        model.delete(i);
        return { type: 'delete' as const, key: keyOf(i) };
      }
      const value = Buffer.alloc(random() < 0.1 ? 0 : below(4000), below(256));
      model.set(i, value);
      return { type: 'put' as const, key: keyOf(i), value };
    });
    return store.write(changes, { sync: random() < 0.5 });
  };
  const clear = async (store: RocksKeyValueStore): Promise<void> => {
    const from = below(KEYS);
    const to = from + below(50);
    await store.clear({ from: keyOf(from), to: keyOf(to) });
    for (let i = from; i < to; i++) model.delete(i);
  };
  const compare = async (store: RocksKeyValueStore): Promise<void> => {
    const asked = Array.from({ length: 1 + below(random() < 0.5 ? 32 : 200) }, () => below(KEYS));
    const values = await store.getMany(asked.map(keyOf));
    const different = asked.filter((i, place) => !isSame(model.get(i), values[place]));
    expect(different).toEqual([]);
  };

  try {
    for (let round = 0; round < ROUNDS; round++) {
      const store = await RocksKeyValueStore.open(folder, budget);
      for (let step = 0; step < 60; step++) {
        const chance = random();
        await (chance < 0.5 ? write(store) : chance < 0.6 ? clear(store) : compare(store));
      }
      const found = new Map<number, Buffer>();
      for await (const page of store.scan({ from: Buffer.from('k'), to: Buffer.from('l') })) {
        for (const { key, value } of page) found.set(Number(key.toString('latin1', 1)), value);
      }
      expect([...found.keys()]).toEqual([...model.keys()].sort((a, b) => a - b));
      expect([...found].filter(([i, value]) => !isSame(model.get(i), value))).toEqual([]);
      await store.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

function isSame(one: Buffer | undefined, other: Buffer | undefined): boolean {
  return one === undefined || other === undefined ? one === other : one.equals(other);
}
