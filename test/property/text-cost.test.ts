import { defaultAnalyser, queryTerms } from '../../shared/base/text/analyser';
import { analyserFor } from '../../shared/base/text/analyser-for';
import { TERM_LENGTH_MAX } from '../../shared/base/text/cut-terms';
import { foldText } from '../../shared/base/text/fold-text';
import { type Language, LANGUAGES, STEMMED_LANGUAGES } from '../../shared/base/text/language';
import { snowballStemmer } from '../../shared/base/text/snowball-stemmer';
import { SETTINGS } from '../../shared/base/config/settings';
import { expectLinear, processorMs } from '../support/values/linear-cost';
import { seededRandom } from '../support/values/random';

/**
 * What hostile texts cost. Analysis takes time in proportion to the text, whatever is in it, and can be parted: what
 * can't be is a small part of what anybody notices. Bounds in milliseconds are ten times and more of what is measured.
 */

const SCRIPTS: Record<string, string> = {
  latin: 'abcdefghijklmnopqrstuvwxyz',
  accents: 'àáâãçèéêëìíïòóôõùúûýăąćčđęěğłńňőřśşšťůűžßæø',
  greek: 'αβγδεζηθικλμνξοπρσςτυφχψωάέίόύ',
  cyrillic: 'абвгдежзийклмнопрстуфхцчшщъыьэюяё',
  hebrew: 'אבגדהוזחטיכלמנסעפצקרשת',
  arabic: 'ابتثجحخدذرزسشصضطظعغفقكلمنهويآأؤإئةى',
  armenian: 'աբգդեզէըթժիլխծկհձղճմյնշոչպջռսվտրցւփքօֆ',
  tamil: 'அஆஇகசடதபறஙஞணநமனயரலவழளாிீுூெேைொோௌ்',
  devanagari: 'अआइकखगघचछजझटठडतथदधनपफबभमयरलवशषसहािीुू्',
  thai: 'กขคงจฉชซญดตถทนบปผพฟมยรลวสหอำิีึืุู',
  han: '東京都日本国語文字漢海山川木火土金水',
  kana: 'あいうえおかきくけこアイウエオカキクケコ',
  hangul: '한국어글자말하다가나마바사',
  jamo: '\u1100\u1161\u11a8\u1102\u1162\u11ab',
};

/** Texts of one character or a few, again and again, by what is meant. */
const RUNS: Record<string, string> = {
  tatweel: '\u0640',
  'tatweel and a contraction': `${'\u0640'.repeat(1000)}'s`,
  contractions: "a's",
  apostrophes: "'",
  'curly apostrophes after letters': 'a\u2019',
  'a contraction that goes on': "a'sb",
  'combining marks': '\u0301',
  'marks that compose': 'e\u0301',
  'marks in the wrong order': 'a\u0327\u0301',
  'zero width joiners': '\u200d',
  'soft hyphens in a word': 'a\u00ad',
  'lone high surrogates': '\ud800',
  'lone low surrogates': '\udc00',
  'surrogates the wrong way round': '\udc00\ud800',
  'one long word': 'x',
  capitals: 'Σ',
  'sigmas before stops': 'Σ.',
  'dotted capital I': 'İ',
  'I with a dot': 'I\u0307',
  'what expands': '\ufdfa',
  ligatures: '\ufb03',
  'emoji families': '👩\u200d👩\u200d👧',
  'digits of other scripts': '٣',
  spaces: ' ',
  controls: '\u0000',
  ...Object.fromEntries(Object.entries(SCRIPTS).map(([name, letters]) => [`one ${name} letter`, [...letters][0]])),
};

/** Those of them that each language is tried with. */
const LANGUAGE_RUNS = [
  'tatweel and a contraction',
  'contractions',
  'curly apostrophes after letters',
  'combining marks',
  'marks that compose',
  'soft hyphens in a word',
  'one long word',
  'dotted capital I',
  'I with a dot',
  'what expands',
];

/** A text of exactly so many code units. */
function run(part: string, units: number): string {
  return part.repeat(Math.ceil(units / part.length)).slice(0, units);
}

/** Words that are hardly ever met twice. */
function words(script: string, length: number, units: number): string {
  const random = seededRandom(units + length);
  const letters = [...SCRIPTS[script]];
  let text = '';
  while (text.length < units) {
    for (let i = 0; i < length; i++) text += letters[Math.floor(random() * letters.length)];
    text += ' ';
  }
  return text.slice(0, units);
}

