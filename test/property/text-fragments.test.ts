import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type TextFragment, textFragments } from '../../coordinator/service/search/text-fragments';
import { type Analyser, defaultAnalyser } from '../../shared/base/text/analyser';
import { analyserFor } from '../../shared/base/text/analyser-for';
import type { PlacedTerm } from '../../shared/base/text/placed-terms';
import { phraseOf } from '../../shared/base/text/phrase';
import { resultOf } from '../../shared/base/time/work-slices';
import { plainHasPhrase } from '../support/models/plain-phrase';
import { seededRandom } from '../support/values/random';

/** Fragments with words of a query, against all windows that there are. */

const fragmentsOf = (
  text: string,
  query: string,
  options: { count?: number; size?: number; analyser?: Analyser } = {},
): TextFragment[] => {
  const { count = 2, size = 40, analyser = defaultAnalyser } = options;
  const sought = { analyser, terms: new Set(analyser.terms(query)), phrases: [] };
  return resultOf(textFragments(text, sought, { count, size }));
};

/** The fragments, what was found in brackets. */
const shown = (...given: Parameters<typeof fragmentsOf>): string[] =>
  fragmentsOf(...given).map(({ start, end, spans }) => {
    let [marked, at] = ['', start];
    for (const [from, to] of spans) {
      marked += `${given[0].slice(at, from)}[${given[0].slice(from, to)}]`;
      at = to;
    }
    return marked + given[0].slice(at, end);
  });

const LONG = `${'much water goes by. '.repeat(20)}Floods of “old” rivers (a few) drown ${'the land beside it '.repeat(20)}and a flood`;

