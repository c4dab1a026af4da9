import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { findFiles, type Format, openFile, openStream, type SourceOptions } from '../../../../cli/formats/open-source';

const folder = mkdtempSync(join(tmpdir(), 'quiver-foreign-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const options: SourceOptions = { format: null, delimiter: null, columns: null, split: { by: 'file' } };

test.each<[string, Format, string, string]>([
  ['a.csv', 'csv', 'PK\u0003\u0004rest', 'is a ZIP archive, as those of Excel (.xlsx)'],
  ['a.parquet', 'parquet', 'PK\u0003\u0004rest', 'is a ZIP archive'],
  ['a.csv.bz2', 'csv', 'BZh91AY&SYrest', 'is compressed by bzip2; unpack it first'],
  ['a.jsonl', 'jsonl', '\u00fd7zXZ\0', 'is compressed by xz'],
  ['a.txt', 'text', '%PDF-1.7', 'is a PDF; pdftotext'],
  ['a.json', 'jsonl', 'PAR1xxxx', 'is a Parquet file; --format parquet reads it'],
  ['a.csv', 'csv', 'ARROW1\0\0', 'is an Arrow file; --format arrow reads it'],
  ['a.jsonl', 'jsonl', '\u00ff\u00fe{\0', 'is UTF-16; iconv -f UTF-16 -t UTF-8'],
  ['a.jsonl', 'jsonl', '\u00ff\u00fe\0\0{\0\0\0', 'is UTF-32; iconv -f UTF-32 -t UTF-8'],
  ['a.csv', 'csv', 'i\0d\0,\0n\0\n\u00001\0', 'is UTF-16 without a mark'],
  ['a.jsonl', 'jsonl', '\u0089HDF\r\n\u001a\n', 'is an HDF5 file'],
  ['a.jsonl', 'jsonl', '\u0080\u0004\u0095abc', 'is a pickle of Python'],
  ['a.feather', 'arrow', 'FEA1xxxx', 'is Feather of version 1'],
])('%s as %s that begins with %j is refused with what it is', async (name, format, head, reason) => {
  const path = join(folder, name);
  writeFileSync(path, Buffer.from(head, 'latin1'));
  await expect(openFile({ path, format, name }, options)).rejects.toThrow(`${path} ${reason}`);
  if (format !== 'parquet')
    await expect(openStream(Readable.from([Buffer.from(head, 'latin1')]), { ...options, format })).rejects.toThrow(
      `standard input ${reason}`,
    );
});

test('a name that says no format is not asked about where the file says what it is', () => {
  writeFileSync(join(folder, 'a.xlsx'), Buffer.from('PK\u0003\u0004', 'latin1'));
  writeFileSync(join(folder, 'a.dat'), 'id,text');
  expect(() => findFiles([join(folder, 'a.xlsx')], null)).toThrow('is a ZIP archive');
  expect(() => findFiles([join(folder, 'a.dat')], null)).toThrow('what format is');
});

test('a pipe or a device is refused with what to do', () => {
  expect(() => findFiles(['/dev/null'], 'jsonl')).toThrow(
    /is a pipe or a device, and no file: pipe it into standard input/,
  );
});

test('files of their own kind, and others of few bytes, are read', async () => {
  for (const [name, format, content] of [
    ['b.csv', 'csv', 'PK,text\n1,a\n'],
    ['b.txt', 'text', 'BZh'],
    ['c.csv', 'csv', 'ORCHID,text\n1,a\n'],
    ['b.npy', 'npy', '\u0093NUMPY'],
  ] as const) {
    writeFileSync(join(folder, name), Buffer.from(content, 'latin1'));
    await expect(openFile({ path: join(folder, name), format, name }, options)).resolves.toBeDefined();
  }
});
