import { EmbeddedProcess } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';
import { filesWith } from '../support/shards/files-below';
import { runSeed, seededRandom } from '../support/values/random';

/**
 * After a purge nothing in the data folder of a process names what was deleted, whatever remembers how it was written.
 */

const random = seededRandom(runSeed('purged files'));
/** One that no compression shortens to something else. */
const word = (): string =>
  Array.from({ length: 24 }, () => 'abcdefghijklmnopqrstuvwxyz'[Math.floor(random() * 26)]).join('');

const embedded = new EmbeddedProcess({ environment: { MAX_METADATA_BYTES: '300' } });
beforeAll(() => embedded.start());
afterAll(() => embedded.destroy());

/** The files that have one of the words in one of the ways in which strings are stored. */
function filesNaming(words: readonly string[]): string[] {
  const needles = words.flatMap((one) => [
    Buffer.from(one),
    Buffer.from(one, 'utf16le'),
    Buffer.from(one, 'utf16le').swap16(),
  ]);
  return filesWith(embedded.dataDir, needles);
}

/** The sum of a metric of the process. */
async function shown(name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${embedded.opsPort}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
}

test('marks of Idempotency-Keys name nothing that a purge has removed, and still answer', async () => {
  const once = (key: string, method: string, path: string, body?: unknown) =>
    embedded.call(method, `/v1/collections/things/${path}`, body, { 'idempotency-key': key });
  const itemOf = (external_id: string, metadata: object = {}) => ({
    external_id,
    vector: [1, 2],
    metadata: { kind: 'a', ...metadata },
    content: `text ${word()}`,
  });
  const [plain, bound, large, deleted, note, field] = Array.from({ length: 6 }, word);
  await embedded.data('POST', '/v1/collections', { name: 'things', dim: 2, shards: 2 });
  await once('one', 'POST', 'upsert', itemOf(plain));
  await embedded.data('POST', '/v1/collections/things/bulk_upsert', {
    items: [itemOf(bound), itemOf(large, { note: 'x'.repeat(200) }), itemOf(deleted), itemOf('kept')],
  });
  // A refusal that names items, and a write in steps that names where it is and what it could not change.
  const conflict = (): Promise<unknown> =>
    once('two', 'POST', 'bulk_upsert', {
      items: [
        { ...itemOf('new'), content: 'a' },
        { ...itemOf(bound), content: 'b', only_if: 'absent' },
      ],
    });
  const refused = await conflict();
  expect(JSON.stringify(refused)).toContain(bound);
  const update = (): Promise<unknown> =>
    once('three', 'POST', 'update_by_filter', { filters: { kind: 'a' }, set: { note } });
  const steps = async (): Promise<unknown> =>
    once('four', 'POST', 'update_by_filter', { filters: { kind: 'a' }, set: { padding: 'z'.repeat(100) } });
  const excess = await steps();
  expect(JSON.stringify(excess)).toContain(large);
  expect(await update()).toMatchObject({ status: 'success' });
  await embedded.data('POST', '/v1/collections/things/upsert', itemOf('other', { [field]: 1 }));
  expect(await once('five', 'POST', 'delete_by_filter', { filters: { kind: 'a' } })).toMatchObject({
    status: 'success',
  });
  await embedded.data('POST', '/v1/collections/things/upsert', itemOf('later'));
  const gone = [plain, bound, large, deleted, note, field];
  expect(filesNaming(gone)).not.toEqual([]);

  await embedded.data('POST', '/v1/collections/things/purge');
  await eventually(
    'the purge is over',
    async () => (await embedded.data('GET', '/v1/collections/things/purge')).state !== 'running',
  );
  expect(await embedded.data('GET', '/v1/collections/things/purge')).toMatchObject({ state: 'done' });
  expect(filesNaming(gone)).toEqual([]);
  // Who has the request is answered as the first time, also by the next process.
  expect(await conflict()).toMatchObject({ error: (refused as { error: object }).error });
  expect(await steps()).toMatchObject({ error: (excess as { error: object }).error });
  // Two shards have one of each write by filter, one has that of the item, one the refusal.
  const marks = await shown('quiver_replica_idempotency_marks');
  expect([marks, (await shown('quiver_replica_idempotency_mark_bytes')) > marks * 130]).toEqual([3 * 2 + 1 + 1, true]);
  await eventually(
    'both repetitions are counted',
    async () => (await shown('quiver_idempotent_repetitions_total')) === 2,
  );
  await embedded.stop();
  await embedded.start();
  expect(await steps()).toMatchObject({ error: (excess as { error: object }).error });
});
