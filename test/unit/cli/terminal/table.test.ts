import { duration } from '../../../../cli/terminal/progress';
import { size } from '../../../../cli/terminal/print';
import { printableLines, table } from '../../../../cli/terminal/table';

describe('a table', () => {
  test('lines up by what a terminal shows, numbers to the right', () => {
    expect(
      table(
        ['name', 'n', 'x'],
        [
          ['日本', 5, 'a'],
          ['e\u0301', 1234, null],
        ],
      ),
    ).toBe('name     n  x\n日本     5  a\né     1234  -\n'.replace('é', 'e\u0301'));
  });

  test('shows control characters as what they are, and cuts lines', () => {
    expect(table(['a'], [['\u001b[31mred\n\tx\r\ny\r']])).toBe('a\n\\x1b[31mred⏎⇥x⏎y\\x0d\n');
    expect(table(['text'], [['0123456789']], 6)).toBe('text\n01234…\n');
    expect(printableLines('a\n\u001b]52;c;eA==\u0007 b\r\n\u009bc')).toBe('a\n\\x1b]52;c;eA==\\x07 b\n\\x9bc');
  });
});

test('sizes and times are as people read them', () => {
  expect([0, 1023, 1024, 1_500_000, 3 * 2 ** 40].map(size)).toEqual(['0 B', '1023 B', '1.0 KiB', '1.4 MiB', '3.0 TiB']);
  expect([0.4, 59, 185, 7800].map(duration)).toEqual(['0 s', '59 s', '3 min 5 s', '2 h 10 min']);
});
