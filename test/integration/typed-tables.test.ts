import { execFileSync } from 'node:child_process';
import { join, resolve } from 'node:path';

/** Files of pyarrow and Polars with a column of each type, as metadata of items have it. */

const CORPUS = resolve(__dirname, '../fuzz/corpus/imports');
const REFUSED = resolve(__dirname, '../fixtures/imports');
const PARQUET = ['types.parquet', 'types-2.parquet'];
const ARROW = ['types.arrow', 'types-zstd.arrow', 'types-lz4.arrows'];

let answers: Map<string, { rows?: unknown[]; error?: string }>;
beforeAll(() => {
  const paths = [
    ...[...PARQUET, ...ARROW, 'polars.arrow'].map((name) => join(CORPUS, name)),
    ...[
      'list-view.arrow',
      'run-end-encoded.arrow',
      'extensions.arrow',
      'structs.parquet',
      'durations.parquet',
      'pandas-index.parquet',
      'int128.arrow',
    ].map((name) => join(REFUSED, name)),
  ];
  const output = execFileSync(process.execPath, [resolve(__dirname, '../support/values/read-rows.cjs'), ...paths], {
    encoding: 'utf8',
  });
  const parsed = JSON.parse(output) as { rows?: unknown[]; error?: string }[];
  answers = new Map(paths.map((path, i) => [path.split('/').at(-1)!, parsed[i]]));
});

const BOTH = [
  {
    id: 'a',
    embedding: [1, 2, 3],
    ll: ['x', 'y'],
    llf: [1.5, 2.5],
    nest: { t: 1, l: [1, 2], d: 19.99 },
    lu: 'ü',
    dict: 'p',
    fsl: [1, 2],
    i64: '1152921504606846977',
    u64: '18446744073709551615',
    dec: 19.99,
    dec256: 9.95,
    dneg: -9.95,
    bin: '/wE=',
    t32: '01:02:03',
    t64: '01:02:03.000004',
    t64n: '01:02:03.000000001',
    ts: '2024-01-01T00:00:00.123456Z',
    tsn: '2024-01-01T00:00:00.123456789Z',
    tss: '1969-12-31T23:59:59.000Z',
    tsbig: '+294247-01-10T04:00:54.775807Z',
    d32: '2024-02-29T00:00:00.000Z',
    d64: '2024-02-29T00:00:00.000Z',
    nan: null,
    nanlist: [null, 1],
    h: 1.5,
    bool: true,
    null: null,
    map: { k: 1 },
    mapts: { '2020-01-01T00:00:00.000Z': 1.1 },
    lol: [[1.1], []],
    losts: [{ ts: '1969-12-31T23:59:59.999999Z' }],
  },
  {
    id: 'b',
    embedding: [4, 5, 6],
    ll: ['z'],
    llf: [3.5],
    nest: { t: 2, l: [], d: -0.05 },
    lu: 'v',
    dict: 'q',
    fsl: [3, 4],
    i64: 7,
    u64: 7,
    dec: '12345678901234567.89',
    dec256: 1,
    dneg: null,
    bin: '/gE=',
    t32: null,
    t64: '00:00:00',
    t64n: '00:00:00',
    ts: '1969-12-31T23:59:59.999999Z',
    tsn: '1969-12-31T23:59:59.999999999Z',
    tss: '1970-01-01T00:00:00.000Z',
    tsbig: '-144169-06-28T09:59:32.612096Z',
    d32: '1969-12-31T00:00:00.000Z',
    d64: '1969-12-31T00:00:00.000Z',
    nan: null,
    nanlist: [null, 2],
    h: 2,
    bool: false,
    null: null,
    map: { a: 2, b: null },
    mapts: {},
    lol: null,
    losts: [],
  },
];
const ARROW_ONLY = [
  {
    sv: 'short',
    bv: '/wE=',
    dur: 'PT1H2M3S',
    durn: 'PT1.5S',
    mdn: 'P1M2DT3.000000004S',
    dunion: 1.5,
    sunion: 1,
    dictll: ['b', 'c'],
  },
  {
    sv: 'a much longer text than twelve',
    bv: 'YWJj',
    dur: 'PT-1S',
    durn: 'PT0S',
    mdn: 'P-1Y-2MT-0.000000001S',
    dunion: [1, 2],
    sunion: '2021-01-01T00:00:00.000Z',
    dictll: ['a'],
  },
];

