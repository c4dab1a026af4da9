import {
  EFFORT,
  fieldsOf,
  nameOf,
  namedVariants,
  optionsOf,
  readVariant,
  sentVariant,
  variantsFromParameter,
  variantsParameter,
} from '../../../../dashboard/lab/variants';

test.each([
  [{}],
  [{ alpha: 0.5, fusion: 'relative', rerank: { model: 'm' }, diversity: { lambda: 0.7 }, [EFFORT]: 64, exact: true }],
  // What no field can show.
  [{ fusion: { kind: 'rrf', constant: 20 }, rerank: { model: 'm', top_n: 20 }, diversity: { field: 'author' } }],
  [{ fusion: 'constructor', alpha: '0.5', [EFFORT]: null, fuzzy: 'auto', filters: { a: 1 } }],
])('no option is lost by the form: %j', (options) => {
  expect(optionsOf(fieldsOf(options))).toEqual(options);
});

test('fields show what they can, and leave out what the service does by itself', () => {
  expect(fieldsOf({ rerank: { model: 'm' }, mode: 'keyword' })).toEqual({
    alpha: 1,
    fusion: '',
    rerank: 'm',
    diversity: null,
    effort: null,
    exact: false,
    rest: { mode: 'keyword' },
  });
  expect(optionsOf({ ...fieldsOf({ alpha: 0.5, exact: true }), alpha: 1, exact: false })).toEqual({});
});

test.each([
  [{}, 'meaning'],
  [{ alpha: 0 }, 'keywords'],
  [{ alpha: 0.5, fusion: 'dbsf', [EFFORT]: 64, exact: true }, 'alpha 0.5, dbsf, effort 64, exact'],
  [{ rerank: { model: 'm' }, diversity: { lambda: 0.5 } }, 'meaning, rerank m, diversity 0.5'],
  [{ mode: 'keyword', match: { at_least: 0.5 } }, 'mode keyword, match {"at_least":0.5}'],
])('a variant of %j is called by its options', (options, name) => {
  expect(nameOf({ name: '', options })).toBe(name);
  expect(nameOf({ name: 'mine', options })).toBe('mine');
  // It is no name that stays when the options change.
  expect(readVariant(sentVariant({ name: '', options }))).toEqual({ name: '', options });
  expect(readVariant(sentVariant({ name: 'mine', options }))).toEqual({ name: 'mine', options });
});

test('a name is no longer than the service takes, and well formed', () => {
  const name = nameOf({ name: '', options: { filters: { title: '😀'.repeat(100) } } });
  expect(name.length).toBeLessThanOrEqual(100);
  expect(name.isWellFormed()).toBe(true);
});

test('variants go into an address and come out of it; what somebody spoilt does not', () => {
  const variants = [
    { name: '', options: {} },
    { name: 'mine', options: { alpha: 0.5 } },
  ];
  expect(variantsFromParameter(variantsParameter(variants))).toEqual(variants);
  for (const text of [null, '', '[]', '{}', '[1]', '[{}', '[null]']) expect(variantsFromParameter(text)).toBeNull();
  expect(variantsFromParameter(JSON.stringify(Array.from({ length: 40 }, () => ({}))))).toHaveLength(16);
});

test('a message of the service names variants, not their numbers', () => {
  const variants = [
    { name: '', options: {} },
    { name: 'mine', options: {} },
  ];
  expect(namedVariants('variants[1].alpha must be at most 1', variants)).toBe('“mine”: alpha must be at most 1');
  expect(namedVariants('variants[0], asked for "car": no', variants)).toBe('“meaning”, asked for "car": no');
  expect(namedVariants('variants[7].alpha', variants)).toBe('variants[7].alpha');
});
