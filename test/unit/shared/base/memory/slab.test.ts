import { Slab } from '../../../../../shared/base/memory/slab';

test('pieces share memory, and none has bytes of another', () => {
  const slab = new Slab();
  const pieces = Array.from({ length: 300 }, (_, i) => slab.take(i * 7).fill(i));
  expect(pieces.map(({ length }) => length)).toEqual(pieces.map((_, i) => i * 7));
  pieces.forEach((piece, i) => expect(piece.every((byte) => byte === i % 256)).toBe(true));
  expect(new Set(pieces.map(({ buffer }) => buffer)).size).toBeLessThan(10);
});

test('a large piece has memory of its own, so that it keeps no other', () => {
  const slab = new Slab();
  const small = slab.take(10);
  const large = slab.take(8 * 1024 + 1);
  expect(large.buffer.byteLength).toBe(8 * 1024 + 1);
  expect(slab.take(10).buffer).toBe(small.buffer);
});
