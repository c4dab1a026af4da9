import { type PagePiece, pageText } from '../../../../../../../coordinator/service/documents/formats/readers/page-text';

/** Lines of ten points from the top; a number is where the next one stands. */
function page(...lines: (string | number)[]): string {
  let y = 800;
  const pieces: PagePiece[] = [];
  for (const line of lines) {
    if (typeof line === 'number') y = line;
    else {
      pieces.push({ str: line, hasEOL: true, height: 10, transform: [10, 0, 0, 10, 0, y] });
      y -= 12;
    }
  }
  return pageText(pieces);
}

test('lines stay, and paragraphs begin where there is more between them, or where a column begins', () => {
  expect(page('one', 'two', 740, 'three', 800, 'other column')).toBe('one\ntwo\n\nthree\n\nother column');
});

test('a word that the end of a line divides is one', () => {
  expect(page('an exam-', 'ple of', 'UTF-', '8 and Half-', 'Moon')).toBe('an example of\nUTF-\n8 and Half-\nMoon');
});

test('what a font has no letters for is left out', () => {
  expect(page('a\0b\ud800', ' ')).toBe('ab\ufffd');
});
