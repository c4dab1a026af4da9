import type { KeywordClause } from '../../../../../coordinator/service/keyword-query';
import { simpleClauses } from '../../../../../coordinator/api/fields/simple-query';

const clausesOf = (query: string): KeywordClause[] => {
  const clauses = simpleClauses(query);
  if (typeof clauses === 'number') throw new Error(`unbalanced at ${clauses}`);
  return clauses;
};

/** Clauses in short: sign, path, text. */
const short = (query: string): string[] =>
  clausesOf(query).map(
    ({ occurs, path, text, stands, near }) =>
      `${{ may: '', must: '+', not: '-' }[occurs]}${path === undefined ? '' : `[${path}]`}${text}${stands === undefined ? '' : ` (${stands})`}${near === undefined ? '' : ` [${near}]`}`,
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
    [
      '"red storm" +"a b"~3 -title:"x y" "one" "a" b',
      ['red storm [0]', '+a b [3]', '-[title]x y [0]', 'one', 'a', 'b'],
    ],
    ['"a b"c "say \\"no\\" now" 5" a"b c"', ['a b [0]', 'c', 'say "no" now [0]', '5"', 'a"b', 'c"']],
    ['"" "…"~2 +""', []],
    ['"a b"~12345 "c d"~99999999999999999999', ['a b [12345]', 'c d [1000000]']],
    ['', []],
  ])('%j', (query, clauses) => {
    expect(short(query)).toEqual(clauses);
  });

  test('says where each clause stands', () => {
    const query = '  +red\ttitle:\\-x -"a b"~12 ';
    expect(clausesOf(query).map(({ start, end }) => query.slice(start, end))).toEqual([
      '+red',
      'title:\\-x',
      '-"a b"~12',
    ]);
  });

  test.each([
    ['"a b', 0],
    ['one two +"three', 9],
    ['"a b" title:"c', 12],
    ['"a \\" b', 0],
  ])('%j has a quote that no other ends at %i', (query, place) => {
    expect(simpleClauses(query)).toBe(place);
  });
});
