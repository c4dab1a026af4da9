/** Rows of text in columns that line up; numbers to the right. Widths count what a terminal shows, not code units. */
export function table(columns: string[], rows: (string | number | null)[][], widthMax = Infinity): string {
  const cells = rows.map((row) => row.map((cell) => printable(cell)));
  const widths = columns.map((name, i) => Math.max(widthOf(name), ...cells.map((row) => widthOf(row[i]))));
  const isRight = columns.map(
    (_, i) => rows.length > 0 && rows.every((row) => typeof row[i] === 'number' || row[i] === null),
  );
  const line = (row: string[]): string => {
    const text = row
      .map((cell, i) =>
        isRight[i]
          ? ' '.repeat(widths[i] - widthOf(cell)) + cell
          : i === row.length - 1
            ? cell
            : cell + ' '.repeat(widths[i] - widthOf(cell)),
      )
      .join('  ');
    return cut(text.trimEnd(), widthMax);
  };
  return [columns.map((name) => name), ...cells].map((row) => `${line(row)}\n`).join('');
}

/** Control characters would move the cursor or worse: they are shown as what they are, those of lines by a sign. */
export function printable(cell: string | number | null): string {
  if (cell === null) return '-';
  return String(cell)
    .replaceAll(/\r?\n/g, '⏎')
    .replaceAll('\t', '⇥')
    .replaceAll(
      /[\u0000-\u001f\u007f-\u009f]/g,
      (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
    );
}

/** The same of a text of several lines. */
export function printableLines(text: string): string {
  return text.split(/\r?\n/).map(printable).join('\n');
}

function cut(text: string, widthMax: number): string {
  if (widthOf(text) <= widthMax) return text;
  let width = 0;
  let end = 0;
  for (const character of text) {
    width += widthOf(character);
    if (width > widthMax - 1) break;
    end += character.length;
  }
  return `${text.slice(0, end)}…`;
}

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const WITHOUT_WIDTH = /\p{Mn}|\p{Me}|\p{Cf}/u;

function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += WITHOUT_WIDTH.test(character) ? 0 : WIDE.test(character) ? 2 : 1;
  return width;
}
