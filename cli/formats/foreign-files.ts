import { CommandError, EXIT_CODES } from '../command-error';

/** Formats whose files are text. */
const OF_TEXT: readonly string[] = ['jsonl', 'csv', 'tsv', 'text'];

interface Foreign {
  /** How files of it begin. */
  head: RegExp;
  /** What such a file is, and the way out. */
  what: string;
  /** As which formats it is never right; left out: any. */
  as?: (format: string | null) => boolean;
}

const isOther = (format: string) => (asked: string | null) => asked !== null && asked !== format;
const isText = (format: string | null): boolean => format !== null && OF_TEXT.includes(format);

/** Files that are not what they are taken for, by their first bytes as Latin-1. */
const FOREIGN: readonly Foreign[] = [
  {
    head: /^PK\u0003\u0004/,
    what: 'a ZIP archive, as those of Excel (.xlsx) and numpy (.npz) are; unpack it, or save the table as CSV',
  },
  { head: /^BZh[1-9]1AY&SY/, what: 'compressed by bzip2; unpack it first, or compress it by gzip or zstd' },
  { head: /^\u00fd7zXZ\0/, what: 'compressed by xz; unpack it first, or compress it by gzip or zstd' },
  { head: /^\u0004"M\u0018/, what: 'compressed by LZ4; unpack it first, or compress it by gzip or zstd' },
  { head: /^\u0089HDF\r\n\u001a\n/, what: 'an HDF5 file; save its arrays by numpy.save, or its tables as Parquet' },
  { head: /^Obj\u0001/, what: 'an Avro file; save its rows as Parquet or JSON lines' },
  { head: /^ORC/, what: 'an ORC file; save its table as Parquet', as: (format) => format === null },
  {
    head: /^\u0080[\u0002-\u0005][\u0095}(\]c]/,
    what: 'a pickle of Python; save arrays by numpy.save, and tables as Parquet',
  },
  { head: /^7z\u00bc\u00af'\u001c/, what: 'a 7z archive; unpack it first' },
  { head: /^%PDF-/, what: 'a PDF; pdftotext makes a text of it' },
  { head: /^SQLite format 3\0/, what: 'a database of SQLite; its command .mode csv writes tables as CSV' },
  {
    head: /^FEA1/,
    what: 'Feather of version 1, which is not read; pandas writes version 2',
    as: (format) => format === 'arrow',
  },
  { head: /^PAR1/, what: 'a Parquet file; --format parquet reads it', as: isOther('parquet') },
  { head: /^ARROW1/, what: 'an Arrow file; --format arrow reads it', as: isOther('arrow') },
  { head: /^\u0093NUMPY/, what: 'an array of numpy; --format npy reads it', as: isOther('npy') },
  {
    head: /^(?:[^\0]\0){6}|^(?:\0[^\0]){6}/,
    what: 'UTF-16 without a mark at its beginning; iconv -f UTF-16LE -t UTF-8 makes UTF-8 of it (or -f UTF-16BE)',
    as: isText,
  },
  {
    head: /^(?:\u00ff\u00fe\0\0|\0\0\u00fe\u00ff)/,
    what: 'UTF-32; iconv -f UTF-32 -t UTF-8 makes UTF-8 of it',
    as: isText,
  },
  { head: /^(?:\u00ff\u00fe|\u00fe\u00ff)/, what: 'UTF-16; iconv -f UTF-16 -t UTF-8 makes UTF-8 of it', as: isText },
];

/** As many bytes of a file tell all of them. */
export const FOREIGN_HEAD_BYTES = 16;

/**
 * Refuses what is another kind of file than it is read as. `format` null: nobody said what it is. Throws a CommandError
 * that says what it is.
 */
export function refuseForeign(name: string, head: Buffer, format: string | null): void {
  const text = head.subarray(0, FOREIGN_HEAD_BYTES).toString('latin1');
  const found = FOREIGN.find((foreign) => foreign.head.test(text) && (foreign.as === undefined || foreign.as(format)));
  if (found !== undefined) throw new CommandError(`${name} is ${found.what}`, EXIT_CODES.usage);
}
