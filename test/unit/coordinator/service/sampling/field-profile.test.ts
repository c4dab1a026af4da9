import { fieldProfiles } from '../../../../../coordinator/service/sampling/field-profile';

describe('the fields of metadata', () => {
  test('have kinds, frequent values, ranges and how many items have them, nested ones by their paths', () => {
    const profiles = fieldProfiles([
      { title: 'x'.repeat(81), tags: ['a', 'b', 'a'], author: { name: 'Ann', age: 41 }, at: '2024-02-01' },
      { tags: ['a'], author: { name: 'Bob' }, n: 1.5, ok: true },
      { tags: [], n: -2, ok: null, list: [{ deep: 1 }] },
    ]);
    expect(profiles.map(({ path, items }) => `${path} ${items}`)).toEqual([
      'tags 3',
      'author 2',
      'author.name 2',
      'n 2',
      'ok 2',
      'at 1',
      'author.age 1',
      'list 1',
      'title 1',
    ]);
    const of = (path: string) => profiles.find((one) => one.path === path);
    expect(of('tags')).toMatchObject({
      kinds: ['list', 'text'],
      values: [
        { value: 'a', count: 2 },
        { value: 'b', count: 1 },
      ],
    });
    expect(of('at')?.kinds).toEqual(['date']);
    expect(of('n')).toMatchObject({ kinds: ['number'], range: { least: -2, greatest: 1.5 } });
    expect(of('ok')?.kinds).toEqual(['boolean', 'null']);
    expect(of('list')).toMatchObject({ kinds: ['list', 'object'], values: [] });
    expect(of('title')).toMatchObject({ values: [], more: true });
    expect(fieldProfiles([])).toEqual([]);
  });

  test('are bounded: fields, values and what is shown of these', () => {
    const wide = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`f${i}`, i]));
    expect(fieldProfiles([wide])).toHaveLength(200);
    const [many] = fieldProfiles(Array.from({ length: 3000 }, (_, i) => ({ n: i })));
    expect(many).toMatchObject({ items: 3000, more: true, range: { least: 0, greatest: 2999 } });
    expect(many.values).toHaveLength(10);
  });
});
