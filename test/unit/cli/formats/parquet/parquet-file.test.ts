import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sliceOf } from '../../../../../cli/formats/parquet/parquet-file';

const folder = mkdtempSync(join(tmpdir(), 'quiver-parquet-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('parts of a damaged file that can not be there fail, also when nobody waits for them, and an empty one is empty', async () => {
  const path = join(folder, 'x');
  writeFileSync(path, 'abcdef');
  const file = await open(path, 'r');
  const strayed: unknown[] = [];
  const onStray = (reason: unknown): void => void strayed.push(reason);
  process.on('unhandledRejection', onStray);
  try {
    const slice = sliceOf(file, 6);
    expect(Buffer.from(await slice(2, 4)).toString()).toBe('cd');
    expect((await slice(6)).byteLength).toBe(0);
    for (const [from, to] of [
      [4, 2],
      [-1, 3],
      [0, 7],
      [Number.NaN, 3],
    ])
      await expect(slice(from, to)).rejects.toThrow('it is damaged');
    void slice(0, 1e15);
    // Strays are told after the turn in which they failed.
    await new Promise((done) => setImmediate(done));
    expect(strayed).toEqual([]);
    // As when the file was cut after its length was taken.
    await expect(sliceOf(file, 10)(0)).rejects.toThrow('it is cut off');
  } finally {
    process.off('unhandledRejection', onStray);
    await file.close();
  }
});
