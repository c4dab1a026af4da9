import { colouringBy, rgb } from '../../../../dashboard/map/colouring';

const items = (...values: unknown[]) => values.map((kind) => ({ metadata: kind === undefined ? {} : { kind } }));

test('values have a colour each, the most frequent first, and what is rare shares one', () => {
  const many = Array.from({ length: 30 }, (_, i) => `kind ${i % 15}`);
  const { kind, legend, groups, palette } = colouringBy(items('often', 'often', 'often', undefined, ...many), 'kind');
  expect(kind).toBe('values');
  expect(legend[0]).toMatchObject({ label: 'often', count: 3 });
  expect(legend.at(-1)?.label).toMatch(/^\d+ others$/);
  expect(legend.reduce((sum, { count }) => sum + count, 0)).toBe(34);
  expect(groups[0]).toBe(0);
  expect(new Set(palette).size).toBe(palette.length);
});

test('many numbers make a range, from the least to the most; what is none is apart', () => {
  const { kind, legend, groups, palette } = colouringBy(
    items(...Array.from({ length: 40 }, (_, i) => i * 2.5), 'none'),
    'kind',
  );
  expect(kind).toBe('range');
  expect(legend.map(({ label }) => label)).toEqual(['0', '97.5']);
  expect([groups[0], groups[39], groups[40]]).toEqual([0, 255, 256]);
  expect(palette).toHaveLength(257);
  for (const colour of palette) expect(rgb(colour).every((value) => value >= 0 && value <= 255)).toBe(true);
});

test('without a field all are alike', () => {
  expect(colouringBy(items(1, 2), null)).toMatchObject({ kind: 'one', legend: [] });
});
