import { queryTerms } from '../../../../../shared/base/text/analyser';
import { analyserFor } from '../../../../../shared/base/text/analyser-for';
import { TERM_LENGTH_MAX } from '../../../../../shared/base/text/cut-terms';
import { isLanguage, type Language, STEMMED_LANGUAGES } from '../../../../../shared/base/text/language';
import { LanguageAnalyser } from '../../../../../shared/base/text/language-analyser';
import { snowballStemmer } from '../../../../../shared/base/text/snowball-stemmer';
import { stopWords } from '../../../../../shared/base/text/stop-words';

const terms = (language: Language, text: string): string[] => analyserFor(language).terms(text);

/**
 * Terms that stored collections hold: an index by another analyser of the same name and version would lose them. When
 * one of these changes, its analyser's version has to rise.
 */
const GOLDEN: [Language, string, string][] = [
  ['ar', 'الكتاب كِتَابٌ المعلمون', 'كتاب كتاب معلم'],
  ['ca', 'nacions nació ciutats corrien', 'nacion nac ciut corr'],
  ['cs', 'hradu hrady školách', 'hrad hrad skol'],
  ['da', 'bøgerne løberne huset', 'bog lob hus'],
  ['de', 'Häusern Haus Straßen laufen', 'haus haus strass lauf'],
  ['en', 'generously running relational dying', 'generous run relat die'],
  ['es', 'educaciones educacion corriendo niñas', 'educ educ corr nin'],
  ['eu', 'etxeak mendietan', 'etxe mendi'],
  ['fi', 'taloissa kirjojen', 'talo kirj'],
  ['fr', 'économiques élevées chevaux', 'econom elev cheval'],
  ['ga', 'leabhair oibrithe mheasúnacht', 'leabhair oibrithe measun'],
  ['hu', 'házakban könyvek', 'haz konyv'],
  ['hy', 'գրքերի քաղաքներ', 'գրքերի քաղ'],
  ['it', 'nazionali città correndo', 'nazional citt corr'],
  ['nl', 'huizen lichamelijke', 'huiz licham'],
  ['no', 'bøkene havnedistriktene', 'bok havnedistrikt'],
  ['pt', 'informações informacao cidades', 'inform inform cidad'],
  ['ro', 'informații informaţii copiilor', 'inform inform cop'],
  ['ru', 'книгами ёлки бегущая', 'книг елк бегущ'],
  ['sl', 'knjigami odvisen', 'knjig odvis'],
  ['sv', 'böckerna flickornas', 'bock flick'],
  ['ta', 'வீடுகள் மரங்கள்', 'வீடு மரங்'],
  ['tr', 'kitaplarımız IŞIKLAR', 'kitap isik'],
];

describe('an analyser with a language', () => {
  test.each(GOLDEN)('%s: %s', (language, text, expected) => {
    expect(terms(language, text).join(' ')).toBe(expected);
  });

  test('is known for every language that a collection may have', () => {
    expect(GOLDEN.map(([language]) => language)).toEqual([...STEMMED_LANGUAGES]);
    for (const language of STEMMED_LANGUAGES) {
      expect(analyserFor(language)).toMatchObject({ name: `snowball-${language}`, version: 1 });
      expect(stopWords(language).size).toBeGreaterThan(20);
      expect(stopWords(language)).not.toContain('');
    }
    for (const other of ['EN', 'xx', '', 'english', 'constructor', null, 5]) expect(isLanguage(other)).toBe(false);
    expect(() => analyserFor('xx' as Language)).toThrow(expect.objectContaining({ kind: 'storage_failed' }));
  });

  test('stems words with foreign accents like those without', () => {
    expect(terms('en', 'résumés resumes RÉSUMÉ')).toEqual(['resum', 'resum', 'resum']);
    expect(terms('de', 'Café cafe')).toEqual(['caf', 'caf']);
    expect(terms('es', 'café cafe corazon corazón')).toEqual(['caf', 'caf', 'corazon', 'corazon']);
  });

  test('keeps the rest of what the neutral analyser does', () => {
    expect(terms('en', "東京 🎉 co\u00adoperating can't O'Briens \ud800x ۱۲")).toEqual([
      '東',
      '京',
      '東京',
      '🎉',
      'cooper',
      'cant',
      'o',
      'brien',
      'x',
      '12',
    ]);
    expect(terms('en', ' \u0000\u20dd…')).toEqual([]);
  });

  test('caps over-long words', () => {
    for (const language of STEMMED_LANGUAGES) {
      for (const letter of ['x', 'ß', '𐐨']) {
        const [term] = terms(language, letter.repeat(1000));
        expect(term.length).toBeGreaterThan(0);
        expect(term.length).toBeLessThanOrEqual(TERM_LENGTH_MAX);
        expect(term.isWellFormed()).toBe(true);
      }
    }
  });

  test('gives a word the same term whether it remembers it or not', () => {
    const stem = snowballStemmer('en');
    const forgetful = new LanguageAnalyser({ name: 'forgetful', stem, stopWords: new Set(), rememberedWords: 3 });
    const text =
      'running runners ran quickly running walks walking quickly runners likely unlikely walks running'.repeat(3);
    expect(forgetful.terms(text)).toEqual(terms('en', text));
  });
});

describe('stop words', () => {
  test('are left out of a query that holds other words', () => {
    expect(queryTerms(analyserFor('en'), 'What are the effects of the vitamins?')).toEqual(['effect', 'vitamin']);
    expect(queryTerms(analyserFor('de'), 'Wo sind die Häuser?')).toEqual(['wo', 'haus']);
    expect(queryTerms(analyserFor('ru'), 'ещё книги')).toEqual(['книг']);
  });

  test('are all there is to look for in a query of nothing else', () => {
    expect(queryTerms(analyserFor('en'), 'To be, or not to be')).toEqual(['to', 'be', 'or', 'not']);
  });

  test('are stored like all others', () => {
    expect(terms('en', 'To be or not')).toEqual(['to', 'be', 'or', 'not']);
  });
});
