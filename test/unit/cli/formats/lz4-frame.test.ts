import { lz4FrameDecompress } from '../../../../cli/formats/lz4-frame';
import { runSeed, seededRandom } from '../../../support/values/random';

const seed = runSeed('lz4');

/** A frame of blocks as they are given; `raw` ones are stored as they are. */
function frame(blocks: { bytes: number[]; raw?: true }[], size?: number): Buffer {
  const head = [0x04, 0x22, 0x4d, 0x18, size === undefined ? 0x60 : 0x68, 0x40];
  const parts = [
    Buffer.from(head),
    ...(size === undefined ? [] : [Buffer.from(BigUint64Array.of(BigInt(size)).buffer)]),
    Buffer.from([0]),
  ];
  for (const { bytes, raw } of blocks)
    parts.push(Buffer.from(Uint32Array.of((bytes.length | (raw ? 0x80000000 : 0)) >>> 0).buffer), Buffer.from(bytes));
  return Buffer.concat([...parts, Buffer.alloc(4)]);
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');
const letters = (string: string): number[] => [...Buffer.from(string)];

describe('an LZ4 frame', () => {
  test('of literals, a match that overlaps itself, long lengths, and blocks that refer to each other', () => {
    // "abc", then 12 from 3 back, then "!".
    const block = [0x38, ...letters('abc'), 3, 0, 0x10, ...letters('!')];
    expect(text(lz4FrameDecompress(frame([{ bytes: block }])))).toBe('abcabcabcabcabc!');
    expect(
      text(
        lz4FrameDecompress(
          frame([{ bytes: letters('stored'), raw: true }, { bytes: [0x02, 6, 0, 0x10, ...letters('.')] }], 13),
        ),
      ),
    ).toBe('storedstored.');
    const long = letters('x'.repeat(300));
    expect(text(lz4FrameDecompress(frame([{ bytes: [0xf0, 255, 300 - 15 - 255, ...long] }])))).toBe('x'.repeat(300));
  });

  test('that is damaged gives bytes or a RangeError, and takes no more memory than allowed', () => {
    const random = seededRandom(seed);
    const whole = frame([
      { bytes: [0x38, ...letters('abc'), 3, 0, 0xf0, 3, ...letters('0123456789abcdefgh')] },
      { bytes: [0x1f, 65, 1, 0, 255, 255, 10, 0x10, 66] },
    ]);
    expect(lz4FrameDecompress(whole).length).toBeGreaterThan(500);
    for (let run = 0; run < 2000; run++) {
      const damaged = Buffer.from(
        whole.subarray(0, run % 3 === 0 ? Math.floor(random() * whole.length) : whole.length),
      );
      for (let i = 0; i < 2; i++)
        if (damaged.length > 0) damaged[Math.floor(random() * damaged.length)] = Math.floor(random() * 256);
      try {
        expect(lz4FrameDecompress(damaged, 5000).length).toBeLessThanOrEqual(5000);
      } catch (error) {
        expect(error).toBeInstanceOf(RangeError);
      }
    }
  });
});
