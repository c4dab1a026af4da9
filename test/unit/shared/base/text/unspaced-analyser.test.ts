import type { QueryWord } from '../../../../../shared/base/text/analyser';
import { defaultAnalyser } from '../../../../../shared/base/text/analyser';
import { analyserFor } from '../../../../../shared/base/text/analyser-for';
import { type UnspacedLanguage, UNSPACED_LANGUAGES } from '../../../../../shared/base/text/language';

function wordsOf(language: UnspacedLanguage, text: string): QueryWord[] {
  return [...analyserFor(language).queryWords!(text)].flat();
}

/** Words and fillers as they are in the query; what is no word in brackets. */
function shown(language: UnspacedLanguage, text: string): string {
  return wordsOf(language, text)
    .filter(({ kind }) => kind !== 'joint')
    .map(({ start, end, kind }) => (kind === 'word' ? text.slice(start, end) : `(${text.slice(start, end)})`))
    .join(' ');
}

// All dictionaries cut these words so.
test('queries of scripts without spaces have words', () => {
  expect(shown('zh', '我喜欢北京')).toBe('我 喜欢 北京');
  expect(shown('zh', '东京和北京')).toBe('东京 和 北京');
  expect(shown('auto', '东京和北京')).toBe('东京 和 北京');
  for (const language of ['ja', 'auto'] as const) expect(shown(language, '東京へ行く')).toBe('東京 行く');
  expect(shown('ja', '新しい設定')).toContain('設定');
});

test('particles of Korean fill in, behind nouns of two characters and more', () => {
  for (const language of ['ko', 'auto'] as const) {
    expect(shown(language, '도서관에서 책을 빌리는 학생')).toBe('도서관 (에서) 책을 빌리 학생');
    expect(wordsOf(language, '한국어를').map(({ text, kind }) => [text, kind])).toEqual([
      ['한국어', 'word'],
      ['어를', 'joint'],
    ]);
    expect(wordsOf(language, '에서')).toMatchObject([{ terms: ['에서'], kind: 'word' }]);
  }
  expect(shown('zh', '도서관에서')).toBe('도서관에서');
});

test('a word stands for all of its pairs, a single character for itself', () => {
  const [word, ...others] = wordsOf('zh', 'サーバー');
  expect(others).toEqual([]);
  expect(word).toEqual({ text: 'サーバー', terms: ['サー', 'ーバ', 'バー'], start: 0, end: 4, kind: 'word' });
  for (const language of UNSPACED_LANGUAGES) {
    expect(wordsOf(language, '京')).toMatchObject([{ terms: ['京'] }]);
    expect(wordsOf(language, 'か')).toMatchObject([{ terms: ['か'] }]);
  }
});

test('pairs across two words are none', () => {
  expect(wordsOf('zh', '东京和北京').map(({ text, kind }) => [text, kind])).toEqual([
    ['东京', 'word'],
    ['京和', 'joint'],
    ['和', 'word'],
    ['和北', 'joint'],
    ['北京', 'word'],
  ]);
});

test('filters look for pairs, without a dictionary, and for single characters alone', () => {
  for (const language of UNSPACED_LANGUAGES) {
    const analyser = analyserFor(language);
    expect(analyser.termsToFind('东京和北京')).toEqual(['东京', '京和', '和北', '北京']);
    expect(analyser.termsToFind('京，か Quiver 2 🙂')).toEqual(['京', 'か', 'quiver', '2', '🙂']);
  }
});

test('what is stored are the terms of texts without a language', () => {
  const text = 'Quiver 的 𠮷野家でｶﾞｲﾄﾞを読む。한국어 ภาษาไทย';
  for (const language of UNSPACED_LANGUAGES) {
    const analyser = analyserFor(language);
    expect(analyser).toMatchObject({ name: `unspaced-${language}`, version: 1 });
    expect(analyser.terms(text)).toEqual(defaultAnalyser.terms(text));
    expect([...analyser.placedParts(text)]).toEqual([...defaultAnalyser.placedParts(text)]);
  }
});

test('words of other scripts, full-width forms, half-width kana and characters beyond the basic plane have their places', () => {
  const text = '𠮷野家 Ｑｕｉｖｅｒ、ｶﾞｲﾄﾞ🙂 don’t';
  const words = wordsOf('auto', text).filter(({ kind }) => kind !== 'joint');
  expect(words.map(({ start, end }) => text.slice(start, end)).join('|')).toMatch(/\|Ｑｕｉｖｅｒ\|ｶﾞｲﾄﾞ\|🙂\|don’t$/);
  expect(words.map((word) => word.text)).toEqual(expect.arrayContaining(['quiver', 'ガイド', '🙂', 'dont']));
  // It is not in every dictionary, and no character of it is halved.
  expect(wordsOf('auto', '𠮷野家').flatMap(({ terms }) => terms)).toEqual(expect.arrayContaining(['𠮷野', '野家']));
});

test('a run is cut the same whatever its length, and in steps', () => {
  const run = '东京和北京'.repeat(10_000);
  const parts = [...analyserFor('zh').queryWords!(run)];
  expect(Math.max(...parts.map((part) => part.length))).toBeLessThan(1_100);
  const words = parts.flat().filter(({ kind }) => kind === 'word');
  expect(words.map(({ text }) => text).join('')).toBe(run);
  expect(new Set(words.map(({ text }) => text))).toEqual(new Set(['东京', '和', '北京']));
  expect(words.every(({ text, start, end }) => run.slice(start, end) === text)).toBe(true);
});
