import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NpyWriter } from '../../../../cli/export/npy-writer';
import { ByteSource } from '../../../../cli/formats/byte-source';
import { NpySource } from '../../../../cli/formats/npy';
import { itemsPathOf, PairedSource } from '../../../../cli/formats/paired-items';

const folder = mkdtempSync(join(tmpdir(), 'quiver-paired-'));
const path = join(folder, 'x.npy');
const items = [0, 1, 2].map((i) => ({ external_id: `i${i}`, vector: Float32Array.of(i, 1), metadata: { i } }));
const ids: unknown[] = [];

beforeAll(async () => {
  const writer = await NpyWriter.open(path, 2);
  await writer.write(items);
  await writer.finish();
});

beforeEach(() => ids.splice(0));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function readAll(): Promise<void> {
  const source = new PairedSource(new NpySource(new ByteSource(path, { path }, null)), itemsPathOf(path));
  for await (const { records } of source.read(null)) ids.push(...records.map(({ fields }) => fields.external_id));
}

test('vectors and lines go together row by row', async () => {
  await readAll();
  expect(ids).toEqual(['i0', 'i1', 'i2']);
});

test.each([
  ['more', 4],
  ['fewer', 2],
])('a file of items with %s lines than vectors is refused: it belongs to other vectors', async (word, lines) => {
  writeFileSync(itemsPathOf(path), Array.from({ length: lines }, (_, i) => `{"external_id":"i${i}"}\n`).join(''));
  await expect(readAll()).rejects.toThrow(`has ${word} lines than there are vectors`);
});
