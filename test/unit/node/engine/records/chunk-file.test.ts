import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ChunkFile,
  CHUNK_FRAME_BYTES,
  FRAME_CONTENT_BYTES,
  framesOf,
} from '../../../../../node/engine/records/chunk-file';
import { seededRandom } from '../../../../support/values/random';

const folder = mkdtempSync(join(tmpdir(), 'quiver-chunk-file-'));

afterAll(() => rmSync(folder, { recursive: true }));

test('reads any place of more files than are kept in memory, as text and as bytes', () => {
  const random = seededRandom(7);
  const below = (limit: number): number => Math.floor(random() * limit);
  // 24 MiB, where 16 are kept.
  const contents = Array.from({ length: 3 }, () => Buffer.from(Float64Array.from({ length: 1 << 20 }, random).buffer));
  const files = contents.map((content, i) => {
    const path = join(folder, `${i}`);
    writeFileSync(path, framesOf(content));
    return new ChunkFile(path);
  });
  for (let i = 0; i < 10_000; i++) {
    const file = below(3);
    const length = below(i % 10 === 0 ? 3 * FRAME_CONTENT_BYTES : 100);
    const position = i % 7 === 0 ? contents[file].length - length : below(contents[file].length - length);
    const expected = contents[file].subarray(position, position + length);
    if (i % 2 === 0) expect(files[file].text('latin1', position, length) === expected.toString('latin1')).toBe(true);
    else expect(files[file].read(position, length).equals(expected)).toBe(true);
    const begin = position - (position % FRAME_CONTENT_BYTES);
    if (i % 1000 === 0)
      expect(files[file].readLong(begin, length).equals(contents[file].subarray(begin, begin + length))).toBe(true);
  }
  for (const file of files) file.close();
});

test('a file that has become shorter, or is gone, fails what is read of it, and what comes later is read', () => {
  const path = join(folder, 'cut');
  const frames = framesOf(Buffer.alloc(3 * FRAME_CONTENT_BYTES, 'x'));
  writeFileSync(path, frames);
  truncateSync(path, CHUNK_FRAME_BYTES + 10);
  const file = new ChunkFile(path);
  expect(file.text('latin1', FRAME_CONTENT_BYTES - 10, 10)).toBe('x'.repeat(10));
  expect(() => file.text('latin1', FRAME_CONTENT_BYTES - 5, 6)).toThrow('ends early');
  expect(() => file.read(2 * FRAME_CONTENT_BYTES, 1)).toThrow('ends early');
  expect(() => file.readLong(0, 3 * FRAME_CONTENT_BYTES)).toThrow('ends early');
  writeFileSync(path, frames.subarray(CHUNK_FRAME_BYTES + 10), { flag: 'a' });
  expect(file.text('latin1', FRAME_CONTENT_BYTES - 5, 6)).toBe('xxxxxx');
  file.close();
  rmSync(path);
  expect(() => new ChunkFile(path).text('latin1', 0, 1)).toThrow('ENOENT');
});

test('a bit that turned in a frame fails what is read of that frame, and of no other', () => {
  const frames = framesOf(Buffer.alloc(4 * FRAME_CONTENT_BYTES - 100, 'x'));
  // In the content, in the room behind the last byte, and in the checksum itself.
  for (const [frame, at] of [
    [1, 17],
    [3, FRAME_CONTENT_BYTES - 1],
    [2, FRAME_CONTENT_BYTES + 1],
  ]) {
    const path = join(folder, `turned-${frame}`);
    const turned = Buffer.from(frames);
    turned[frame * CHUNK_FRAME_BYTES + at] ^= 4;
    writeFileSync(path, turned);
    const file = new ChunkFile(path);
    for (let i = 0; i < 4; i++) {
      const reads = [
        () => file.text('latin1', i * FRAME_CONTENT_BYTES, 10),
        () => file.read(i * FRAME_CONTENT_BYTES, 10),
      ];
      for (const read of reads) {
        if (i === frame) expect(read).toThrow('is damaged');
        else expect(read().toString('latin1')).toBe('x'.repeat(10));
      }
    }
    expect(() => file.readLong(0, 4 * FRAME_CONTENT_BYTES - 100)).toThrow('is damaged');
    file.close();
  }
});
