import { createRequire } from 'node:module';
import { BLOCK_CACHE_BYTES, PAGE_ENTRIES, WRITE_BUFFER_BYTES } from '../settings.mjs';

const require = createRequire(import.meta.url);
const BUFFERS = { keyEncoding: 'buffer', valueEncoding: 'buffer' };
/** Its only way to size a memtable: with compaction "level", a quarter of this budget is one. */
const MEMTABLES_IN_BUDGET = 4;

/**
 * `@nxtedition/rocksdb` (RocksDB 9.7.4), on abstract-level 1. Its log is written plain: compressed, older versions
 * can't read it.
 */
export async function open(location, { writeBufferBytes = WRITE_BUFFER_BYTES } = {}) {
  const { RocksLevel } = require('@nxtedition/rocksdb');
  const database = new RocksLevel(location, {
    ...BUFFERS,
    createIfMissing: true,
    cacheSize: BLOCK_CACHE_BYTES,
    compaction: 'level',
    memtableMemoryBudget: MEMTABLES_IN_BUDGET * writeBufferBytes,
    walCompression: false,
  });
  await database.open();
  return {
    write: (entries) =>
      database.batch(
        entries.map(({ key, value }) => ({ type: 'put', key, value })),
        { sync: true },
      ),
    getMany: (keys) => database.getMany(keys),
    async *scan() {
      const iterator = database.iterator(BUFFERS);
      try {
        for (
          let page = await iterator.nextv(PAGE_ENTRIES);
          page.length > 0;
          page = await iterator.nextv(PAGE_ENTRIES)
        ) {
          yield page.map(([key, value]) => ({ key, value }));
        }
      } finally {
        await iterator.close();
      }
    },
    close: () => database.close(),
    /** What another thread opens in place of a folder. */
    handle: () => database.handle,
  };
}
