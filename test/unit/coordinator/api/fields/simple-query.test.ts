import { simpleClauses } from '../../../../../coordinator/api/fields/simple-query';

/** Clauses in short: sign, path, text. */
const short = (query: string): string[] =>
  simpleClauses(query).map(
    ({ occurs, path, text, stands }) =>
      `${{ may: '', must: '+', not: '-' }[occurs]}${path === undefined ? '' : `[${path}]`}${text}${stands === undefined ? '' : ` (${stands})`}`,
  );

describe('a query in the simple syntax', () => {
  test.each([
    ['red  storm', ['red', 'storm']],
    [
      '+red -blue title:storm +author.name:Ann -title:calm',
      ['+red', '-blue', '[title]storm', '+[author.name]Ann', '-[title]calm'],
    ],
    ['state-of-the-art e-mail', ['state-of-the-art', 'e-mail']],
    ['--x ++y -+z', ['--x', '+\u002by', '-+z']],
    ['+ - +- -- … +… -title:…', []],
    ['https://example.org 12:30 Note: x', ['https://example.org', '12:30', 'Note:', 'x']],
    ['\\-red \\+x title\\:y a\\ b \\\\', ['-red', '+x', 'title:y', 'a b']],
    ['a\\', ['a\\']],
    ['-é:漢字 +\u{1F600}', ['-[é]漢字', '+\u{1F600}']],
    ['rive* sea~ lake~1 pond~2 ditch~0', ['rive (prefix)', 'sea (auto)', 'lake (1)', 'pond (2)', 'ditch (0)']],
    ['a\\* b\\~ c~3 d~~ * ~ ** e**', ['a*', 'b~', 'c~3', 'd~ (auto)', 'e* (prefix)']],
    ['', []],
  ])('%j', (query, clauses) => {
    expect(short(query)).toEqual(clauses);
  });

  test('says where each clause stands', () => {
    const query = '  +red\ttitle:\\-x  ';
    expect(simpleClauses(query).map(({ start, end }) => query.slice(start, end))).toEqual(['+red', 'title:\\-x']);
  });
});
