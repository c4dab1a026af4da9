import { MemoryKeyValueStore } from '../models/memory-key-value-store';

/** What a store holds now, in another one, to be put back later. */
export async function copiedStore(store: MemoryKeyValueStore): Promise<MemoryKeyValueStore> {
  const copy = new MemoryKeyValueStore();
  const all = store.scan({ from: Buffer.alloc(0), to: Buffer.of(0xff), pageSize: 1000, values: true });
  for await (const page of all) await copy.write(page.map(({ key, value }) => ({ type: 'put', key, value })));
  return copy;
}
