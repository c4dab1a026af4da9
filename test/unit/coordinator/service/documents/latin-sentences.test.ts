import fc from 'fast-check';
import { latinSentenceStarts } from '../../../../../coordinator/service/documents/latin-sentences';

const LINE_ENDS = /[\r\n\u0085\u2028\u2029]/g;
const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });

function segmented(text: string): number[] {
  return Array.from(segmenter.segment(text.replace(LINE_ENDS, ' ')), ({ index }) => index).slice(1);
}

test.each([
  'Mr. Smith came. He left! "Did he?" (Yes.) 3.5 metres, U.S.A. e.g. this. Then',
  'one.two. three. Four; five. ; Six. - seven. 8 nine. 8 Ten',
  '«Où?» demanda-t-il. «Là…» — Oui. Ébène',
  'No end',
  '',
])('%j has its sentences where Intl.Segmenter has them', (text) => {
  expect(latinSentenceStarts(text)).toEqual(/…/.test(text) ? null : segmented(text));
});

test('so has every text of Latin letters', () => {
  const unit = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...'aB1.!? \n"\'(),;:-«»“”’–—é') },
    { weight: 1, arbitrary: fc.integer({ min: 0x20, max: 0x17f }).map((code) => String.fromCharCode(code)) },
    { weight: 1, arbitrary: fc.integer({ min: 0x2013, max: 0x203a }).map((code) => String.fromCharCode(code)) },
  );
  let known = 0;
  fc.assert(
    fc.property(fc.string({ unit, maxLength: 40 }), (text) => {
      const starts = latinSentenceStarts(text);
      if (starts === null) return;
      known += 1;
      expect(starts).toEqual(segmented(text));
    }),
    { numRuns: 3_000 },
  );
  expect(known).toBeGreaterThan(500);
});

test('each single character is as it is there, beside each kind of neighbour', () => {
  const around = ['A.', 'a. ', '."', '. )', '!', 'x.'].flatMap((before) =>
    ['B', ' b', '1', '.', ' "C'].map((after) => [before, after]),
  );
  for (const code of [
    ...Array.from({ length: 0x180 }, (_, i) => i),
    ...Array.from({ length: 0x28 }, (_, i) => 0x2013 + i),
  ]) {
    for (const [before, after] of around) {
      const text = before + String.fromCharCode(code) + after;
      const starts = latinSentenceStarts(text);
      if (starts !== null) expect([text, starts]).toEqual([text, segmented(text)]);
    }
  }
});

test('what it does not know is left to the segmenter', () => {
  for (const text of ['日本。', 'a\u0301. B', 'x\u00ad. Y', 'a👍. B', '\0. A'])
    expect(latinSentenceStarts(text)).toBe(null);
});
