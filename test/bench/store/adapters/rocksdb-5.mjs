import { createRequire } from 'node:module';
import { BLOCK_CACHE_BYTES, FILE_BYTES, PAGE_ENTRIES, WRITE_BUFFER_BYTES } from '../settings.mjs';

const require = createRequire(import.meta.url);

/** npm `rocksdb` 5.2.1 (RocksDB 6.17.3): callbacks of abstract-leveldown, one entry a call from an iterator. */
export async function open(folder, { writeBufferBytes = WRITE_BUFFER_BYTES } = {}) {
  const database = require('rocksdb')(folder);
  const call = (start) => new Promise((done, fail) => start((error, result) => (error ? fail(error) : done(result))));
  const options = {
    createIfMissing: true,
    writeBufferSize: writeBufferBytes,
    maxFileSize: FILE_BYTES,
    cacheSize: BLOCK_CACHE_BYTES,
    compression: true,
  };
  await call((done) => database.open(options, done));
  return {
    write: (entries) =>
      call((done) =>
        database.batch(
          entries.map(({ key, value }) => ({ type: 'put', key, value })),
          { sync: true },
          done,
        ),
      ),
    getMany: (keys) => call((done) => database.getMany(keys, { asBuffer: true }, done)),
    async *scan() {
      const iterator = database.iterator({ keyAsBuffer: true, valueAsBuffer: true, highWaterMark: 256 * 1024 });
      const readPage = () =>
        new Promise((done, fail) => {
          const page = [];
          const step = () =>
            iterator.next((error, key, value) => {
              if (error) return fail(error);
              if (key === undefined) return done(page);
              page.push({ key, value });
              if (page.length >= PAGE_ENTRIES) done(page);
              else step();
            });
          step();
        });
      try {
        for (let page = await readPage(); page.length > 0; page = await readPage()) yield page;
      } finally {
        await call((done) => iterator.end(done));
      }
    },
    close: () => call((done) => database.close(done)),
  };
}
