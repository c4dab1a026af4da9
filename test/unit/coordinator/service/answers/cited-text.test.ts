import fc from 'fast-check';
import { CitedText } from '../../../../../coordinator/service/answers/cited-text';

function read(pieces: string[], sources = 3): { text: string; shown: string; citations: unknown[] } {
  const cited = new CitedText(sources);
  let shown = '';
  for (const piece of pieces) shown += cited.take(piece);
  shown += cited.end();
  return { text: cited.text, shown, citations: cited.citations };
}

describe('a text with marks of citations', () => {
  test.each([
    ['Rivers flood. <cite n="1">snow melts</cite> Seas do not.', 'Rivers flood. Seas do not.', [[13, 1, 'snow melts']]],
    ['Rivers flood <cite n=2>snow</cite>.', 'Rivers flood.', [[12, 2, 'snow']]],
    [
      'Rivers flood.<CITE N="2">a</cite ><cite 3>b</CITE>Seas',
      'Rivers flood. Seas',
      [
        [13, 2, 'a'],
        [13, 3, 'b'],
      ],
    ],
    [
      'One. [1] Two.[2, 3] Three. [9]',
      'One. Two. Three. [9]',
      [
        [4, 1, null],
        [9, 2, null],
        [9, 3, null],
      ],
    ],
    [
      'They lie in [1, 2]. So x = [1, 2] holds, and sort([2, 1]) [1], e.g. [2].\n[3] too',
      'They lie in [1, 2]. So x = [1, 2] holds, and sort([2, 1]) [1], e.g. [2].\n[3] too',
      [],
    ],
    [
      'Rivers <cite n="1">flood in spring. It sells. <cite n="2">maps here</cite> Done.',
      'Rivers flood in spring. It sells. Done.',
      [
        [6, 1, null],
        [33, 2, 'maps here'],
      ],
    ],
    ['a <\u2060b> c', 'a <b> c', []],
    ['a < b <c> <cites> [x] [', 'a < b <c> <cites> [x] [', []],
    ['<cite n="7">x</cite>Text', 'Text', [[0, 0, 'x']]],
    ['Text <cite n="1"/> more', 'Text more', [[4, 1, null]]],
    ['Text <cite n="1">never closed', 'Text never closed', [[4, 1, null]]],
    ['Text</cite> more', 'Text more', []],
    ['One\n\n<cite n="1">a < b <i></cite>\nTwo', 'One\n\nTwo', [[3, 1, 'a < b <i>']]],
    ['  Begin and end  ', 'Begin and end', []],
    ['Half <ci', 'Half <ci', []],
  ])('%j', (text, shown, citations) => {
    const found = read([text]);
    expect(found.text).toBe(shown);
    expect(found.citations).toEqual(citations.map(([at, number, quote]) => ({ at, number, quote })));
  });

  test('what breaks off within a mark is a part of one', () => {
    const cut = (text: string) => {
      const cited = new CitedText(3);
      return { shown: cited.take(text) + cited.end(true), citations: cited.citations };
    };
    expect(cut('Rivers flood. <cite n="2">rivers flo')).toEqual({
      shown: 'Rivers flood.',
      citations: [{ at: 13, number: 2, quote: 'rivers flo', isCutOff: true }],
    });
    expect(cut('Rivers flood. <cite n="2">rivers</ci').citations).toMatchObject([{ quote: 'rivers' }]);
    expect(cut('Rivers flood. <cite n').shown).toBe('Rivers flood.');
    expect(cut('Rivers <').shown).toBe('Rivers <');
  });

  test('a quote without end is text, after a while', () => {
    const found = read(['<cite n="1">', ...Array.from({ length: 3000 }, () => 'word ')]);
    expect(found.text).toHaveLength(3000 * 5 - 1);
    expect(found.citations).toEqual([{ at: 0, number: 1, quote: null }]);
  });

  test('is the same wherever it is cut, and what is shown is the text', () => {
    const part = fc.constantFrom(
      '<cite n="1">',
      '<cite n=2>',
      '</cite>',
      '<cite',
      '<',
      '[1]',
      '[1, 2',
      ']',
      '[',
      ' ',
      '\n',
      '.',
      'word',
      'Ä',
      '𐐷',
      '>',
      '/',
      '"',
      '水',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 40 }), fc.array(fc.nat(), { maxLength: 20 }), (parts, cuts) => {
        const text = parts.join('');
        const places = [0, ...cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b), text.length];
        const whole = read([text]);
        const cut = read(places.slice(1).map((end, i) => text.slice(places[i], end)));
        expect(cut).toEqual(whole);
        expect(whole.shown).toBe(whole.text);
        expect(whole.text).toBe(whole.text.trim());
      }),
      { numRuns: 2000 },
    );
  });
});
