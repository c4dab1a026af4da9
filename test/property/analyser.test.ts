import assert from 'node:assert/strict';
import fc from 'fast-check';
import { defaultAnalyser } from '../../shared/base/text/analyser';
import { analyserFor } from '../../shared/base/text/analyser-for';
import { cutAsciiIntoTerms, cutIntoTerms, TERM_LENGTH_MAX } from '../../shared/base/text/cut-terms';
import { foldWord, IGNORED_CLASS, withoutContractions } from '../../shared/base/text/fold-text';
import { LANGUAGES, UNSPACED_LANGUAGES } from '../../shared/base/text/language';
import { LanguageAnalyser } from '../../shared/base/text/language-analyser';
import { wellFormedText } from '../support/http/any-text';

/** Any code units, lone surrogates among them, and texts of many scripts. */
const text = fc
  .array(
    fc.oneof(
      wellFormedText(20),
      fc.string({ unit: 'grapheme', maxLength: 20 }),
      fc.array(fc.nat({ max: 0xffff }), { maxLength: 10 }).map((units) => String.fromCharCode(...units)),
      fc.constantFrom(
        "don't",
        "'s",
        '’',
        '東京',
        'カ',
        '\u3099',
        'ส',
        '\u0e34',
        'ΟΣ',
        'İ',
        'и\u0306',
        '\u200d',
        'x'.repeat(200),
      ),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''));

const IGNORED = new RegExp(IGNORED_CLASS);

const language = fc.oneof(fc.constant(null), fc.constantFrom(...LANGUAGES));

