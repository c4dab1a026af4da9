import fc from 'fast-check';
import { defaultAnalyser, TERM_LENGTH_MAX } from '../../shared/text/analyser';

const seed = process.env.SEED === undefined ? Date.now() % 2 ** 31 : Number(process.env.SEED);

/** Any code units, lone surrogates among them, and texts of many scripts. */
const text = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.string({ unit: 'grapheme', maxLength: 20 }),
      fc.array(fc.nat({ max: 0xffff }), { maxLength: 10 }).map((units) => String.fromCharCode(...units)),
      fc.constantFrom("don't", "'s", '’', '東京', 'カ', '\u3099', 'ส', '\u0e34', 'ΟΣ', 'İ', 'и\u0306', '\u200d', 'x'.repeat(200)),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''));

describe(`the analyser on any text (SEED=${seed})`, () => {
  test('gives well-formed, bounded terms', () => {
    fc.assert(
      fc.property(text, (input) => {
        for (const term of defaultAnalyser.terms(input)) {
          expect(term.length).toBeGreaterThan(0);
          expect(term.length).toBeLessThanOrEqual(TERM_LENGTH_MAX);
          expect(Buffer.from(term).toString()).toBe(term);
          expect(term).not.toMatch(/[\p{Cc}\p{Z}]/u);
        }
      }),
      { seed, numRuns: 700 },
    );
  });

  test('gives a line the same terms whatever stands on the lines around it', () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(defaultAnalyser.terms(`${a}\n${b}`)).toEqual([...defaultAnalyser.terms(a), ...defaultAnalyser.terms(b)]);
      }),
      { seed, numRuns: 2000 },
    );
  });

  test('does not care how accents are encoded', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (input) => {
        expect(defaultAnalyser.terms(input.normalize('NFD'))).toEqual(defaultAnalyser.terms(input.normalize('NFC')));
      }),
      { seed, numRuns: 1000 },
    );
  });
});
