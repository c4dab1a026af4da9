import { OwnStopWords, type StopWords } from '../../../../../coordinator/service/synonyms/own-stop-words';
import { Synonyms } from '../../../../../coordinator/service/synonyms/synonyms';
import { askedWords } from '../../../../../coordinator/service/search/query-words';
import { analyserFor } from '../../../../../shared/base/text/analyser-for';
import type { Language } from '../../../../../shared/base/text/language';
import type { Filter } from '../../../../../shared/contract/filter/filter';

function own(language: Language | null, words: Partial<StopWords>): OwnStopWords {
  return new OwnStopWords(analyserFor(language), { add: [], remove: [], ...words });
}

function filtered(analyser: OwnStopWords, query: string, match: 'any' | 'all' = 'all'): string {
  const shown = (one: Filter): string => {
    if (one.type === 'words') return `${one.match}(${one.query}${one.stands === undefined ? '' : '*'})`;
    return one.type === 'and' || one.type === 'or' ? `[${one.filters.map(shown).join(` ${one.type} `)}]` : one.type;
  };
  return shown(new Synonyms([], analyser).inFilter({ type: 'words', query, match }));
}

test('words are left out or kept in all their forms, and where there are no others all count', () => {
  const analyser = own('en', { add: ['Item'], remove: ['the'] });
  expect(analyser.termsToFind('the items of Rome')).toEqual(['the', 'rome']);
  expect(analyser.termsToFind('items of')).toEqual(['item', 'of']);
  expect(own(null, { add: ['item'] }).termsToFind('item 東京')).toEqual(['東', '京', '東京']);
});

test('what is stored, and what is shown of it, is that of the language', () => {
  const [plain, analyser] = [analyserFor('en'), own('en', { add: ['item'], remove: ['the'] })];
  const text = 'The items of 東京';
  expect(analyser.terms(text)).toEqual(plain.terms(text));
  expect([...analyser.parts(text)].flat()).toEqual([...plain.parts(text)].flat());
  expect([analyser.name, analyser.version]).toEqual([plain.name, plain.version]);
  expect([...analyser.placedParts(text)].flat().map(({ term, isStopWord }) => [term, isStopWord])).toEqual(
    [...plain.placedParts(text)].flat().map(({ term }) => [term, term === 'item' || term === 'of']),
  );
  expect(analyser.queryWords).toBeUndefined();
});

test('words by a dictionary are left out, and those that fill in count', () => {
  const words = (given: Partial<StopWords>, text: string): string[] =>
    askedWords(own('ja', given), text, 'any').flatMap(({ kind, terms }) => (kind === 'word' ? [terms.join('+')] : []));
  expect(words({}, '設定 東京')).toEqual(['設定', '東京']);
  expect(words({ add: ['設定'] }, '設定 東京')).toEqual(['東京']);
  expect(words({ add: ['設定'] }, '設定')).toEqual(['設定']);
  expect(words({ remove: ['する'] }, '設定 する')).toEqual(['設定', 'する']);
  expect(own('ja', { add: ['設定'] }).termsToFind('設定 東京')).toEqual(['東京']);
});

test('a filter asks shards for the words that count', () => {
  const analyser = own('en', { add: ['item'], remove: ['the', 'who'] });
  expect(filtered(analyser, 'red items')).toBe('all(red)');
  expect(filtered(analyser, 'the red items')).toBe('[all(red) and all(the)]');
  expect(filtered(analyser, 'the who', 'any')).toBe('any(the who)');
  expect(filtered(analyser, 'who is red', 'any')).toBe('[any(red) or any(who)]');
  expect(filtered(analyser, 'items of')).toBe('[all(items) and all(of)]');
});
