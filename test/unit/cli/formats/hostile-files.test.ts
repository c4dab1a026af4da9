import { brotliCompressSync, deflateRawSync, gzipSync } from 'node:zlib';
import { brotliDecompress, gunzip, zstdDecompress } from '../../../../cli/formats/decompression';
import { checkFlatbuffer } from '../../../../cli/formats/arrow/flatbuffer-check';
import { lz4BlockDecompress } from '../../../../cli/formats/lz4-frame';
import { chunkRows } from '../../../../cli/formats/record-source';
import { checkThrift } from '../../../../cli/formats/parquet/thrift-check';
import { zstdFrame, ZstdFrameCheck } from '../../../../cli/formats/zstd-frame';

/** What files say of themselves that is not so. */

const BOMB = Buffer.alloc(64 << 20);
/** A frame of blocks that each repeat a byte, with or without the size of its content. */
function zstdRuns(blocks: number, contentBytes: number | null, windowByte = 0x38): Buffer {
  const head =
    contentBytes === null
      ? [0x28, 0xb5, 0x2f, 0xfd, 0x00, windowByte]
      : [0x28, 0xb5, 0x2f, 0xfd, 0xa0, ...Buffer.from(Uint32Array.of(contentBytes).buffer)];
  const runs = Array.from({ length: blocks }, (_, i) => {
    const block = (131_072 << 3) | (1 << 1) | (i === blocks - 1 ? 1 : 0);
    return [block & 0xff, (block >> 8) & 0xff, block >> 16, 7];
  });
  return Buffer.from([...head, ...runs.flat()]);
}

describe('compressed bytes become no more than is said', () => {
  test.each<[string, () => Uint8Array]>([
    ['gzip', () => gunzip(gzipSync(BOMB), 1_000)],
    ['brotli', () => brotliDecompress(brotliCompressSync(BOMB), 1_000)],
    ['zstd that tells its size', () => zstdDecompress(zstdRuns(8, 8 * 131_072), 1_000)],
    ['zstd that tells no size', () => zstdDecompress(zstdRuns(64, null), 1_000)],
    [
      'several frames of zstd',
      () => zstdDecompress(Buffer.concat([zstdRuns(1, 131_072), zstdRuns(1, 131_072)]), 131_072),
    ],
  ])('%s', (_, decompress) => expect(decompress).toThrow());

  test('and all that is said', () => {
    expect(gunzip(gzipSync(Buffer.alloc(1_000, 7)), 1_000)).toHaveLength(1_000);
    expect([...new Set(zstdDecompress(zstdRuns(3, 3 * 131_072), 3 * 131_072))]).toEqual([7]);
    expect(zstdDecompress(zstdRuns(3, null), 3 * 131_072)).toHaveLength(3 * 131_072);
    expect(() => gunzip(deflateRawSync(Buffer.from('a')), 10)).toThrow();
    expect(lz4BlockDecompress(Uint8Array.of(0), 0)).toHaveLength(0);
  });
});

describe('a Zstandard frame', () => {
  test('is followed to its end, in pieces of any size', () => {
    const frame = zstdRuns(5, null);
    expect(zstdFrame(Buffer.concat([frame, Buffer.from('more')]))).toMatchObject({
      end: frame.length,
      contentBytes: null,
    });
    for (const size of [1, 3, 7, 1_000]) {
      const check = new ZstdFrameCheck();
      const both = Buffer.concat([frame, frame]);
      for (let at = 0; at < both.length; at += size) check.push(both.subarray(at, at + size));
      expect(() => check.push(Buffer.from('none'))).toThrow('no Zstandard frame');
    }
  });

  test('that asks for a window of gigabytes is refused before room is made, also behind another', () => {
    const huge = zstdRuns(1, null, 0xa8);
    expect(() => new ZstdFrameCheck().push(huge)).toThrow(/needs a window of 2147483648 bytes/);
    expect(() => new ZstdFrameCheck().push(Buffer.concat([zstdRuns(2, 262_144), huge]))).toThrow(/window/);
    expect(() => zstdDecompress(huge, 1_000)).toThrow(/window/);
  });
});

describe('lists say no more values than there are bytes', () => {
  test('in Thrift: a list of 2^28, lists within lists, a binary value, a structure without end', () => {
    const list = [0x19, 0xf3, 0x80, 0x80, 0x80, 0x80, 0x01, 0x00];
    expect(() => checkThrift(Uint8Array.from(list))).toThrow('it is cut off');
    expect(() => checkThrift(Uint8Array.from([0x19, 0x19, 0xf9, 0xff, 0xff, 0xff, 0x0f]))).toThrow('it is cut off');
    expect(() => checkThrift(Uint8Array.from([0x18, 0xff, 0xff, 0xff, 0x0f]))).toThrow('it is cut off');
    expect(() => checkThrift(Uint8Array.from([0x15, 0x02]))).toThrow('it is cut off');
    expect(() => checkThrift(new Uint8Array(100).fill(0x1c))).toThrow('it is too deep');
    expect(checkThrift(Uint8Array.from([0x15, 0x02, 0x19, 0x21, 0x01, 0x01, 0x00, 0xff]))).toBe(7);
  });

  test('in FlatBuffers: a list beyond the end, a place beyond the end, a table that holds itself', () => {
    // The root is at 8; its fields at 4: one of them, 4 bytes into the table.
    const table = (target: number, count: number): Uint8Array => {
      const bytes = new DataView(new ArrayBuffer(40));
      bytes.setUint32(0, 12, true);
      bytes.setUint16(4, 6, true);
      bytes.setUint16(6, 8, true);
      bytes.setUint16(8, 4, true);
      bytes.setInt32(12, 8, true);
      bytes.setUint32(16, target, true);
      bytes.setUint32(20, count, true);
      return new Uint8Array(bytes.buffer);
    };
    const longs = () => ({ 0: { listOf: 8 } }) as const;
    expect(() => checkFlatbuffer(table(4, 2), longs)).not.toThrow();
    expect(() => checkFlatbuffer(table(4, 3), longs)).toThrow('points beyond its end');
    expect(() => checkFlatbuffer(table(4, 0xffffffff), longs)).toThrow('points beyond its end');
    expect(() => checkFlatbuffer(table(0x7fffffff, 1), longs)).toThrow('points beyond its end');
    const itself = (): Record<number, any> => ({ 0: { table: itself } });
    expect(() => checkFlatbuffer(table(0xfffffffc, 1), itself)).toThrow();
  });
});

test('rows of many columns come in chunks of fewer', () => {
  expect([1, 1_000, 5_000, 100_000, 10_000_000].map(chunkRows)).toEqual([500, 500, 100, 5, 1]);
});
