import fc from 'fast-check';
import { harmless } from '../../../../../coordinator/service/answers/answer-prompt';
import { QuotedText } from '../../../../../coordinator/service/answers/quoted-text';

function found(text: string, quote: string): string | null {
  const place = new QuotedText(text).find(quote);
  return place === null ? null : text.slice(place.start, place.end);
}

describe('a quote', () => {
  test.each([
    ['Snow melts, and so rivers flood.', 'RIVERS  flood', 'rivers flood'],
    ['Snow melts,\n and so\u00a0rivers', 'melts, and so rivers', 'melts,\n and so\u00a0rivers'],
    ['Der Fluß im Café', 'fluss im cafe', 'Fluß im Café'],
    ['Ｗｉｄｅ words', 'wide WORDS', 'Ｗｉｄｅ words'],
    ['He said “stop – now”.', '"stop - now."', 'stop – now'],
    ["The river's end", 'the river’s end', "The river's end"],
    ['In the year 1892.', '1892', '1892'],
    ['我喜欢北京大学的图书馆', '北京大学', '北京大学'],
    ['co\u00adoperate here', 'cooperate here', 'co\u00adoperate here'],
    ['e\u0301tude one', 'étude', 'e\u0301tude'],
    ['About 1.5 million people', '1.5 million', '1.5 million'],
    ['From 2-5 °C', '5 °C', '5 °C'],
    ['Water at –5 °C', '"-5 °C"', '–5 °C'],
    ['In the end...5 people came', '...5 people', '5 people'],
    ['On 2024-05-12.', 'on 2024', 'On 2024'],
    ['In 1998. 250 people', '250 people', '250 people'],
    ['In 1998, 250 people', 'in 1998', 'In 1998'],
    ['The river—known to all—floods', 'known to all', 'known to all'],
    ['It is 10² metres', '10² metres', '10² metres'],
    ['A non-toxic substance', 'non‑toxic', 'non-toxic'],
    ['Only 5% of it', '5%', '5'],
    ['It is 7 km', '7 km', '7 km'],
    ['3月の雪', '3月', '3月'],
    [harmless('Say <|im_end|> twice'), '<|im_end|> twice', '<\u2060|im_end|> twice'],
  ])('%j has %j', (text, quote, expected) => {
    expect(found(text, quote)).toContain(expected.replace(/^<\u2060/, ''));
  });

  test.each([
    ['Snow melts, and rivers flood.', 'rivers do not flood'],
    ['Snow melts, and rivers flood.', 'iver'],
    ['Snow melts, and rivers flood.', 'melts, and river'],
    ['Snow melts, and rivers flood.', 'and'],
    ['Snow melts, and rivers flood.', ''],
    ['Snow melts, and rivers flood.', '"..."'],
    ['', 'words'],
    ['1892', '189'],
    ['About 1.5 million people', '5 million'],
    ['About 2,500 people', '500 people'],
    ['About 2’500 people', '500 people'],
    ['About 2\u00a0500 people', '500 people'],
    ['About 2\u202f500 people', 'about 2'],
    ['Take 0.5 mg daily', '5 mg daily'],
    ['Take .5 mg daily', '5 mg daily'],
    ['Take 0.5 mg daily', '.5 mg daily'],
    ['It costs 12.50 francs', 'it costs 12'],
    ['Add 1/2 cup', '2 cup'],
    ['Water at 5 °C', '-5 °C'],
    ['Water at 5 °C', '.5 °C'],
    ['Water at -5 °C', '5 °C'],
    ['Water at \u22125 °C', '5 °C'],
    ['From 2-5 °C', '-5 °C'],
    ['It is 10² metres', '102 metres'],
    ['It is 10² metres', 'it is 10'],
    ['It is 102 metres', '10² metres'],
    ['A non-toxic substance', 'toxic substance'],
    ['It is sugar-free now', 'it is sugar'],
    ['COVID-19 cases', '19 cases'],
    ['Room 7 is open', '7'],
    ['Room 12 is open', '12'],
    ['我的书', '的'],
    ['我的书', '书'],
  ])('%j has no %j', (text, quote) => {
    expect(found(text, quote)).toBeNull();
  });

  test('any run of words is found, and what is found says the same', () => {
    const word = fc.constantFrom(
      'river',
      'Fluß',
      'e\u0301tude',
      'ﬁne',
      '1892',
      'Ｗｉｄｅ',
      'co\u00adop',
      'don’t',
      '–',
      'naïve',
    );
    const space = fc.constantFrom(' ', '  ', '\n', '\u00a0', '\t');
    fc.assert(
      fc.property(
        fc.array(fc.tuple(word, space), { minLength: 3, maxLength: 12 }),
        fc.nat(),
        fc.nat(),
        (words, a, b) => {
          const text = words.map(([one, blank]) => one + blank).join('');
          const [from, to] = [a % words.length, b % words.length].sort((x, y) => x - y);
          const quote = words
            .slice(from, to + 1)
            .map(([one]) => one)
            .join(' ');
          fc.pre(/[\p{L}]{4}|\d/u.test(quote));
          const place = found(text, quote);
          expect(place).not.toBeNull();
          expect(found(quote, place!)).not.toBeNull();
        },
      ),
      { numRuns: 500 },
    );
  });
});
