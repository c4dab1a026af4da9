import { excerpt, highlight } from '../../../../dashboard/search/highlight';

const hits = (text: string, query: string): string[] =>
  highlight(text, query)
    .filter(({ isHit }) => isHit)
    .map((piece) => piece.text);

describe('highlight', () => {
  test.each([
    ['finds words whatever their case and accents', 'Der Fluß und die Café-Bar', 'CAFE', ['Café']],
    [
      'finds other forms of a word',
      'Rivers flood; a river in flood',
      'river floods',
      ['Rivers', 'flood', 'river', 'flood'],
    ],
    ['takes no short word for the beginning of another', 'the theory of an ant', 'an the', ['the']],
    ['finds nothing for a query without words', 'a – b', '–', []],
  ])('%s', (_, text, query, wanted) => {
    expect(hits(text, query)).toEqual(wanted);
  });

  test('leaves out nothing of the text', () => {
    const text = '<b>Danube</b> & the danube; DANUBE!';
    expect(
      highlight(text, 'danube')
        .map((piece) => piece.text)
        .join(''),
    ).toBe(text);
  });
});

describe('excerpt', () => {
  const text = `${'word '.repeat(100)}needle ${'word '.repeat(100)}`;

  test('is the text itself when it is short', () => expect(excerpt('short', 'x', 10)).toBe('short'));
  test('is around the first word that matches', () =>
    expect(excerpt(text, 'needle', 80)).toMatch(/^… word .*needle.* …$/));
  test('is the beginning without one', () => expect(excerpt(text, 'nothing', 80)).toMatch(/^word/));
});
