import { createRequire } from 'node:module';
import { BLOCK_CACHE_BYTES, FILE_BYTES, PAGE_ENTRIES, WRITE_BUFFER_BYTES } from '../settings.mjs';

const require = createRequire(import.meta.url);
const BUFFERS = { keyEncoding: 'buffer', valueEncoding: 'buffer' };

/** `classic-level`: LevelDB 1.20, another engine; its folders are not RocksDB's. */
export async function open(folder, { writeBufferBytes = WRITE_BUFFER_BYTES } = {}) {
  const { ClassicLevel } = require('classic-level');
  const database = new ClassicLevel(folder, {
    ...BUFFERS,
    writeBufferSize: writeBufferBytes,
    cacheSize: BLOCK_CACHE_BYTES,
    maxFileSize: FILE_BYTES,
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
      const iterator = database.iterator({ ...BUFFERS, highWaterMarkBytes: 256 * 1024 });
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
  };
}
