import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatOf } from '../../cli/formats/open-source';
import { OVERSIZED_FILES } from '../fuzz/imports/oversized-files';

/**
 * Files of very many parts: what is refused, and with which words, in a process of little memory, which one that is
 * believed would end.
 */

const folder = mkdtempSync(join(tmpdir(), 'quiver-oversized-'));
let reader: ChildProcess;

beforeAll(() => {
  reader = fork(join(__dirname, '..', 'fuzz', 'imports', 'reader-process.cjs'), {
    execArgv: ['--max-old-space-size=320'],
  });
});

afterAll(() => {
  reader.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

async function answerOf(
  name: string,
  parts: number,
  wanted?: string[],
): Promise<{ rows: number; message: string | null; unexpected: string | null; peakMiB: number }> {
  const path = join(folder, name);
  writeFileSync(path, OVERSIZED_FILES[name](parts));
  const ended = once(reader, 'exit').then(() => Promise.reject(new Error(`reading ${name} ended the process`)));
  ended.catch(() => undefined);
  const answer = once(reader, 'message');
  reader.send({ path, format: formatOf(name), wanted });
  const [found] = await Promise.race([answer, ended]);
  return found;
}

test.each([
  ['columns.parquet', 250_000, 'its schema has 250001 elements; at most 200000 are read'],
  ['row-groups.parquet', 200_000, 'too many columns, row groups or other parts'],
  ['chunks.parquet', 400_000, 'too many columns, row groups or other parts'],
  ['structures.parquet', 4_000_000, 'too many columns, row groups or other parts'],
  ['texts.parquet', 4_000_000, 'too many columns, row groups or other parts'],
  ['depth.parquet', 9_000, 'nested too deep'],
  ['names.parquet', 700_000, 'at most 67108864 are read'],
  ['pages.parquet', 1_000_000, 'has pages of more than 256 MiB side by side in its columns'],
  ['rows.parquet', 3_000_000, 'it has rows, but no column'],
  ['deltas.arrow', 1_100_000, 'a dictionary comes in more than 10000 pieces'],
  ['buffers.arrow', 1_100_000, 'it has too many parts'],
  ['nodes.arrow', 1_100_000, 'it has too many parts'],
  ['columns.arrow', 400_000, 'it has too many parts'],
  ['buffers.arrow', 4_500_000, 'a message has a head of'],
  ['shared-batch.arrow', 200_000, 'its batches would have more bytes than it has'],
])('%s of %d is refused, and the reason is told', async (name, parts, reason) => {
  expect(await answerOf(name, parts)).toMatchObject({ message: expect.stringContaining(reason), unexpected: null });
});

const WITH_ROWS = ['shared-batch.arrow', 'pages.parquet', 'rows.parquet', 'rows-beyond.parquet', 'deltas.arrow'];
test.each(Object.keys(OVERSIZED_FILES).filter((name) => !WITH_ROWS.includes(name)))(
  '%s of 40 is read',
  async (name) => {
    expect(await answerOf(name, 40)).toMatchObject({ rows: 0, message: null });
  },
);

test.each(['columns.parquet', 'columns-and-chunks.parquet', 'columns.arrow'])('%s of 60,000 is read', async (name) => {
  expect(await answerOf(name, 60_000)).toMatchObject({ rows: 0, message: null });
});

test('columns with large pages are read, and a dictionary in many pieces', async () => {
  expect(await answerOf('pages.parquet', 2_000)).toMatchObject({ rows: 200_000, message: null });
  expect(await answerOf('deltas.arrow', 999_000)).toMatchObject({ rows: 3, message: null });
});

test('where no column is read, there are as many rows as a column has', async () => {
  expect(await answerOf('pages.parquet', 40, [])).toMatchObject({ rows: 200_000, message: null });
  expect(await answerOf('rows-beyond.parquet', 3_000_000, [])).toMatchObject({
    rows: 0,
    message: 'a column has fewer rows than its row group says',
  });
});

test('none of them took more than 512 MiB', async () => {
  expect((await answerOf('columns.parquet', 1)).peakMiB).toBeLessThan(512);
});
