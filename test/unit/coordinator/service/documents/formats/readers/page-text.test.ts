import { type PagePiece, pageText } from '../../../../../../../coordinator/service/documents/formats/readers/page-text';

/** Lines of ten points from the top; a number is where the next one stands. */
function page(...lines: (string | number)[]): string {
  return pageText(piecesOf(lines));
}

/** The same, turned by an angle, and each line in two pieces, of which the second stands behind the first. */
function piecesOf(lines: (string | number)[], degrees = 0): PagePiece[] {
  let y = 800;
  const [cos, sin] = [Math.cos((degrees * Math.PI) / 180), Math.sin((degrees * Math.PI) / 180)];
  const transform = (x: number): number[] => [
    ...[10 * cos, 10 * sin, -10 * sin, 10 * cos],
    ...[x * cos - y * sin, x * sin + y * cos],
  ];
  const pieces: PagePiece[] = [];
  for (const line of lines) {
    if (typeof line === 'number') y = line;
    else {
      const half = line.length >> 1;
      pieces.push({ str: line.slice(0, half), hasEOL: false, height: 10, transform: transform(50) });
      pieces.push({ str: line.slice(half), hasEOL: true, height: 10, transform: transform(250) });
      y -= 12;
    }
  }
  return pieces;
}

test('lines stay, and paragraphs begin where there is more between them, or where a column begins', () => {
  expect(page('one', 'two', 740, 'three', 800, 'other column')).toBe('one\ntwo\n\nthree\nother column');
  expect(page('One', 'two.', 800, 'other column')).toBe('One\ntwo.\n\nother column');
  expect(page('one', 'two', 800, 'Another column')).toBe('one\ntwo\n\nAnother column');
});

test.each([90, 180, 270, 45])('lines that are turned by %d degrees are the same', (degrees) => {
  const lines = ['one', 'two', 740, 'three', 800, 'Other column'];
  expect(pageText(piecesOf(lines, degrees))).toBe('one\ntwo\n\nthree\n\nOther column');
});

test('what stands in another direction is a paragraph of its own', () => {
  expect(pageText([...piecesOf(['one', 'two']), ...piecesOf([776, 'turned'], 90)])).toBe('one\ntwo\n\nturned');
});

test('a word that the end of a line divides is one', () => {
  expect(page('an exam-', 'ple of', 'UTF-', '8 and Half-', 'Moon')).toBe('an example of\nUTF-\n8 and Half-\nMoon');
});

test('what a font has no letters for is left out', () => {
  expect(page('a\0b\ud800', ' ')).toBe('ab\ufffd');
});
