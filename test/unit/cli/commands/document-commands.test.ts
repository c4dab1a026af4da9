import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../../../support/processes/command-run';
import { PlainDocuments } from '../../../support/servers/plain-documents';

/** What cli/commands/document-commands.ts takes and says. What it sends is tested with cli/documents. */

let folder: string;
let service: PlainDocuments;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-documents-'));
  service = await new PlainDocuments().start();
});
afterEach(async () => {
  await service.close();
  rmSync(folder, { recursive: true, force: true });
});

function file(...names: string[]): string {
  const path = join(folder, ...names);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, `The text of ${names.join(' ')}.`);
  return path;
}

const add = (...words: string[]) =>
  runCommand(['documents', 'add', ...words, '--into', service.name], {
    QUIVER_URL: service.url,
    QUIVER_API_KEY: 'x',
  });

test('two files that would be one document are refused before anything is sent', async () => {
  const { exitCode, messages } = await add(file('a', 'read.md'), file('b', 'read.md'));
  expect(exitCode).toBe(2);
  expect(messages).toContain('would be one document, "read.md"');
  expect(service.asked).toEqual([]);
  // A folder that has both tells them apart.
  expect((await add(folder)).exitCode).toBe(0);
  expect(service.sent.map((sent) => sent.document_key)).toEqual(['a/read.md', 'b/read.md']);
});

test('what is there with the same content and options is passed over, and what has others is not', async () => {
  const path = file('read.md');
  const options = ['--metadata', '{"team": "law"}', '--size', '200'];
  await add(path, ...options);
  expect(service.sent[0].fingerprint).toMatch(/^[0-9a-f]{64}\.[0-9a-f]{16}$/);
  expect((await add(path, ...options)).output).toBe('0 added, 1 unchanged, 0 failed\n');
  expect(service.sent).toHaveLength(1);
  for (const other of [
    [],
    ['--metadata', '{"team": "tax"}', '--size', '200'],
    ['--metadata', '{"team": "law"}', '--size', '300'],
    ['--metadata', '{"team": "law"}', '--size', '200', '--strategy', 'headings'],
    ['--metadata', '{"team": "law"}', '--size', '200', '--tokens'],
    ['--metadata', '{"team": "law"}', '--size', '200', '--tokens', '--again'],
  ])
    expect((await add(path, ...other)).output).toBe('1 added, 0 unchanged, 0 failed\n');
  writeFileSync(path, 'Another text.');
  expect((await add(path, ...options)).output).toContain('1 added');
  expect(new Set(service.sent.map((one) => one.fingerprint)).size).toBe(7);
});

test('failures are told by file, in JSON with all that became of the files', async () => {
  const paths = [file('a.md'), file('b.md'), file('c.md'), file('x.png')];
  service.mishap = (asked) => (asked === 'POST b.md' ? { code: 400, message: 'This is\u001b a workbook' } : undefined);
  const { exitCode, output, messages } = await add(folder);
  expect({ exitCode, output }).toEqual({
    exitCode: 3,
    output: '2 added, 0 unchanged, 1 failed, 1 hidden or of other types passed over\n',
  });
  expect(messages).toContain(`${paths[1]}: This is\\x1b a workbook\n`);
  const again = await add(folder, '--json');
  expect(again).toMatchObject({ exitCode: 3, messages: '' });
  expect(JSON.parse(again.output)).toEqual({
    added: 0,
    unchanged: 2,
    failed: [{ file: paths[1], error: 'This is\u001b a workbook' }],
    replaced: [],
    under_way: 0,
    left: 0,
    ignored: 1,
  });
});

test('what stops it says how far it is, in JSON, too', async () => {
  for (const name of ['a.md', 'b.md', 'c.md']) file(name);
  service.mishap = (asked) => (asked === 'POST c.md' ? { code: 403, message: 'the key may not' } : undefined);
  service.endsAtOnce = false;
  const all = [folder, '--json', '--retry-for', '0.01'];
  // The error itself is told where commands end.
  await expect(add(...all)).rejects.toThrow('the key may not');
  service.mishap = (asked, count) => (asked === 'POST c.md' && count > 1 ? 'cut' : undefined);
  service.endsAtOnce = true;
  const { exitCode, output, messages } = await add(...all);
  expect(exitCode).toBe(4);
  expect(JSON.parse(output)).toMatchObject({ added: 0, unchanged: 2, under_way: 0, left: 1 });
  expect(messages).toContain('0 added, 2 unchanged, 0 failed, 1 left; the same command goes on from here\n');
  expect(messages).toContain('--retry-for');
});

test('what can not begin says why, and nothing else', async () => {
  file('a.md');
  service.mishap = () => 'cut';
  const { exitCode, output, messages } = await add(folder, '--retry-for', '0.001');
  expect([exitCode, output]).toEqual([4, '']);
  expect(messages).toContain('--retry-for');
  expect(messages).not.toContain('goes on');
});

test('documents of another folder that are replaced are named', async () => {
  const [one, other] = [join(folder, 'one'), join(folder, 'other')];
  file('one', 'read.md');
  file('other', 'read.md');
  await add(one);
  expect((await add(other)).messages).toContain(
    '1 replaced documents of the same keys from another folder (--prefix keeps both): read.md\n',
  );
  expect((await add(one, '--prefix', 'one/')).output).toBe('1 added, 0 unchanged, 0 failed\n');
  expect([...service.documents.keys()]).toEqual(['read.md', 'one/read.md']);
});
