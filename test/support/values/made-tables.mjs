// Writes a table as Parquet or Arrow, which the tests' own process can't (the packages are modules of the other kind).
//
//   node made-tables.mjs FORMAT FILE ROWS DIM [OPTIONS AS JSON]
//
// Row i: id "r<i>", a vector that follows from i, a text, a year that is missing in every tenth row, and a list of
// tags.
import { writeFileSync } from 'node:fs';
import { ParquetWriter, fileWriter } from 'hyparquet-writer';
import { madeVector } from './made-vectors.cjs';

const [, , format, file, rowsText, dimText, optionsText = '{}'] = process.argv;
const rows = Number(rowsText);
const dim = Number(dimText);
const { rowGroupSize = 1000, pageSize = 1 << 20, codec = 'SNAPPY', nested = false } = JSON.parse(optionsText);

/** @param {number} i */
const yearOf = (i) => (i % 10 === 3 ? null : 1900 + (i % 120));
/** @param {number} i */
const tagsOf = (i) => Array.from({ length: i % 4 }, (_, n) => `t${(i + n) % 7}`);

if (format === 'parquet') {
  const writer = new ParquetWriter({
    writer: fileWriter(file),
    codec,
    schema: [
      { name: 'root', num_children: nested ? 6 : 5 },
      { name: 'id', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'REQUIRED' },
      { name: 'embedding', repetition_type: 'OPTIONAL', num_children: 1, converted_type: 'LIST' },
      { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
      { name: 'element', type: 'FLOAT', repetition_type: 'OPTIONAL' },
      { name: 'text', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
      { name: 'year', type: 'INT64', repetition_type: 'OPTIONAL' },
      { name: 'tags', repetition_type: 'OPTIONAL', num_children: 1, converted_type: 'LIST' },
      { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
      { name: 'element', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
      ...(nested
        ? [
            { name: 'place', repetition_type: 'OPTIONAL', num_children: 2 },
            { name: 'x', type: 'INT32', repetition_type: 'OPTIONAL' },
            { name: 'y', type: 'DOUBLE', repetition_type: 'OPTIONAL' },
          ]
        : []),
    ],
  });
  // A part at a time: the writer holds what it is given.
  const step = Math.max(rowGroupSize, 1);
  for (let from = 0; from < rows; from += step) {
    const part = Array.from({ length: Math.min(step, rows - from) }, (_, i) => from + i);
    await writer.write({
      rowGroupSize,
      pageSize,
      columnData: [
        { name: 'id', data: part.map((i) => `r${i}`) },
        { name: 'embedding', data: part.map((i) => Array.from(madeVector(i, dim))) },
        { name: 'text', data: part.map((i) => (i % 5 === 4 ? null : `text number ${i}`)) },
        { name: 'year', data: part.map((i) => (yearOf(i) === null ? null : BigInt(yearOf(i)))) },
        { name: 'tags', data: part.map(tagsOf) },
        ...(nested ? [{ name: 'place', data: part.map((i) => ({ x: i, y: i / 2 })) }] : []),
      ],
    });
  }
  await writer.finish();
} else {
  const arrow = await import('apache-arrow');
  const all = Array.from({ length: rows }, (_, i) => i);
  const vectors = arrow.vectorFromArray(
    all.map((i) => madeVector(i, dim)),
    new arrow.FixedSizeList(dim, new arrow.Field('item', new arrow.Float32(), true)),
  );
  const table = new arrow.Table({
    id: arrow.vectorFromArray(
      all.map((i) => `r${i}`),
      new arrow.Utf8(),
    ),
    embedding: vectors,
    text: arrow.vectorFromArray(
      all.map((i) => (i % 5 === 4 ? null : `text number ${i}`)),
      new arrow.Utf8(),
    ),
    year: arrow.vectorFromArray(
      all.map((i) => (yearOf(i) === null ? null : BigInt(yearOf(i)))),
      new arrow.Int64(),
    ),
    tags: arrow.vectorFromArray(all.map(tagsOf), new arrow.List(new arrow.Field('item', new arrow.Utf8(), true))),
  });
  writeFileSync(file, arrow.tableToIPC(table, format === 'arrow-stream' ? 'stream' : 'file'));
}
