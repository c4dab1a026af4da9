import type { Connection } from '../../../../cli/connection/connection';
import { dimensionOf, wrongDimension } from '../../../../cli/import/dimension';
import { mapColumns } from '../../../../cli/import/column-mapping';

const connection = { client: { health: async () => ({ embedding: { dim: 5 } }) } } as unknown as Connection;
const of = async (columns: string[], ...values: unknown[]): Promise<number> =>
  dimensionOf(connection, undefined, {
    mapping: mapColumns(columns, {}, {}),
    records: values.map((vector, number) => ({ fields: { vector, text: 'x' }, number })),
  });

test('a new collection has the dimensions of the first vector that has any', async () => {
  await expect(of(['vector'], null, '', '[1, 2]')).resolves.toBe(2);
  await expect(of(['vector'], 'tensor([1., 2., 3.])')).resolves.toBe(3);
  await expect(of(['vector'], { values: [1, 2, 3, 4] })).resolves.toBe(4);
});

test('commas before fractions make no more numbers of one, where they are said or the collection tells it', async () => {
  const mapping = mapColumns(['vector'], {}, {});
  const records = ['0,5', '1'].map((vector, number) => ({ fields: { vector }, number }));
  await expect(dimensionOf(connection, undefined, { mapping, records, hasDecimalCommas: true })).resolves.toBe(1);
  await expect(dimensionOf(connection, undefined, { mapping, records })).resolves.toBe(2);
  expect(wrongDimension(mapping, records.slice(0, 1), { dim: 1 })).toBeNull();
  expect(wrongDimension(mapping, records.slice(0, 1), { dim: 3 })).toBe(2);
});

test('where no row has a vector, those that the model makes of texts decide', async () => {
  await expect(of(['vector', 'text'], null, '')).resolves.toBe(5);
  await expect(of(['vector'], null, '')).rejects.toThrow('column "vector" has no vectors in the first 2 rows');
});

test('a value that does not tell is shown', async () => {
  await expect(of(['vector', 'text'], null, 'what?')).rejects.toThrow(
    'how many dimensions have the vectors of column "vector"? "what?" does not tell; say it with --dim',
  );
  await expect(of(['vector'], { a: [1], b: 'x'.repeat(100) })).rejects.toThrow(/\{"a":\[1\],"b":"x+… does not tell/);
});