describe('the analyser on any text', () => {
  test('gives well-formed, bounded terms', () => {
    fc.assert(
      fc.property(text, language, (input, code) => {
        // Tens of thousands of terms: `expect` would take most of the time.
        for (const term of analyserFor(code).terms(input)) {
          assert.ok(term.length > 0);
          assert.ok(term.length <= TERM_LENGTH_MAX);
          assert.equal(Buffer.from(term).toString(), term);
          assert.doesNotMatch(term, /[\p{Cc}\p{Z}]/u);
        }
      }),
      { numRuns: 400 },
    );
  });

  test('gives a line the same terms whatever stands on the lines around it', () => {
    fc.assert(
      fc.property(text, text, language, (a, b, code) => {
        const analyser = analyserFor(code);
        expect(analyser.terms(`${a}\n${b}`)).toEqual([...analyser.terms(a), ...analyser.terms(b)]);
      }),
      { numRuns: 500 },
    );
  });

  test('does not care how accents are encoded', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), (input) => {
        expect(defaultAnalyser.terms(input.normalize('NFD'))).toEqual(defaultAnalyser.terms(input.normalize('NFC')));
      }),
      { numRuns: 1000 },
    );
  });

  test('cuts ASCII by the short way as it cuts every text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary-ascii', maxLength: 300 }), (input) => {
        const folded = input.toLowerCase();
        expect(cutAsciiIntoTerms(folded)).toEqual(cutIntoTerms(folded));
      }),
      { numRuns: 2000 },
    );
  });

  test('looks for what it stores: the terms of a query are among those of the same text', () => {
    fc.assert(
      fc.property(text, language, (input, code) => {
        const stored = new Set(analyserFor(code).terms(input));
        const sought = analyserFor(code).termsToFind(input);
        for (const term of sought) assert.ok(stored.has(term), term);
        expect(sought.length > 0).toBe(stored.size > 0);
      }),
      { numRuns: 400 },
    );
  });

  test('has words of queries in the order of the text, of terms that are stored', () => {
    const long = fc.tuple(text, fc.integer({ min: 1, max: 300 })).map(([part, count]) => part.repeat(count));
    fc.assert(
      fc.property(
        fc.oneof({ weight: 9, arbitrary: text }, long),
        fc.constantFrom(...UNSPACED_LANGUAGES),
        (input, code) => {
          const analyser = analyserFor(code);
          const stored = new Set(analyser.terms(input));
          const words = [...analyser.queryWords!(input)].flat();
          for (const [i, { terms, start, end, text: word }] of words.entries()) {
            assert.ok(terms.length > 0 && terms.every((term) => stored.has(term)));
            assert.ok(start >= 0 && start < end && end <= input.length && start >= (words[i - 1]?.start ?? 0));
            assert.ok(analyser.terms(input.slice(start, end)).includes(terms[0]), `${word} of ${start} to ${end}`);
          }
          // With what meets, they have all pairs, and each single character that stands alone.
          const sought = new Set(words.flatMap(({ terms }) => terms));
          for (const term of analyser.termsToFind(input)) assert.ok(sought.has(term), term);
        },
      ),
      { numRuns: 300 },
    );
  });

  test('gives the same terms in parts', () => {
    // Longer than a piece, so that texts are parted, with white space and without.
    const long = fc
      .tuple(text, fc.constantFrom('', ' ', '\n', "'s", '東'), fc.integer({ min: 1, max: 2000 }))
      .map(([part, between, count]) => {
        return (part + between).repeat(Math.min(count, Math.ceil(9_000 / (part.length + between.length + 1))));
      });
    fc.assert(
      fc.property(fc.array(long, { minLength: 1, maxLength: 2 }), language, (inputs, code) => {
        const input = inputs.join(' ');
        expect([...analyserFor(code).parts(input)].flat()).toEqual(analyserFor(code).terms(input));
      }),
      { numRuns: 40 },
    );
  });

  test('gives the same terms with places, each of a part of the text that gives it', () => {
    const long = fc.tuple(text, fc.integer({ min: 1, max: 400 })).map(([part, count]) => part.repeat(count));
    fc.assert(
      fc.property(fc.oneof({ weight: 9, arbitrary: text }, long), language, (input, code) => {
        const analyser = analyserFor(code);
        const placed = [...analyser.placedParts(input)].flat();
        assert.deepEqual(
          placed.map(({ term }) => term),
          analyser.terms(input),
        );
        for (const { term, start, end } of placed.slice(0, 200)) {
          assert.ok(start >= 0 && start < end && end <= input.length);
          assert.ok(analyser.terms(input.slice(start, end)).includes(term), `${term} of ${start} to ${end}`);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  test('places words exactly, whatever stands between them', () => {
    const word = fc.constantFrom(
      ['\ufb01ne', 'fine'],
      ['ＡＢ１', 'ab1'],
      ['Straße', 'strasse'],
      ['cafe\u0301', 'cafe'],
      ['𝐁old', 'bold'],
      ['co\u00adop', 'coop'],
      ['don’t', 'dont'],
      ['ΟΔΟΣ', 'οδοσ'],
      ['Ｊｏ\u0308', 'jo'],
      ['x'.repeat(300), 'x'.repeat(128)],
      ['é'.repeat(7), 'e'.repeat(7)],
      ['١٢', '12'],
      ['plain', 'plain'],
    );
    const between = fc.constantFrom(' ', '\n', ', ', '…', ' \ud800 ', '。', '’s ', '\u3000(');
    fc.assert(
      fc.property(fc.array(fc.tuple(between, word), { maxLength: 60 }), fc.integer({ min: 1, max: 9 }), (pairs, n) => {
        let input = '';
        const expected: object[] = [];
        for (const [separator, [written, term]] of Array.from({ length: n }, () => pairs).flat()) {
          input += separator === '’s ' && !/\p{L}$/u.test(input) ? ' ' : separator;
          expected.push({ term, start: input.length, end: input.length + written.length, isStopWord: false });
          input += written;
        }
        assert.deepEqual([...defaultAnalyser.placedParts(input)].flat(), expected);
      }),
      { numRuns: 300 },
    );
  });

  test('leaves out the endings of contractions as the plain definition has it', () => {
    const letter = /\p{L}/u;
    const goesOn = /[\p{L}\p{N}\p{M}]/u;
    /** One apostrophe after the other, looking at each of its neighbours: no regular expression for the whole of it. */
    const plainly = (input: string): string => {
      const characters = [...input];
      const isLetterBefore = (at: number): boolean => {
        for (; at >= 0; at--) {
          if (letter.test(characters[at])) return true;
          if (!IGNORED.test(characters[at])) return false;
        }
        return false;
      };
      const goesOnAt = (at: number): boolean => {
        while (at < characters.length && IGNORED.test(characters[at])) at++;
        return at < characters.length && goesOn.test(characters[at]);
      };
      let output = '';
      for (let at = 0; at < characters.length; at++) {
        const ending =
          /['\u2019]/.test(characters[at]) && isLetterBefore(at - 1)
            ? ['t', 's', 're', 've', 'll', 'd', 'm'].find(
                (end) =>
                  characters.slice(at + 1, at + 1 + end.length).join('') === end && !goesOnAt(at + 1 + end.length),
              )
            : undefined;
        if (ending === undefined) output += characters[at];
        else {
          output += ending === 't' ? 't' : '';
          at += ending.length;
        }
      }
      return output;
    };
    const characters = fc.constantFrom(
      ..."aest'rvldm '\u2019\u0640\u0301\u00ad.5é東",
      "'s",
      "n't",
      "'re",
      '\ud800',
      '𐐨',
    );
    fc.assert(
      fc.property(
        fc.array(characters, { maxLength: 30 }).map((parts) => parts.join('')),
        (input) => {
          expect(withoutContractions(input)).toBe(plainly(input));
        },
      ),
      { numRuns: 4_000 },
    );
  });

  test('of a language does what the neutral one does, but for stems', () => {
    const unstemmed = new LanguageAnalyser({ name: 'none', stem: foldWord, stopWords: new Set() });
    const spaced = fc.string({
      unit: fc.constantFrom(
        ..."aeé ñßıİΣς.x5’'tЙйё\u00ad🎉\ud800ﬁ２٣",
        'и\u0306\u0301',
        'e\u0301',
        'ك\u064b',
        't\u0304',
      ),
      maxLength: 40,
    });
    const unspaced = fc.string({ unit: fc.constantFrom(...'aé .東京カｶﾞ한ส\u0e34🎉２'), maxLength: 20 });
    const letters = fc.tuple(spaced, unspaced).map((parts) => parts.join(' '));
    fc.assert(
      fc.property(letters, (input) => {
        expect(unstemmed.terms(input)).toEqual(defaultAnalyser.terms(input));
      }),
      { numRuns: 1000 },
    );
  });
});
