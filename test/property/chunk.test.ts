import assert from 'node:assert/strict';
import fc from 'fast-check';
import { isBlankUnit } from '../../coordinator/service/documents/blank';
import { type Chunk, chunkText, TextChunker } from '../../coordinator/service/documents/chunk';

const piece = fc.oneof(
  fc.constantFrom(' ', '\n', '\n\n', '. ', '! ', '。', '\t', '\u3000', '', '\r\n\r\n', '?" '),
  fc.string({ minLength: 1, maxLength: 12 }),
  fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }),
  fc.constantFrom(
    'word',
    'longerword',
    '😀',
    '👩‍🚀',
    'e\u0301',
    'न्ध',
    '中文',
    'ประโยคแรก',
    '한국어',
    'Mr. ',
    'e.g. ',
    '।',
    '🇫🇷🇩🇪',
  ),
  fc.nat({ max: 60 }).map((length) => ' '.repeat(length)),
  fc.nat({ max: 60 }).map((length) => 'x'.repeat(length)),
  fc.nat({ max: 20 }).map((length) => '𝒳'.repeat(length)),
  fc.nat({ max: 80 }).map((length) => `o${'\u0301'.repeat(length)}`),
);
const text = fc.array(piece, { maxLength: 120 }).map((pieces) => pieces.join(''));
const options = fc
  .integer({ min: 2, max: 80 })
  .chain((size) => fc.record({ size: fc.constant(size), overlap: fc.nat({ max: size - 1 }) }));

describe('chunks', () => {
  test('keep their bounds, cover the text, make progress and split no character', () => {
    fc.assert(
      fc.property(text, options, (input, { size, overlap }) => {
        const chunks = [...chunkText(input, { size, overlap })];
        let covered = 0;
        let previous: Chunk | null = null;
        // Tens of thousands of chunks: `expect` would take most of the time.
        for (const chunk of chunks) {
          assert.equal(chunk.text, input.slice(chunk.start, chunk.end));
          assert.ok(chunk.text.length > 0);
          assert.ok(chunk.text.length <= size);
          assert.ok(
            !isBlankUnit(chunk.text.charCodeAt(0)) && !isBlankUnit(chunk.text.charCodeAt(chunk.text.length - 1)),
          );
          assert.ok(!splitsPair(input, chunk.start) && !splitsPair(input, chunk.end));
          assert.ok(chunk.start <= covered || isBlank(input.slice(covered, chunk.start)));
          if (previous !== null) {
            assert.ok(chunk.start > previous.start);
            assert.ok(chunk.end > previous.end);
            assert.ok(previous.end - chunk.start <= Math.min(2 * overlap, size / 2) + 32);
          }
          covered = chunk.end;
          previous = chunk;
        }
        expect(isBlank(input.slice(covered))).toBe(true);
        expect(chunks.length).toBeLessThanOrEqual(1 + Math.ceil((5 * input.length) / size));
      }),
      { numRuns: 800 },
    );
  });

  test('do not depend on how the text is parted', () => {
    const cuts = fc.array(fc.nat({ max: 200 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(text, options, cuts, (input, given, lengths) => {
        const chunker = new TextChunker(given);
        const chunks: Chunk[] = [];
        for (let at = 0, i = 0; at < input.length; i++) {
          // A part may be empty, yet not all of them.
          const length = lengths[i % lengths.length] + (i % lengths.length === 0 ? 1 : 0);
          chunks.push(...chunker.push(input.slice(at, at + length)));
          at += length;
        }
        chunks.push(...chunker.end());
        assert.deepEqual(chunks, [...chunkText(input, given)]);
      }),
      { numRuns: 600 },
    );
  });

  test('a text that fits is one chunk, trimmed', () => {
    fc.assert(
      fc.property(text, (input) => {
        const chunks = [...chunkText(input, { size: Math.max(2, input.length), overlap: 1 })];
        expect(chunks.length).toBe(isBlank(input) ? 0 : 1);
      }),
      { numRuns: 300 },
    );
  });
});

function isBlank(input: string): boolean {
  for (let i = 0; i < input.length; i++) if (!isBlankUnit(input.charCodeAt(i))) return false;
  return true;
}

function splitsPair(input: string, at: number): boolean {
  return at > 0 && at < input.length && (input.codePointAt(at - 1) as number) > 0xffff;
}
