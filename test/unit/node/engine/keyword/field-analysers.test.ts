import { Bm25KeywordIndex } from '../../../../../node/engine/keyword/bm25-keyword-index';
import { keywordTexts } from '../../../../../node/engine/keyword/keyword-text';
import { bareTerm, markIn, markOf } from '../../../../../shared/base/text/term-mark';
import { resultOf } from '../../../../../shared/base/time/work-slices';
import type { KeywordFields } from '../../../../../shared/contract/shard/keyword-fields';

const FIELDS: KeywordFields = [
  { path: 'de', weight: 1, analyser: 'de' },
  { path: 'en', weight: 2, analyser: 'en' },
  { path: 'own', weight: 1 },
];
const DE = markOf('de');
const EN = markOf('en');

/** Of items by their slots. */
function indexOf(fields: KeywordFields, items: readonly Record<string, string>[]): Bm25KeywordIndex {
  const index = new Bm25KeywordIndex({ fields });
  for (const [slot, metadata] of items.entries())
    index.putAnalysed(slot, resultOf(index.analyse(keywordTexts(null, metadata, fields))));
  return index;
}

test('terms of two analysers are never the same, and none is near to one of another', () => {
  const index = indexOf(FIELDS, [{ de: 'gift der Häuser', en: 'gift gifts houses', own: 'gift' }]);
  const all = resultOf(index.expansions({ term: EN, by: 'prefix', after: '', limit: 10 })).terms;
  expect(all).toEqual([`${EN}gift`, `${EN}hous`]);
  for (const mark of ['', DE, EN])
    for (const by of [1, 2, 'prefix'] as const)
      for (const fresh of [false, true]) {
        // What came since the terms were sorted is looked at apart.
        const one = fresh ? indexOf(FIELDS, []) : index;
        if (fresh) {
          resultOf(one.expansions({ term: 'a', by: 'prefix', after: '', limit: 1 }));
          one.putAnalysed(
            0,
            resultOf(one.analyse(keywordTexts(null, { de: 'gift', en: 'gift', own: 'gift' }, FIELDS))),
          );
        }
        expect(resultOf(one.expansions({ term: `${mark}gif`, by, after: '', limit: 10 })).terms).toEqual([
          `${mark}gift`,
        ]);
      }
  const page = { term: `${DE}haus`, by: 1 as const, limit: 1 };
  expect(resultOf(index.expansions({ ...page, after: `${DE}a` })).terms).toEqual([`${DE}haus`]);
  expect(resultOf(index.expansions({ ...page, after: `${DE}haus` })).terms).toEqual([]);
  expect(index.statistics([`${EN}gift`, `${DE}gift`, 'gift', `${DE}gifts`])).toMatchObject({
    documentFrequencies: [1, 1, 1, 0],
    totalLength: 3 + 2 * 3 + 1,
  });
});

test('what looks alike with its mark is not near either', () => {
  const fields: KeywordFields = [
    { path: 'en', weight: 1, analyser: 'en' },
    { path: 'es', weight: 1, analyser: 'es' },
    { path: 'own', weight: 1 },
  ];
  const items: Record<string, string>[] = [
    { en: 'gift', own: 'engift' },
    { es: 'gift', own: 'esgift' },
  ];
  const near = (index: Bm25KeywordIndex, term: string): string[] =>
    resultOf(index.expansions({ term, by: 2, after: '', limit: 10 })).terms;
  const sorted = indexOf(fields, items);
  // What came since the terms were sorted is looked at apart.
  const fresh = indexOf(fields, []);
  near(fresh, 'a');
  for (const [slot, item] of items.entries())
    fresh.putAnalysed(slot, resultOf(fresh.analyse(keywordTexts(null, item, fields))));
  for (const index of [sorted, fresh]) {
    expect(near(index, `${EN}gift`)).toEqual([`${EN}gift`]);
    expect(near(index, 'engift')).toEqual(['engift', 'esgift']);
  }
});

test('a save is of its analysers alone; without any, it is as it was', async () => {
  const items = [{ de: 'die Häuser', en: 'houses', own: 'a house' }];
  const index = indexOf(FIELDS, items);
  const bytes = Buffer.concat([...index.save()]);
  const read = Bm25KeywordIndex.load(bytes, { fields: FIELDS });
  expect(read.statistics([`${DE}haus`, `${EN}hous`, 'house'])).toEqual(
    index.statistics([`${DE}haus`, `${EN}hous`, 'house']),
  );
  const others = FIELDS.map((field) => (field.path === 'en' ? { ...field, analyser: 'fr' as const } : field));
  expect(() => Bm25KeywordIndex.load(bytes, { fields: others })).toThrow('its terms are of another analyser');
  const plain = FIELDS.map(({ path, weight }) => ({ path, weight }));
  expect(indexOf(plain, items).origin.name).toBe(`unicode of ${JSON.stringify(plain)}`);
});

test('a mark is told from what follows', () => {
  for (const mark of ['', DE, EN, markOf('unicode')])
    for (const term of ['haus', '北京', 'é'])
      expect([markIn(mark + term), bareTerm(mark + term)]).toEqual([mark, term]);
});
