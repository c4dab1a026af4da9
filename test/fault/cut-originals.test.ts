import { readdirSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { EmbeddedProcess, type Envelope } from '../support/processes/embedded-process';
import { eventually } from '../support/eventually';

/** A file of vectors that is cut short under the running service: it makes the index again from the records. */

const DIM = 64;
const ITEMS = 2000;

let server: EmbeddedProcess;

beforeAll(async () => {
  server = new EmbeddedProcess();
  await server.start();
});

afterAll(() => server.destroy());

/** The vector of an item: its number in one place and noise elsewhere, the same at each run. */
const vectorOf = (i: number): number[] =>
  Array.from({ length: DIM }, (_, j) => Math.fround(Math.sin(i * 13.7 + j * j * 0.37 + j)));

const search = (i: number): Promise<Envelope> =>
  server.call('POST', '/v1/collections/c/search', { vector: vectorOf(i), k: 1 });
const idOf = ({ data }: Envelope): string => data.results[0].external_id;

function cutOriginals(bytes: number): void {
  const shards = join(server.dataDir, 'node', 'shards');
  for (const uid of readdirSync(shards)) {
    const vectors = join(shards, uid, '0', 'vectors');
    for (const name of readdirSync(vectors)) if (name.endsWith('.f32')) cutUnlessGone(join(vectors, name), bytes);
  }
}

/** One that was made again may be on its way out. */
function cutUnlessGone(path: string, bytes: number): void {
  try {
    truncateSync(path, bytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

test('searches fail as such or are right, and are right again soon; nothing is lost, and the process goes on', async () => {
  const { pid } = server;
  await server.data('POST', '/v1/collections', { name: 'c', dim: DIM });
  for (let first = 0; first < ITEMS; first += 500) {
    await server.data('POST', '/v1/collections/c/bulk_upsert', {
      items: Array.from({ length: 500 }, (_, i) => ({ external_id: `i${first + i}`, vector: vectorOf(first + i) })),
    });
  }
  for (const bytes of [0, 100_000, 4 * DIM * (ITEMS - 1)]) {
    cutOriginals(bytes);
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => search(i * 100 + 99)));
    for (const [i, answer] of answers.entries()) {
      if (answer.status === 'success') expect(idOf(answer)).toBe(`i${i * 100 + 99}`);
      else
        expect(answer.error).toMatchObject({
          code: 500,
          message: expect.stringMatching(/damaged on the disk; it is made anew|may be retried/),
        });
    }
    await eventually('searches are right again', async () => {
      const answer = await search(1999);
      return answer.status === 'success' && idOf(answer) === 'i1999';
    });
    for (const i of [0, 1, 777, 1500, 1998]) expect(idOf(await search(i))).toBe(`i${i}`);
    expect((await server.data('GET', '/v1/collections/c')).vector_count).toBe(ITEMS);
  }
  // A write is what meets it first.
  cutOriginals(0);
  await eventually(
    'a write goes through',
    async () =>
      (await server.call('POST', '/v1/collections/c/upsert', { external_id: 'new', vector: vectorOf(5000) })).status ===
      'success',
  );
  await eventually('it is found', async () => {
    const answer = await search(5000);
    return answer.status === 'success' && idOf(answer) === 'new';
  });
  expect(idOf(await search(42))).toBe('i42');
  expect(server.pid).toBe(pid);
  await eventually('it is told', () => server.output.includes('is opened anew'));
});
