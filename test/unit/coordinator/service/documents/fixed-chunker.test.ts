import fc from 'fast-check';
import { isBlankUnit } from '../../../../../coordinator/service/documents/blank';
import type { Chunk } from '../../../../../coordinator/service/documents/chunk';
import { FixedChunker } from '../../../../../coordinator/service/documents/fixed-chunker';

function chunksOf(text: string, size: number, overlap: number): Chunk[] {
  const chunker = new FixedChunker(text, { size, overlap });
  const chunks: Chunk[] = [];
  for (let chunk = chunker.next(); chunk !== null; chunk = chunker.next()) chunks.push(chunk);
  return chunks;
}

test('chunks have one length, and begin before the end of the one before', () => {
  expect(chunksOf('abcdefghij', 4, 1).map(({ text }) => text)).toEqual(['abcd', 'defg', 'ghij']);
  expect(chunksOf('abcdefghij', 4, 0).map(({ text }) => text)).toEqual(['abcd', 'efgh', 'ij']);
});

test('pairs and combined characters are whole', () => {
  expect(chunksOf('👍👍👍', 3, 0).map(({ text }) => text)).toEqual(['👍', '👍', '👍']);
  expect(chunksOf('abce\u0301fg', 4, 0).map(({ text }) => text)).toEqual(['abc', 'e\u0301fg']);
});

test('whatever the text: none is too long or blank, and nothing but white space is left out', () => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 80 }),
    fc.string({ unit: fc.constantFrom(...['a', 'b', ' ', '\n', '\u0301', '👍']), maxLength: 80 }),
  );
  fc.assert(
    fc.property(text, fc.integer({ min: 2, max: 20 }), fc.nat(20), (given, size, overlap) => {
      const covered = new Uint8Array(given.length);
      let before = -1;
      for (const chunk of chunksOf(given, size, overlap)) {
        expect(chunk.text).toBe(given.slice(chunk.start, chunk.end));
        expect(chunk.text.length).toBeLessThanOrEqual(size);
        expect(chunk.text.trim()).not.toBe('');
        expect(chunk.start).toBeGreaterThan(before);
        before = chunk.start;
        covered.fill(1, chunk.start, chunk.end);
      }
      for (let at = 0; at < given.length; at++)
        if (covered[at] === 0) expect(isBlankUnit(given.charCodeAt(at))).toBe(true);
    }),
  );
});
