import { readCsv } from '../../../../../../../coordinator/service/documents/formats/readers/read-csv';
import type { ParsedDocument } from '../../../../../../../coordinator/service/documents/formats/parsed-document';

function read(csv: string): ParsedDocument {
  return readCsv(Buffer.from(csv), { charactersMax: 100_000 });
}

function rowsOf({ text, rows }: ParsedDocument): [string, Record<string, unknown>][] {
  return rows!.map(({ start, end, fields }) => [text.slice(start, end), fields]);
}

test('each row is a piece: a line for each field, and the fields by the kinds of their columns', () => {
  const parsed = read('name,price,zip,new\n"Lamp, red",9.50,01234,true\nTable,120,,FALSE\n');
  expect(rowsOf(parsed)).toEqual([
    ['name: Lamp, red\nprice: 9.5\nzip: 01234\nnew: true', { name: 'Lamp, red', price: 9.5, zip: '01234', new: true }],
    ['name: Table\nprice: 120\nnew: false', { name: 'Table', price: 120, new: false }],
  ]);
});

test('a column "text" is the text of its row, and no field', () => {
  expect(rowsOf(read('id;text\n1;"Two\nlines"\n2;\n'))).toEqual([
    ['Two\nlines', { id: 1 }],
    ['id: 2', { id: 2 }],
  ]);
});

test('columns without a name, or with one that is taken, and values beyond them have names of their own', () => {
  expect(rowsOf(read('a\t\ta\n1\t2\t3\t4\n'))[0][1]).toEqual({ a: 1, column_2: 2, a_2: 3, column_4: '4' });
  expect(rowsOf(read('a,a,a_2,a\n1,2,3,4\n'))[0][1]).toEqual({ a: 1, a_3: 2, a_2: 3, a_4: 4 });
  expect(rowsOf(read('sep=|\na|__proto__\nx|y\n'))[0][0]).toBe('a: x\n__proto__: y');
});

test('long values are text alone', () => {
  const long = 'word '.repeat(300).trim();
  expect(rowsOf(read(`title,body\nA,${long}\n`))).toEqual([[`title: A\nbody: ${long}`, { title: 'A' }]]);
});

test('a file without rows, and one with a quote that does not end, are refused', () => {
  expect(() => read('a,b\n')).toThrow('The file is empty');
  expect(() => read('a,b\n1,"x\n')).toThrow("The CSV file can't be read: a quote in it is not closed");
});
