import { foldLetters } from '../../../../../shared/base/text/fold-text';
import { type PlacedText, TextFolder } from '../../../../../shared/base/text/placed-text';
import { resultOf } from '../../../../../shared/base/time/work-slices';

const placed = (text: string, fold = foldLetters): PlacedText => resultOf(new TextFolder(fold).placed(text));

/** For each folded code unit, what of the text it comes from. */
function sources(text: string, fold = foldLetters): [string, string][] {
  const { text: folded, starts, ends } = placed(text, fold);
  return [...Array(folded.length).keys()].map((i) => [folded[i], text.slice(starts?.[i] ?? i, ends?.[i] ?? i + 1)]);
}

describe('a folded text', () => {
  test.each<[string, [string, string][]]>([
    ['', []],
    [
      'aB',
      [
        ['a', 'a'],
        ['b', 'B'],
      ],
    ],
    [
      'ﬁé',
      [
        ['f', 'ﬁ'],
        ['i', 'ﬁ'],
        ['e', 'é'],
      ],
    ],
    [
      'e\u0301\u0323x',
      [
        ['e', 'e\u0301\u0323'],
        ['x', 'x'],
      ],
    ],
    [
      '𝐀ß',
      [
        ['a', '𝐀'],
        ['s', 'ß'],
        ['s', 'ß'],
      ],
    ],
    [
      'ㅎㅏㄴ',
      [
        ['하', 'ㅎㅏ'],
        ['ᄂ', 'ㄴ'],
      ],
    ],
    ['\u1112\u1161\u11ab', [['한', '\u1112\u1161\u11ab']]],
    ['ｶﾞ', [['ガ', 'ｶﾞ']]],
    [
      'é’s l’é',
      [
        ['e', 'é'],
        [' ', ' '],
        ['l', 'l'],
        ['’', '’'],
        ['e', 'é'],
      ],
    ],
    [
      "it's 'a",
      [
        ['i', 'i'],
        ['t', 't'],
        [' ', ' '],
        ["'", "'"],
        ['a', 'a'],
      ],
    ],
    [
      "don't",
      [
        ['d', 'd'],
        ['o', 'o'],
        ['n', 'n'],
        ['t', 't'],
      ],
    ],
    [
      'è\ud800x\udc00',
      [
        ['e', 'è'],
        ['\ud800', '\ud800'],
        ['x', 'x'],
        ['\udc00', '\udc00'],
      ],
    ],
  ])('%j knows where it comes from', (text, expected) => {
    expect(sources(text)).toEqual(expected);
  });

  test('has the places of whole words where neighbours change each other', () => {
    const fold = (text: string): string => foldLetters(text).replaceAll('ab', 'x');
    expect(sources('é ab\u00a0é cabé', fold)).toEqual([
      ['e', 'é'],
      [' ', 'ab\u00a0é'],
      ['x', 'ab\u00a0é'],
      [' ', 'ab\u00a0é'],
      ['e', 'ab\u00a0é'],
      [' ', 'cabé'],
      ['c', 'cabé'],
      ['x', 'cabé'],
      ['e', 'cabé'],
    ]);
  });

  test('is placed in steps', () => {
    const steps = new TextFolder(foldLetters).placed('é'.repeat(100_000));
    let count = 0;
    for (; steps.next().done !== true;) count += 1;
    expect(count).toBeGreaterThan(100);
  });
});