const tail = "'s";
const MEBIBYTE = 1_048_576;

describe('analysis takes time in proportion to the text', () => {
  test.each(Object.entries(RUNS))('without a language, of %s', (_name, part) => {
    const cost = expectLinear('terms', (units) => {
      const text = run(part, units) + tail;
      return () => defaultAnalyser.terms(text);
    });
    // A character that stands for eighteen is that much longer.
    expect(cost).toBeLessThan(part === '\ufdfa' ? 2_500 : 1_250);
  });

  test('with places', () => {
    for (const name of LANGUAGE_RUNS) {
      expectLinear(
        name,
        (units) => {
          const text = run(RUNS[name], units) + tail;
          return () => [...defaultAnalyser.placedParts(text)];
        },
        [4_096, 32_768],
      );
    }
  });

  test.each(Object.keys(SCRIPTS))('without a language, of words in %s', (script) => {
    expectLinear(
      'terms',
      (units) => {
        const text = words(script, 6, units);
        return () => defaultAnalyser.terms(text);
      },
      [16_384, 131_072],
    );
  });

  test.each(LANGUAGES)('%s', (language) => {
    // Beside what all languages share, which the tests above look at: stems, and what languages do before.
    for (const name of LANGUAGE_RUNS) {
      expectLinear(
        name,
        (units) => {
          const text = run(RUNS[name], units) + tail;
          return () => analyserFor(language).terms(text);
        },
        [2_048, 16_384],
      );
    }
  });

  test('words of queries', () => {
    for (const name of LANGUAGE_RUNS)
      expectLinear(
        name,
        (units) => {
          const text = run(RUNS[name], units) + tail;
          return () => [...analyserFor('auto').queryWords!(text)];
        },
        [4_096, 32_768],
      );
  });

  test.each(STEMMED_LANGUAGES)('a stem of %s costs no more than in proportion to the word', (language) => {
    const stem = snowballStemmer(language);
    for (const script of ['latin', 'accents', ownScript(language)]) {
      for (const pattern of [
        (length: number) => words(script, length, length),
        (length: number) => [...SCRIPTS[script]][0].repeat(length),
      ]) {
        expectLinear(
          script,
          (units) => {
            const word = pattern(units);
            return () => {
              for (let i = 0; i < 16; i++) stem(word);
            };
          },
          [TERM_LENGTH_MAX / 16, TERM_LENGTH_MAX / 4, TERM_LENGTH_MAX],
        );
      }
    }
  });
});

describe('analysis in parts', () => {
  const longest = SETTINGS.textBytesMax.fallback;

  /** The longest part of the analysis, in milliseconds of the processor. */
  function longestPartMs(language: Language | null, text: string): number {
    const parts = analyserFor(language).parts(text)[Symbol.iterator]();
    let longestMs = 0;
    for (let isOver = false; !isOver;)
      longestMs = Math.max(
        longestMs,
        processorMs(() => (isOver = parts.next().done === true)),
      );
    return longestMs;
  }

  test.each(Object.entries(RUNS))('no part takes long, whatever the text: %s', (_name, part) => {
    const text = run(part, Math.floor(longest / Buffer.byteLength(part)) * part.length);
    // Folding is one part where there is no white space to part at; a third of the bytes are characters that become
    // eighteen.
    expect(longestPartMs(null, text)).toBeLessThan(2_000);
  });

  test.each(LANGUAGES)('no part of words that are new takes long: %s', (language) => {
    for (const script of ['latin', ownScript(language)]) {
      for (const length of [6, TERM_LENGTH_MAX - 1])
        expect(longestPartMs(language, words(script, length, 4_096))).toBeLessThan(500);
    }
  });
});

test('contractions of a text of a mebibyte take no time to speak of', () => {
  const text = run('\u0640', MEBIBYTE) + tail;
  expect(processorMs(() => foldText(text))).toBeLessThan(2000);
});

test.each(LANGUAGES)('a query of the longest text that may be searched by is analysed at once: %s', (language) => {
  const analyser = analyserFor(language);
  const text = words(ownScript(language), 6, SETTINGS.searchTextLengthMax.fallback);
  // Some 20 ms, of Turkish 90.
  expect(processorMs(() => queryTerms(analyser, text))).toBeLessThan(5_000);
});

function ownScript(language: Language): string {
  const scripts: Partial<Record<Language, string>> = { ar: 'arabic', hy: 'armenian', ru: 'cyrillic', ta: 'tamil' };
  return scripts[language] ?? 'accents';
}
