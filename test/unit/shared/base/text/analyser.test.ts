import { keywordText } from '../../../../../node/engine/keyword/keyword-text';
import { defaultAnalyser, queryTerms, QUERY_TERMS_MAX } from '../../../../../shared/base/text/analyser';
import { TERM_LENGTH_MAX } from '../../../../../shared/base/text/cut-terms';

const terms = (text: string): string[] => defaultAnalyser.terms(text);

describe('the analyser', () => {
  test.each([
    [
      'words are lower-cased and cut at punctuation',
      'The quick-brown Fox, 42 times_over!',
      ['the', 'quick', 'brown', 'fox', '42', 'times', 'over'],
    ],
    ['accents fold away', 'Ångström café naïve Ẽ', ['angstrom', 'cafe', 'naive', 'e']],
    ['composed and decomposed letters are one', 'cafe\u0301', ['cafe']],
    [
      'ligatures and special letters are written out',
      'Straße STRASSE œuvre Łódź ﬁre ẞ',
      ['strasse', 'strasse', 'oeuvre', 'lodz', 'fire', 'ss'],
    ],
    ['Turkish dotted and dotless i meet', 'İSTANBUL ışık IŞIK', ['istanbul', 'isik', 'isik']],
    ['full-width forms are the plain ones', 'ＡＢＣ １２３', ['abc', '123']],
    ['digits of other scripts are digits', '٢٠٢٤ ۱۲ १९ ০৯ ๕๙', ['2024', '12', '19', '09', '59']],
    ['English apostrophes vanish', "John's don't we've I’m they'll cat's", ['john', 'dont', 'we', 'i', 'they', 'cat']],
    ['other apostrophes part words', "l'avion dell’acqua O'Brien", ['l', 'avion', 'dell', 'acqua', 'o', 'brien']],
    ['Greek final sigma is sigma', 'ΟΔΟΣ οδός', ['οδοσ', 'οδοσ']],
    ['Cyrillic keeps й and folds ё', 'Йод ёлка', ['йод', 'елка']],
    ['Arabic vowel signs and tatweel fold away', 'كِتَابٌ كـتاب', ['كتاب', 'كتاب']],
    ['Hebrew points fold away', 'שָׁלוֹם', ['שלום']],
    ['Indic vowel signs stay', 'हिन्दी भाषा', ['हिन्दी', 'भाषा']],
    ['Han gives characters and pairs', '東京都', ['東', '京', '東京', '都', '京都']],
    [
      'kana and Hangul give pairs, single ones stand alone',
      'カメラ の 한국어 ㅋ',
      ['カメ', 'メラ', 'の', '한국', '국어', 'ㅋ'.normalize('NFKC')],
    ],
    ['half-width kana are kana', 'ｶﾒﾗ', ['カメ', 'メラ']],
    ['Thai pairs keep their vowel signs', 'กินข้าว', ['กิน'.slice(0, 3), 'นข้', 'ข้า', 'าว']],
    ['Han beside Latin is cut apart', 'AI技術2', ['ai', '技', '術', '技術', '2']],
    ['emoji are terms', 'party 🎉❤️ 👩‍🚀', ['party', '🎉', '❤', '👩', '🚀']],
    ['invisible characters inside a word vanish', 'co\u00adop\u200derate', ['cooperate']],
    ['a zero-width space parts words', 'one\u200btwo', ['one', 'two']],
    ['astral letters work', '𝐇𝐞𝐥𝐥𝐨 𠀀', ['hello', '𠀀']],
    ['nothing but punctuation has no terms', ' \t\n!?—…', []],
    ['the empty text has no terms', '', []],
    ['control characters part words', 'a\u0000b\u0007c', ['a', 'b', 'c']],
    ['lone surrogates part words', 'é\ud800x\udc00y', ['e', 'x', 'y']],
  ])('%s', (_title, text, expected) => {
    expect(terms(text)).toEqual(expected);
  });

  test('what a query finds does not depend on whether its text is plain ASCII', () => {
    const words = "The cat's whiskers don't burn at 451F";
    expect(terms(`${words} é`)).toEqual([...terms(words), 'e']);
  });

  test('over-long words are capped without splitting a code point', () => {
    expect(terms('x'.repeat(1_000_000))).toEqual(['x'.repeat(TERM_LENGTH_MAX)]);
    expect(terms('é'.repeat(1_000_000))).toEqual(['e'.repeat(TERM_LENGTH_MAX)]);
    const [term] = terms(`ж${'𐐨'.repeat(1_000_000)}`);
    expect(term.length).toBe(TERM_LENGTH_MAX - 1);
    expect(Buffer.from(term).toString()).toBe(term);
  });

  // What that costs is measured in test/property/text-cost.test.ts.
  test('a megabyte of combining marks is one term', () => {
    const marks = 'a' + '\u0301\u0316'.repeat(500_000);
    expect(terms(marks)).toEqual(['a']);
    expect(terms('क' + '\u0301\u093c'.repeat(500_000)).length).toBe(1);
  });

  test('a query keeps its first distinct terms', () => {
    expect(queryTerms(defaultAnalyser, 'b a B c a')).toEqual(['b', 'a', 'c']);
    const long = Array.from({ length: 5000 }, (_, i) => `w${i}`).join(' ');
    expect(queryTerms(defaultAnalyser, long).length).toBe(QUERY_TERMS_MAX);
  });
});

describe('keyword text', () => {
  test('joins the text and every string of the metadata at any depth', () => {
    const metadata = { title: 'T', tags: ['x', 3, ['y', { deep: 'z' }]], n: null, ok: true, last: 'end' };
    expect(keywordText('body', metadata)).toBe('body\nT\nx\ny\nz\nend');
    expect(keywordText(null, metadata)).toBe('T\nx\ny\nz\nend');
    expect(keywordText('', {})).toBe('');
  });

  test('counts a text that its metadata repeats once', () => {
    expect(keywordText('a chunk', { text: 'a chunk', source: 'f.txt' })).toBe('a chunk\nf.txt');
  });

  test('takes metadata nested as deep as its size allows', () => {
    const metadata = JSON.parse(`{"a":${'['.repeat(30_000)}"deep"${']'.repeat(30_000)}}`);
    expect(keywordText(null, metadata)).toBe('deep');
  });
});
