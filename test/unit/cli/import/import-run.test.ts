import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CommandError } from '../../../../cli/command-error';
import type { CommandContext } from '../../../../cli/command-context';
import type { Connection } from '../../../../cli/connection/connection';
import { ServiceError } from '../../../../cli/connection/service-error';
import type { RecordSource } from '../../../../cli/formats/record-source';
import { ImportRun, type ImportState } from '../../../../cli/import/import-run';
import type { ListedChunk } from '../../../../cli/import/source-list';

const folder = mkdtempSync(join(tmpdir(), 'quiver-import-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SOURCE = { hasTextOnly: false } as RecordSource;
/** A row that is a text can't be read. */
type Row = { id: string; vector: number[] } | string;

/** Chunks of rows, numbered from 1, from where the state says on. */
async function* chunksFrom(state: ImportState, ...chunks: Row[][]): AsyncGenerator<ListedChunk> {
  const done = (state.mark.inner as number | null) ?? 0;
  let number = 0;
  for (const rows of chunks) {
    if (number < done) {
      number += rows.length;
      continue;
    }
    const numbered = rows.map((row) => ({ row, number: ++number }));
    const records = numbered.flatMap(({ row, number: own }) =>
      typeof row === 'string' ? [] : [{ fields: row, number: own }],
    );
    const unreadable = numbered.flatMap(({ row, number: own }) =>
      typeof row === 'string' ? [{ number: own, reason: row }] : [],
    );
    const mapping = { id: 'id', vector: 'vector', text: null, metadataObject: null, metadata: [] };
    const cursor = { file: 0, inner: number, mapping };
    yield {
      chunk: { records, unreadable, place: 'line', idPrefix: '', cursor: number, share: null },
      source: SOURCE,
      mapping,
      columns: ['id', 'vector'],
      file: { name: 'rows', number: 0 },
      cursor,
      share: null,
    };
  }
}

const newState = (): ImportState => ({
  mark: { file: 0, inner: null, mapping: null },
  rows: 0,
  rejected: 0,
  added: 0,
  failedFiles: 0,
  rejectBytes: 0,
});

/** A run into a service that refuses items of the id `refused`. */
function runOf(
  rejectPath: string,
  state: ImportState,
  rejectsMax: number,
  { batchItemsMax = 1, sent = [] as string[], said = [] as string[] } = {},
): ImportRun {
  const connection = {
    call: async (_method: string, _path: string, { body }: { body: Uint8Array }) => {
      const { items } = JSON.parse(Buffer.from(body).toString()) as { items: { external_id: string }[] };
      if (items.some(({ external_id }) => external_id === 'refused')) throw new ServiceError('it is refused', 400);
      sent.push(...items.map(({ external_id }) => external_id));
    },
  } as unknown as Connection;
  const context = { signal: new AbortController().signal } as CommandContext;
  const settings = {
    collection: 'c',
    dim: 2,
    lanes: 1,
    batchItemsMax,
    batchCharactersMax: 10_000,
    requestTimeoutMs: 1000,
    patienceMs: 1000,
    rejectsMax,
    idPrefix: '',
    guessTypes: true,
    numbers: new Set<string>(),
  };
  const progress = { report: () => undefined, say: () => undefined, stop: () => undefined };
  return new ImportRun(context, connection, state, settings, {
    resume: null,
    rejectPath,
    progress,
    say: (line) => void said.push(line),
  });
}

const listed = (path: string): string[] =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { place: string }).place);

const good = (id: string): Row => ({ id, vector: [1, 2] });
const { signal } = new AbortController();

describe('an import that gives up because of too many bad rows', () => {
  test.each<[string, Row]>([
    ['can not be read', 'not JSON'],
    ['is no item', { id: 'short', vector: [1] }],
    ['the service refuses', { id: 'refused', vector: [1, 2] }],
  ])('has listed one that %s', async (title, bad) => {
    const path = join(folder, `${title}.jsonl`);
    const state = newState();
    await expect(runOf(path, state, 0).run(chunksFrom(state, [good('a'), bad, good('b')]), signal)).rejects.toThrow(
      'more than 0 rows are bad',
    );
    expect(listed(path)).toEqual(['line 2']);
    // The next run reads it again.
    expect(state).toMatchObject({ rows: 0, rejected: 0, rejectBytes: 0 });
  });

  test('lists none of them twice when it goes on', async () => {
    const path = join(folder, 'twice.jsonl');
    const state = newState();
    const chunks = [
      [good('a'), 'bad'],
      [good('b'), 'bad', 'bad'],
    ];
    await expect(runOf(path, state, 1).run(chunksFrom(state, ...chunks), signal)).rejects.toThrow('more than 1 rows');
    expect(listed(path)).toEqual(['line 2', 'line 4', 'line 5']);
    expect(state).toMatchObject({ rows: 2, rejected: 1 });
    await runOf(path, state, 2).run(chunksFrom(state, ...chunks), signal);
    expect(listed(path)).toEqual(['line 2', 'line 4', 'line 5']);
    expect(state).toMatchObject({ rows: 5, rejected: 3 });
  });

  test('lists none that is stored when it goes on', async () => {
    const path = join(folder, 'stored.jsonl');
    const state = newState();
    await expect(runOf(path, state, 1).run(chunksFrom(state, ['bad'], ['bad']), signal)).rejects.toThrow(
      'more than 1 rows',
    );
    expect(listed(path)).toEqual(['line 1', 'line 2']);
    await runOf(path, state, 1).run(chunksFrom(state, ['bad'], [good('a')]), signal);
    expect(listed(path)).toEqual(['line 1']);
  });
});

test('an import that can read no further has stored what stands before that', async () => {
  const sent: string[] = [];
  const state = newState();
  async function* broken(): AsyncGenerator<ListedChunk> {
    yield* chunksFrom(state, [good('a'), good('b')]);
    throw new CommandError('it is cut off');
  }
  const run = runOf(join(folder, 'broken.jsonl'), state, 0, { batchItemsMax: 100, sent });
  await expect(run.run(broken(), signal)).rejects.toThrow('it is cut off');
  expect(sent).toEqual(['a', 'b']);
  expect(state).toMatchObject({ rows: 2, rejected: 0 });
});

test('texts of CSV that may have been meant as numbers are told, with what makes numbers of them', async () => {
  const said: string[] = [];
  const state = newState();
  const fields = { id: 'a', vector: '1,25', price: '9.99', version: '1.10', code: '007', weight: '1,5' };
  async function* rows(): AsyncGenerator<ListedChunk> {
    for await (const listed of chunksFrom(state, [good('a')])) {
      const records = [fields, { ...fields, price: '8.00', version: '2.0', code: '7' }].map((each, i) => ({
        fields: each,
        number: i + 1,
      }));
      const mapping = { ...listed.mapping!, metadata: null };
      yield {
        ...listed,
        source: { hasTextOnly: true } as RecordSource,
        mapping,
        columns: Object.keys(fields),
        chunk: { ...listed.chunk, records },
      };
    }
  }
  await runOf(join(folder, 'told.jsonl'), state, 0, { said }).run(rows(), signal);
  expect(said.slice(1)).toEqual([
    'values such as 1,25 in column "vector" are read as two numbers; --decimal , makes one of each',
    'values such as 0,5 in column "weight" stay texts; --decimal , makes numbers of them',
    'values such as 8.00 in column "price" stay texts beside numbers; --numbers price makes numbers of them',
  ]);
});