test.each(PARQUET)('%s has the values that were written', (name) => {
  expect(answers.get(name)).toEqual({ rows: BOTH });
});

test.each(ARROW)('%s has the values that were written', (name) => {
  expect(answers.get(name)).toEqual({ rows: BOTH.map((row, i) => ({ ...row, ...ARROW_ONLY[i] })) });
});

test('of Parquet, an object with nothing but a list is an object, and a column may have any name', () => {
  const row = (more: object): object => ({ embedding: [1, 2], ...more });
  expect(answers.get('structs.parquet')).toEqual({
    rows: [
      row({ id: 'a', one: { l: [1, null] }, deep: { m: { l: [{ x: 1 }] } }, lists: [{ l: [1] }], ['__proto__']: 'p' }),
      row({ id: 'b', one: null, deep: { m: null }, lists: [], ['__proto__']: null }),
      row({ id: 'c', one: { l: [] }, deep: null, lists: null, ['__proto__']: 'q' }),
    ],
  });
});

test('of Parquet, lengths of time have the unit that the writer noted beside them', () => {
  expect(answers.get('durations.parquet')).toEqual({
    rows: [
      {
        ...{ id: 'a', v: [1, 2], n: 90, s: 'PT1M30S', ms: 'PT1.5S', us: 'PT0.000001S', ns: 'PT0.000000001S' },
        ...{ list: ['PT1S', 'PT2S'], in: { x: 'PT5S', k: 7 } },
      },
      { id: 'b', v: [3, 4], n: 2, s: null, ms: 'PT-0.001S', us: 'PT1H', ns: 'PT24H', list: [], in: null },
    ],
  });
});

test("Arrow's extension types are what they stand for, as in Parquet", () => {
  expect(answers.get('extensions.arrow')).toEqual({
    rows: [
      {
        id: 'a',
        embedding: [1, 2],
        uuid: '01234567-89ab-cdef-0123-456789abcdef',
        json: { n: '9007199254740993' },
        bool8: true,
        uuids: ['00000000-0000-0000-0000-000000000000'],
        in: { u: '01234567-89ab-cdef-0123-456789abcdef' },
      },
      { id: 'b', embedding: [3, 4], uuid: null, json: 'no JSON', bool8: false, uuids: [], in: { u: null } },
    ],
  });
});

test('Arrow of Polars, whose lists have offsets of 64 bits, is read', () => {
  expect(answers.get('polars.arrow')?.rows).toEqual([
    {
      id: 'a',
      embedding: [1, 2, 3],
      tags: ['x'],
      cat: 'u',
      e: 'u',
      arr: [1, 2],
      dec: 1.1,
      st: { a: [1] },
      t: '01:02:03',
      du: 'PT1.5S',
    },
    {
      id: 'b',
      embedding: [4, 5, 6],
      tags: ['y', 'z'],
      cat: 'v',
      e: 'v',
      arr: [3, 4],
      dec: 2.2,
      st: { a: [2] },
      t: null,
      du: null,
    },
  ]);
});

test('an index of pandas that is noted only is a column', () => {
  expect(answers.get('pandas-index.parquet')?.rows).toEqual([
    { embedding: [1, 0], id: 10 },
    { embedding: [0, 1], id: 12 },
    { embedding: [1, 1], id: 14 },
  ]);
});

test.each([
  ['list-view.arrow', 'the type ListView'],
  ['run-end-encoded.arrow', 'the type RunEndEncoded'],
  ['int128.arrow', 'whole numbers of more than 64 bits'],
])('%s is refused by the name of its type', (name, type) => {
  expect(answers.get(name)?.error).toContain(`it has a column of ${type}; write it as another one`);
});
