import type { KeywordMatch } from '../../../../../coordinator/service/keyword-query';
import { draftIn } from '../../../../../coordinator/service/search/collection-draft';
import { keywordDraft, plannedKeywords } from '../../../../../coordinator/service/search/keyword-planning';
import { analyserFor } from '../../../../../shared/base/text/analyser-for';
import type { Language } from '../../../../../shared/base/text/language';

/** What is asked of a query without signs: terms of units, in brackets with their factor where they fill in. */
function asked(
  language: Language,
  text: string,
  match: KeywordMatch = 'any',
  prefixLast = false,
): { units: string; minimum: number } {
  const clauses = [{ occurs: 'may' as const, text, start: 0, end: text.length }];
  const { terms, plan } = plannedKeywords(keywordDraft({ clauses, match, prefixLast }, analyserFor(language)));
  if (plan === undefined) return { units: terms.join(' '), minimum: 1 };
  const units = plan.units.map(({ terms: places, factors, isOptional }) => {
    const own = places.map((place) => terms[place]).join('+');
    return isOptional ? own : `(${own} ${factors?.join(' ')})`;
  });
  return { units: units.join(' '), minimum: plan.minimum };
}

test('a word without spaces is its pairs, and those across two words fill in', () => {
  expect(asked('zh', '北京')).toEqual({ units: '北京', minimum: 1 });
  expect(asked('zh', '北京 Quiver')).toEqual({ units: '北京 quiver', minimum: 1 });
  expect(asked('zh', '东京和北京')).toEqual({ units: '东京 和 北京 (京和 0.1) (和北 0.1)', minimum: 0 });
  expect(asked('zh', '东京和北京 东京')).toEqual(asked('zh', '东京和北京'));
});

test('where all words have to be there, each is one, and what fills in is none', () => {
  expect(asked('zh', '东京和北京', 'all')).toEqual({ units: '东京 和 北京 (京和 0.1) (和北 0.1)', minimum: 3 });
  expect(asked('ja', 'サーバー', 'all')).toEqual({ units: 'サー+ーバ+バー', minimum: 1 });
  expect(asked('ja', '東京へ行く', { atLeast: 0.5 })).toMatchObject({ minimum: 1 });
  expect(asked('ja', '東京へ行く', 'all')).toMatchObject({ minimum: 2 });
});

test('words of hiragana fill in unless there are only such', () => {
  expect(asked('ja', 'する')).toEqual({ units: 'する', minimum: 1 });
  expect(asked('ja', '設定 する', 'all')).toEqual({ units: '設定 (する 0.1)', minimum: 1 });
});

test('a last word that fills in is needed no more where it is the beginning of one', () => {
  for (const text of ['設定 する', '東京へ', '設定を'])
    expect(asked('ja', text, 'all', true)).toEqual(asked('ja', text, 'all'));
  expect(asked('ja', 'する', 'all', true).minimum).toBe(1);
});

describe('of more terms than are looked for', () => {
  const COUNT = 1_025;
  const words = Array.from({ length: COUNT }, (_, i) => `w${i}`).join(' ');
  const of = (count: number): string => words.split(' ').slice(0, count).join(' ');
  const TOO_MANY = 'it has more than 1024 terms';

  test('the first count where any is enough, and a query of which a share must be there is refused', () => {
    expect(asked('zh', words)).toEqual(asked('zh', of(COUNT - 1)));
    expect(() => asked('zh', words, 'all')).toThrow(TOO_MANY);
    expect(asked('zh', of(COUNT - 1), 'all')).toMatchObject({ minimum: COUNT - 1 });
  });

  test('those of all analysers of fields count together', () => {
    const collection = {
      language: 'en' as const,
      keywordFields: [
        { path: 'title', weight: 1, analyser: 'de' as const },
        { path: 'text', weight: 1 },
      ],
    };
    const draft = (count: number, match: KeywordMatch) =>
      draftIn(collection, {
        clauses: [{ occurs: 'may', text: of(count), start: 0, end: of(count).length }],
        match,
      });
    expect(draft(512, 'all')).toMatchObject({ minimum: 512 });
    expect(draft(513, 'any').terms).toHaveLength(1_024);
    for (const match of ['all', { atLeast: 0.5 }] as const) expect(() => draft(513, match)).toThrow(TOO_MANY);
  });
});
