import { filterIn } from '../../../../../coordinator/service/synonyms/filter-in';
import type { CollectionWords } from '../../../../../coordinator/service/synonyms/synonyms';
import { ANALYSER_NAMES, type AnalyserName } from '../../../../../shared/base/text/language';
import { stopWords } from '../../../../../shared/base/text/stop-words';
import type { Filter, WordsCondition } from '../../../../../shared/contract/filter/filter';

const PATHS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's', 't'];
/** Of words that members send each other in one message. */
const SENT_BYTES = 4 * 1024 * 1024;

function collectionOf(names: readonly AnalyserName[]): CollectionWords {
  return { language: 'en', keywordFields: names.map((analyser, i) => ({ path: PATHS[i], weight: 1, analyser })) };
}

function asked(collection: CollectionWords, query: string): Filter {
  return filterIn(collection, { type: 'words', query, match: 'all' });
}

function conditionsOf(filter: Filter): WordsCondition[] {
  if (filter.type === 'and' || filter.type === 'or') return filter.filters.flatMap(conditionsOf);
  return filter.type === 'words' ? [filter] : [];
}

test('what an analyser has besides its stop words is asked once for all of them', () => {
  const filter = asked(collectionOf(['de', 'fr']), 'die maison der hund les das');
  const any = conditionsOf(filter).filter(({ match }) => match === 'any');
  expect(any).toEqual([
    { type: 'words', query: 'maison hund les', match: 'any', analyser: 'de' },
    { type: 'words', query: 'die maison der hund das', match: 'any', analyser: 'fr' },
  ]);
});

test('a word that is there again asks for nothing more', () => {
  const collection = collectionOf(['de', 'fr']);
  const once = conditionsOf(asked(collection, 'die maison hund'));
  expect(conditionsOf(asked(collection, 'die maison hund hund die maison die'))).toEqual(once);
});

test('a filter of very many stop words of many languages fits in a message', () => {
  const names = ANALYSER_NAMES.slice(0, PATHS.length);
  const words = [...new Set(names.flatMap((name) => [...stopWords(name as Parameters<typeof stopWords>[0])]))];
  const query = words.slice(-1024).join(' ');
  expect(Buffer.byteLength(JSON.stringify(asked(collectionOf(names), query)))).toBeLessThan(SENT_BYTES);
});
