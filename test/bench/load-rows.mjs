import { BULK_ITEMS } from './bulk-bodies.mjs';
import { HttpConnection, requestHead } from './http-connection.mjs';
import { ProgressBar } from './progress-bar.mjs';

const LOAD_CONNECTIONS = 4;

/** Loads all rows of a dataset through HTTP, each with the metadata that `metadataOf(row)` answers. */
export async function loadRows(target, { rows, dim, count }, metadataOf) {
  const bar = new ProgressBar({ label: 'loading', total: count, unit: 'rows' });
  let next = 0;
  const bodyFrom = (from) => {
    const items = Array.from({ length: Math.min(BULK_ITEMS, count - from) }, (_, i) => ({
      external_id: String(from + i),
      vector: Buffer.from(rows.slice((from + i) * dim, (from + i + 1) * dim).buffer).toString('base64'),
      metadata: metadataOf(from + i),
    }));
    return JSON.stringify({ items });
  };
  await Promise.all(
    Array.from({ length: LOAD_CONNECTIONS }, async () => {
      const connection = await HttpConnection.open(target.address);
      while (next < count) {
        const from = next;
        next += BULK_ITEMS;
        const body = bodyFrom(from);
        const head = requestHead({
          method: 'POST',
          path: target.bulkPath,
          headers: target.headers,
          ...target.address,
          bodyBytes: Buffer.byteLength(body),
        });
        target.checkBulkAnswer(JSON.parse(await connection.send(head, body)), Math.min(BULK_ITEMS, count - from));
        bar.report(Math.min(count, next));
      }
      connection.close();
    }),
  );
  bar.finish();
}
