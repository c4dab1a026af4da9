import { hasPhrase, phraseOf } from '../../../../../shared/base/text/phrase';
import { defaultAnalyser } from '../../../../../shared/base/text/analyser';
import { resultOf } from '../../../../../shared/base/time/work-slices';
import { plainHasPhrase } from '../../../../support/models/plain-phrase';
import { seededRandom } from '../../../../support/values/random';

const has = (text: string, phrase: string, near = 0): boolean =>
  resultOf(hasPhrase(defaultAnalyser, phraseOf(defaultAnalyser, phrase, near), text));

test.each([
  ['今天A股市场大涨', ['A股', '天A股', 'A股市', 'A股市场', '股市', 'A 股'], ['A市', '市股']],
  ['食べ物と東京タワー 3月份', ['3月', '3月份', 'と東京', '東京タ', '食べ', 'べ物', '物と'], ['食物', '東タ', '3份']],
])('Han characters of %s stand together whatever is beside them', (text, within, not) => {
  expect([...within, text].filter((phrase) => !has(text, phrase))).toEqual([]);
  expect(not.filter((phrase) => has(text, phrase))).toEqual([]);
});

test('each part of a text of Han characters and words is in it, and nothing else', () => {
  const random = seededRandom(7);
  const texts = Array.from({ length: 60 }, () =>
    Array.from({ length: 12 }, () => '京東市股 ab'[Math.floor(random() * 7)]).join(''),
  );
  /** Han characters, and words between them. */
  const cut = (text: string): string[] => text.match(/[ab]+|[京東市股]/g) ?? [];
  let found = 0;
  for (const text of texts)
    for (const other of texts) {
      const phrase = other.slice(0, 2 + Math.floor(random() * 3)).trim();
      if (phrase === '') continue;
      const expected = plainHasPhrase(cut(phrase), 0, cut(text));
      expect({ text, phrase, has: has(text, phrase) }).toEqual({ text, phrase, has: expected });
      found += expected ? 1 : 0;
    }
  expect(found).toBeGreaterThan(100);
});

test('a phrase that repeats its beginning is found wherever it is', () => {
  const random = seededRandom(11);
  const words = (count: number): string[] => Array.from({ length: count }, () => 'ab'[Math.floor(random() * 2)]);
  let found = 0;
  for (let i = 0; i < 2_000; i += 1) {
    const [phrase, text] = [words(1 + (i % 7)), words(20)];
    const expected = plainHasPhrase(phrase, 0, text);
    expect({ phrase, text, has: has(text.join(' '), phrase.join(' ')) }).toEqual({ phrase, text, has: expected });
    found += expected ? 1 : 0;
  }
  expect(found).toBeGreaterThan(500);
});
