import { EXCERPT_MAX, excerptOf } from '../../../../dashboard/search/excerpt';

/** What is found stands in brackets. */
const shown = (hit: Parameters<typeof excerptOf>[0]): string =>
  excerptOf(hit)
    .map(({ text, isFound }) => (isFound ? `[${text}]` : text))
    .join('');

test.each([
  [
    'the words that the service found',
    { text: 'Rivers flood', highlights: [{ text: 'Rivers flood', start: 0, spans: [[0, 6]] }] },
    '[Rivers] flood',
  ],
  [
    'the best fragment',
    {
      text: 'a big river here',
      highlights: [
        {
          text: 'big river',
          start: 2,
          spans: [
            [2, 5],
            [6, 11],
          ],
        },
        { text: 'a', start: 0, spans: [[0, 1]] },
      ],
    },
    '… [big] [river] …',
  ],
  ['the text where nothing was found', { text: 'short', highlights: [] }, 'short'],
  ['the beginning of a long one', { text: 'x'.repeat(EXCERPT_MAX + 1) }, `${'x'.repeat(EXCERPT_MAX)} …`],
  ['nothing of no text', {}, ''],
] as [string, Parameters<typeof excerptOf>[0], string][])('an excerpt is %s', (_, hit, expected) => {
  expect(shown(hit)).toBe(expected);
});
