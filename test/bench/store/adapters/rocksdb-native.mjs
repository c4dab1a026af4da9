import { createRequire } from 'node:module';
import { PAGE_ENTRIES, WRITE_BUFFER_BYTES } from '../settings.mjs';

const fromHere = createRequire(import.meta.url);

/**
 * `rocksdb-native` (RocksDB 10.5.1). It can't sync its log: the only way to make a batch durable is to write the
 * memtable out as a table, which is what `write` does here.
 */
export async function open(folder, { writeBufferBytes = WRITE_BUFFER_BYTES } = {}) {
  const RocksDB = fromHere('rocksdb-native');
  const database = new RocksDB(folder, { writeBufferSize: writeBufferBytes });
  await database.ready();
  const write = async (entries) => {
    const batch = database.write({ capacity: entries.length, autoDestroy: true });
    for (const { key, value } of entries) batch.tryPut(key, value);
    await batch.flush();
  };
  return {
    write: async (entries) => {
      await write(entries);
      await database.flush();
    },
    writeUnsynced: write,
    getMany: (keys) => {
      const batch = database.read({ capacity: keys.length, autoDestroy: true });
      const values = Promise.all(keys.map((key) => batch.get(key)));
      batch.tryFlush();
      return values;
    },
    async *scan() {
      for await (const entry of database.iterator({}, { capacity: PAGE_ENTRIES })) yield [entry];
    },
    close: () => database.close(),
  };
}
