import { createRequire } from 'node:module';
import { PAGE_ENTRIES } from '../settings.mjs';

const require = createRequire(import.meta.url);

/**
 * `lmdb`: a B+ tree in a mapped file, another engine. It has neither a log nor a cache of its own; reads run on the
 * caller's thread.
 */
export async function open(folder) {
  const { open: openDatabase } = require('lmdb');
  const database = openDatabase({ path: folder, noSubdir: false, encoding: 'binary', keyEncoding: 'binary' });
  return {
    write: async (entries) => {
      await database.batch(() => {
        for (const { key, value } of entries) void database.put(key, value);
      });
      await database.flushed;
    },
    getMany: (keys) => database.getMany(keys),
    async *scan() {
      let page = [];
      for (const entry of database.getRange({})) {
        page.push(entry);
        if (page.length < PAGE_ENTRIES) continue;
        yield page;
        page = [];
      }
      if (page.length > 0) yield page;
    },
    close: () => database.close(),
  };
}