describe('fragments of a text', () => {
  test('begin and end at words, the one with the most different words first', () => {
    const analyser = analyserFor('en');
    expect(shown(LONG, 'flooding river drowned', { analyser, size: 60 })).toEqual([
      'goes by. [Floods] of “old” [rivers] (a few) [drown] the land',
      'beside it the land beside it the land beside it and a [flood]',
    ]);
    expect(shown(LONG, 'few', { size: 30 })).toEqual(['rivers (a [few]) drown the land']);
    expect(shown(LONG, 'nothing there')).toEqual([]);
    expect(shown('', 'a')).toEqual([]);
  });

  test('are whole texts where these are short', () => {
    expect(shown('(Old ﬁre… ＦＩＲＥ!) ', 'FIRE')).toEqual(['(Old [ﬁre]… [ＦＩＲＥ]!) ']);
  });

  test('mark characters of scripts without spaces together', () => {
    const text = `${'日本の天気。'.repeat(9)}昨日は東京都でカレーを食べた。${'山と川がある。'.repeat(9)}`;
    expect(shown(text, '東京都のカレー', { count: 1, size: 24 })).toEqual([
      expect.stringMatching(/^.*\[東京都\]で\[カレー\].*$/),
    ]);
  });

  test('cut a word that is longer, and no character', () => {
    expect(shown(`a ${'𐐨'.repeat(100)}`, '𐐨'.repeat(100), { size: 21 })).toEqual([`[${'𐐨'.repeat(10)}]`]);
  });

  test('of a long text are found in short steps', () => {
    const text = 'water falls here '.repeat(16_000);
    const steps = textFragments(
      text,
      { analyser: defaultAnalyser, terms: new Set(['water', 'here']), phrases: [] },
      { count: 10, size: 100 },
    );
    let count = 0;
    for (; steps.next().done !== true;) count += 1;
    expect(count).toBeGreaterThan(1_000);
  });

  test('mark the words of a phrase where they stand together', () => {
    const random = seededRandom(17);
    const below = (bound: number): number => Math.floor(random() * bound);
    const words = (count: number): string[] => Array.from({ length: count }, () => 'abcd'[below(4)]);
    let marked = 0;
    for (let round = 0; round < 1_000; round++) {
      const text = words(1 + below(30));
      const single = below(3) === 0 ? ['d'] : [];
      const phrases = Array.from({ length: 1 + below(2) }, () => ({
        of: words(2 + below(2)),
        near: [0, 0, 1, 3][below(4)],
      }));
      const expected = text.filter(
        (word, i) => single.includes(word) || phrases.some(({ of, near }) => isOfPhrase(text, i, of, near)),
      );
      const sought = {
        analyser: defaultAnalyser,
        terms: new Set(single),
        phrases: phrases.map(({ of, near }) => phraseOf(defaultAnalyser, of.join(' '), near)),
      };
      const found = resultOf(textFragments(text.join(' '), sought, { count: 1, size: 100 }));
      const spans = found.flatMap((fragment) => fragment.spans).map(([from, to]) => text.join(' ').slice(from, to));
      assert.deepEqual(spans, expected, JSON.stringify({ text, single, phrases }));
      marked += spans.length;
    }
    assert.ok(marked > 1_000);
  });

  test('are apart and no longer than asked, and have all that is found in them; the first is as good as any', () => {
    const word = fc.constantFrom('a', 'b', 'c', 'cc', 'ﬁ', 'é', 'x', 'yy', 'zzz', '東京', '京都', 'x'.repeat(30), '٣');
    const between = fc.constantFrom(' ', ' ', ', ', '\n', '。', '-', '');
    const text = fc
      .array(fc.tuple(word, between), { maxLength: 120 })
      .map((parts) => parts.map((part) => part.join('')).join(''));
    fc.assert(
      fc.property(text, fc.integer({ min: 20, max: 60 }), fc.integer({ min: 1, max: 5 }), (input, size, count) => {
        const terms = new Set(defaultAnalyser.terms('b c fi 東京'));
        const placed = [...defaultAnalyser.placedParts(input)].flat();
        const matches = placed.filter(({ term }) => terms.has(term));
        const found = fragmentsOf(input, 'b c fi 東京', { size, count });
        assert.ok(found.length <= count);
        assert.equal(found.length > 0, matches.length > 0);
        const [starts, ends] = [new Set(placed.map(({ start }) => start)), new Set(placed.map(({ end }) => end))];
        for (const { start, end, spans } of found) {
          assert.ok(start >= 0 && start < end && end <= input.length && end - start <= size);
          if (input.length > size) {
            assert.ok(starts.has(start), `${start} begins no word`);
            const letters = input.slice(start, end).replace(/[^\p{L}\p{N}\p{M}]+$/u, '').length;
            assert.ok(ends.has(start + letters) || letters === size, `${end} ends no word`);
          }
          assert.deepEqual(unitsOf(spans), unitsIn(matches, start, end));
        }
        const apart = found.toSorted((a, b) => a.start - b.start);
        for (const [i, { start }] of apart.entries()) assert.ok(i === 0 || apart[i - 1].end <= start);
        if (matches.length > 0) assert.ok(found[0].distinct >= mostDistinct(matches, size));
        for (const [i, { distinct }] of found.entries()) assert.ok(i === 0 || found[0].distinct >= distinct);
      }),
      { numRuns: 1_000 },
    );
  });
});

/** Whether a word is in some words that have a whole phrase, and one of its words. */
function isOfPhrase(text: readonly string[], place: number, of: readonly string[], near: number): boolean {
  const size = of.length + near;
  return text.some((_, at) => {
    const window = text.slice(at, at + size);
    return at <= place && place < at + size && of.includes(text[place]) && plainHasPhrase(of, near, window);
  });
}

function unitsOf(spans: readonly (readonly [number, number])[]): number[] {
  return spans.flatMap(([from, to]) => Array.from({ length: to - from }, (_, i) => from + i));
}

/** The code units of matches that begin in a part of the text, as far as they are in it. */
function unitsIn(matches: readonly PlacedTerm[], start: number, end: number): number[] {
  const inside = matches.filter((one) => one.start >= start && one.start < end);
  const units = inside.flatMap((one) => unitsOf([[one.start, Math.min(one.end, end)]]));
  return [...new Set(units)].sort((a, b) => a - b);
}

/** The most different terms that any window of this size holds whole. */
function mostDistinct(matches: readonly PlacedTerm[], size: number): number {
  const counts = matches.map(
    ({ start }) =>
      new Set(matches.filter((one) => one.start >= start && one.end <= start + size).map(({ term }) => term)).size,
  );
  return Math.max(...counts);
}
