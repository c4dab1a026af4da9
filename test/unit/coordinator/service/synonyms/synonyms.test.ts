import { keywordDraft } from '../../../../../coordinator/service/search/keyword-planning';
import { wholeBag } from '../../../../../coordinator/service/search/query-words';
import { Synonyms, synonymsOf } from '../../../../../coordinator/service/synonyms/synonyms';
import type { SynonymRule } from '../../../../../coordinator/service/synonyms/synonym-rules';
import type { Analyser } from '../../../../../shared/base/text/analyser';
import { analyserFor } from '../../../../../shared/base/text/analyser-for';
import type { Language } from '../../../../../shared/base/text/language';
import type { Filter } from '../../../../../shared/contract/filter/filter';

/** What is looked for with all words: units, in brackets the meanings of several terms, phrases in quotes. */
function asked(language: Language | null, rules: SynonymRule[], text: string): string {
  const analyser = analyserFor(language);
  const query = { ...wholeBag(text), match: 'all' as const };
  const { terms, units } = keywordDraft(query, analyser, new Synonyms(rules, analyser));
  const optional = units.filter(({ isOptional }) => isOptional);
  return optional
    .map(({ terms: places, factors, meanings = [] }) =>
      [
        places.map((place) => terms[place]).join(factors === undefined ? '+' : '|'),
        ...meanings.map(({ terms: own, filter }) => {
          const all = own.map((place) => terms[place]).join('+');
          return filter?.type === 'words' ? `"${filter.query}"` : `(${all})`;
        }),
      ]
        .filter((part) => part !== '')
        .join('|'),
    )
    .join(' ');
}

function filtered(language: Language | null, rules: SynonymRule[], query: string, match: 'any' | 'all'): string {
  const filter = new Synonyms(rules, analyserFor(language)).inFilter({ type: 'words', query, match });
  const shown = (one: Filter): string => {
    if (one.type === 'words') return one.match === 'phrase' ? `"${one.query}"` : `${one.match}(${one.query})`;
    if (one.type === 'not') return `not ${shown(one.filter)}`;
    if (one.type === 'and' || one.type === 'or') return `[${one.filters.map(shown).join(` ${one.type} `)}]`;
    return one.type;
  };
  return shown(filter);
}

const CARS: SynonymRule[] = [['car', 'Automobile', 'motor car']];

test('a word means the others, several words stand together, and what was asked for stays', () => {
  expect(asked(null, CARS, 'red CAR')).toBe('car|automobile|"motor car" red');
  expect(asked(null, CARS, 'red motor-car')).toBe('car|automobile|(motor+car) red');
  expect(asked(null, CARS, 'red motor')).toBe('red motor');
  expect(asked(null, CARS, 'motor of a car')).toBe('car|automobile|"motor car" motor of a');
});

test('words are those of the language: forms are one word, and stop words do not count', () => {
  expect(asked('en', CARS, 'the cars')).toBe('car|automobil|"motor car"');
  expect(asked('en', [{ from: ['the who'], to: ['band'] }], 'the who')).toBe('band|(the+who)');
  expect(asked('en', [{ from: ['the who'], to: ['band'] }], 'the who tour')).toBe('tour');
  expect(filtered('en', [{ from: ['the who'], to: ['band'] }], 'the who tour', 'all')).toBe('all(the who tour)');
  expect(filtered('en', CARS, 'the cars of Rome', 'all')).toBe(
    '[[all(cars) or all(Automobile) or "motor car"] and all(Rome)]',
  );
});

test('one way, and rules of the same word together', () => {
  const rules: SynonymRule[] = [{ from: ['pump'], to: ['compressor'] }, ['pump', 'ram'], ['ram', 'sheep']];
  expect(asked(null, rules, 'pump')).toBe('pump|compressor|ram');
  expect(asked(null, rules, 'compressor')).toBe('compressor');
  expect(asked(null, rules, 'ram')).toBe('ram|pump|sheep');
});

test('a word of pairs needs all of them', () => {
  const rules: SynonymRule[] = [['电脑', '计算机']];
  expect(asked('zh', rules, '电脑')).toBe('电脑|(计算+算机)');
  expect(asked('zh', rules, '我的计算机')).toMatch(/^电脑\|\(计算\+/);
  expect(asked('auto', rules, '买 电脑')).toBe('电脑|(计算+算机) 买');
  expect(filtered('zh', rules, '电脑 quiver', 'all')).toBe('[[all(电脑) or all(计算机)] and all(quiver)]');
  // Single characters are terms where there is no dictionary.
  expect(asked(null, rules, '电脑')).toBe('(电+脑+电脑)|(计+算+计算+机+算机)');
});

test('a filter lets synonyms of any of its words through', () => {
  expect(filtered(null, CARS, 'red car', 'any')).toBe('[any(red car) or all(Automobile) or "motor car"]');
  expect(filtered(null, CARS, 'motor car', 'all')).toBe('[all(motor car) or all(car) or all(Automobile)]');
  expect(filtered(null, CARS, 'boat', 'all')).toBe('all(boat)');
});

test('more synonyms than a query has words are refused', () => {
  const rules = Array.from({ length: 200 }, (_, i): SynonymRule => [
    `a${i}`,
    `b${i}`,
    `c${i}`,
    `d${i}`,
    `e${i}`,
    `f${i}`,
    `g${i}`,
  ]);
  const query = Array.from({ length: 200 }, (_, i) => `a${i}`).join(' ');
  expect(() => filtered(null, rules, query, 'all')).toThrow('more than 1024 synonyms');
});

test('each text of the rules is cut once for what it is found by, and only what is asked for is made a meaning', () => {
  const plain = analyserFor(null);
  let cut = 0;
  const analyser: Analyser = {
    ...plain,
    terms: (text) => plain.terms(text),
    parts: (text) => plain.parts(text),
    termsToFind: (text) => plain.termsToFind(text),
    placedParts: (text) => {
      cut += 1;
      return plain.placedParts(text);
    },
  };
  // Each word is in a list of its own, and one is in all of them.
  const lists = Array.from({ length: 300 }, (_, i) => [
    'all',
    ...Array.from({ length: 31 }, (__, j) => `w${i * 31 + j}`),
  ]);
  const texts = new Set(lists.flat()).size;
  const synonyms = new Synonyms(lists, analyser);
  expect(cut).toBe(texts);
  expect(synonyms.inQuery('w40 x').rules[0].meanings).toHaveLength(31);
  expect(cut).toBeLessThan(texts + 40);
  const [{ meanings }] = synonyms.inQuery('all').rules;
  expect(meanings.length).toBe(1025);
  expect(synonyms.inQuery('all').rules[0].meanings).toBe(meanings);
  expect(cut).toBeLessThan(2 * texts);
});

test('rules that are read again are the same synonyms', () => {
  const analyser = analyserFor('en');
  const rules = (): string[][] => [['pump', 'compressor']];
  expect(synonymsOf(rules(), analyser)).toBe(synonymsOf(rules(), analyser));
  expect(synonymsOf(rules(), analyserFor('de'))).not.toBe(synonymsOf(rules(), analyser));
  expect(synonymsOf([['pump', 'motor']], analyser)).not.toBe(synonymsOf(rules(), analyser));
});
