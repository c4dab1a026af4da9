import { filterOfWhere } from '../../../../cli/filters/where';

describe('an expression', () => {
  test.each<[string, unknown]>([
    ['year >= 2000 and category = law', { $and: [{ year: { $gte: 2000 } }, { category: { $eq: 'law' } }] }],
    ['a = 1 or b = 2 and c = 3', { $or: [{ a: { $eq: 1 } }, { $and: [{ b: { $eq: 2 } }, { c: { $eq: 3 } }] }] }],
    [
      '(a = 1 or b = 2) and not c < -1.5e3',
      { $and: [{ $or: [{ a: { $eq: 1 } }, { b: { $eq: 2 } }] }, { $not: { c: { $lt: -1500 } } }] },
    ],
    ['NOT (a!=true)', { $not: { a: { $ne: true } } }],
    ['a == null AND b <> false', { $and: [{ a: { $eq: null } }, { b: { $ne: false } }] }],
    [`tag in (law, "civil law", 'it''s', 3)`, { $__error: true }],
    [`tag in (law, "civil \\"law\\"", 'it\\'s', 3)`, { tag: { $in: ['law', 'civil "law"', "it's", 3] } }],
    ['tag not in (a)', { tag: { $nin: ['a'] } }],
    ['tag empty or year NOT empty', { $or: [{ tag: { $empty: true } }, { year: { $empty: false } }] }],
    [
      'a.b exists and `odd field` not exists',
      { $and: [{ 'a.b': { $exists: true } }, { 'odd field': { $exists: false } }] },
    ],
    [`"and" = "or" and x = '2000'`, { $and: [{ and: { $eq: 'or' } }, { x: { $eq: '2000' } }] }],
    [
      'a like "50%*" and b = "c;" and d contains "%"',
      { $and: [{ a: { $like: '50%*' } }, { b: { $eq: 'c;' } }, { d: { $contains: '%' } }] },
    ],
    ['day<2024-01-01', { day: { $lt: '2024-01-01' } }],
    ['v = 007 and w = 1.10', { $and: [{ v: { $eq: '007' } }, { w: { $eq: 1.1 } }] }],
    [
      'title prefix Ri or title IPREFIX "ri "',
      { $or: [{ title: { $prefix: 'Ri' } }, { title: { $prefix: 'ri ', case: 'fold' } }] },
    ],
    [
      'a between 1 and 5 and b between x and "y z"',
      { $and: [{ a: { $between: [1, 5] } }, { b: { $between: ['x', 'y z'] } }] },
    ],
    ["a contains 'x' or a ilike '*x?'", { $or: [{ a: { $contains: 'x' } }, { a: { $like: '*x?', case: 'fold' } }] }],
    [
      'tags all (a, 2) or tags any (b) or tags size >= 2 or tags size 0',
      {
        $or: [
          { tags: { $all: ['a', 2] } },
          { tags: { $any: ['b'] } },
          { tags: { $size: { $gte: 2 } } },
          { tags: { $size: 0 } },
        ],
      },
    ],
    [
      'parts has (code = 7 or not width < 2) and not $id in (a, 7)',
      {
        $and: [
          { parts: { $elem_match: { $or: [{ code: { $eq: 7 } }, { $not: { width: { $lt: 2 } } }] } } },
          { $not: { $id: ['a', '7'] } },
        ],
      },
    ],
    [
      '$id not in (a) and $expires_at < now+1d and $updated exists',
      { $and: [{ $not: { $id: ['a'] } }, { $expires_at: { $lt: 'now+1d' } }, { $updated: { $exists: true } }] },
    ],
    [
      "$text all 'red apple' or not $text any pear",
      {
        $or: [{ $text: { query: 'red apple', match: 'all' } }, { $not: { $text: { query: 'pear', match: 'any' } } }],
      },
    ],
    ['code prefix 20', { code: { $prefix: '20' } }],
    [' städte = Zürich ', { städte: { $eq: 'Zürich' } }],
  ])('%s', (expression, expected) => {
    if (JSON.stringify(expected).includes('$__error'))
      expect(() => filterOfWhere(expression)).toThrow('expected "," or ")"');
    else expect(filterOfWhere(expression)).toEqual(expected);
  });

  test.each([
    ['', 'expected a field, at character 1:'],
    ['year >=', 'expected a value, at character 8:\n  year >=\n         ^'],
    ['year 2000', 'expected =, !=,'],
    ['a between 1 or 5', 'expected "and", at character 13:'],
    ['name like "foo%"', '"like" takes * for any characters and ? for one, where SQL has % and _, at character 11:'],
    ['name ilike %foo', '"like" takes *'],
    ['year = 2000;', 'a text with ";" stands in quotes, at character 8:'],
    ['year is null', 'a field that is not there is "not exists", one that is there "exists", at character 9:'],
    ['title prefix', 'expected a text, at character 13:'],
    ['year = 1 year = 2', 'expected "and", "or" or the end, at character 10:'],
    ['(a = 1', 'expected ")", at character 7:'],
    ['a in b', 'expected "(", at character 6:'],
    ['a in ()', 'expected a value, at character 7:'],
    ['a = "x', 'a quote that is never closed, at character 5:'],
    ['a ! 1', '"!" means nothing here, at character 3:'],
    [
      '$a = 1',
      'a field begins with another character than $, but for $id, $expires_at, $updated, $text, at character 1:',
    ],
    ['$id = a', 'expected "in" or "not in", at character 5:'],
    ['$text = a', 'expected "any" or "all", and words, at character 7:'],
    ['a = 9007199254740993', 'no number holds that exactly; a text stands in quotes, at character 5:'],
    [`${'('.repeat(200)}a = 1`, 'too deep'],
  ])('%s is refused where it is wrong', (expression, message) => {
    expect(() => filterOfWhere(expression)).toThrow(message);
  });
});
