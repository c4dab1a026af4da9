import { UntypedBytes } from '../../../../cli/formats/table-values';
import { type ColumnMapping, mapColumns } from '../../../../cli/import/column-mapping';
import { RowConverter } from '../../../../cli/import/item-of-row';

const TABLE = { hasTextOnly: false };
const whole: ColumnMapping = { id: 'id', vector: 'vector', text: 'text', metadataObject: null, metadata: null };

function convert(fields: Record<string, unknown>, mapping: ColumnMapping = whole, source = TABLE): unknown {
  const outcome = new RowConverter(mapping, 2, source, { idPrefix: '', guessTypes: true }).convert(
    { fields, number: 7 },
    'f:',
  );
  if (!('json' in outcome)) return outcome.reason;
  const item = JSON.parse(outcome.json) as Record<string, unknown>;
  return outcome.vector === null ? item : { ...item, vector: base64(...outcome.vector) };
}

const base64 = (...numbers: number[]): string => Buffer.from(Float32Array.from(numbers).buffer).toString('base64');

describe('an item of a row', () => {
  test.each([
    ['an array', [0.1, 2]],
    ['a typed array', Float64Array.of(0.1, 2)],
    ['floats', Float32Array.of(0.1, 2)],
    ['texts of numbers', ['0.1', '2']],
    ['bytes', new Uint8Array(Float32Array.of(0.1, 2).buffer)],
    ['base64', base64(0.1, 2)],
    ['JSON', '[0.1, 2]'],
    ['numbers apart', '0.1 2e0'],
    ['big numbers', [0.1, 2n]],
    ['decimal commas', ['0,1', '2']],
    ['decimal commas in a list', '[0,1; 2,0]'],
    ['an array as numpy prints it', 'array([0.1, 2. ], dtype=float32)'],
    ['a tensor as torch prints it', ' tensor([0.1, 2.])'],
    ['numbers as numpy prints them', '[np.float64(0.1), np.float32(2.0)]'],
    ['an object with nothing but a list', { values: [0.1, 2] }],
    ['an object with nothing but floats', { default: Float32Array.of(0.1, 2) }],
  ])('has its vector from %s', (_kind, vector) => {
    expect(convert({ id: 'a', vector })).toEqual({ external_id: 'a', vector: base64(0.1, 2), metadata: {} });
  });

  test.each([
    [{ vector: [1, 2] }, 'no id in column "id"'],
    [{ id: '', vector: [1, 2] }, 'the id is empty'],
    [{ id: 'a\u0000', vector: [1, 2] }, 'the id holds a control character'],
    [{ id: 'x'.repeat(513), vector: [1, 2] }, 'the id has 513 characters, at most 512 are possible'],
    [{ id: 1, vector: [1] }, 'the vector has 1 number, the collection 2 dimensions'],
    [{ id: 1, vector: [1, null] }, 'number 1 of the vector is null'],
    [{ id: 1, vector: [1, 1e39] }, 'number 1 of the vector is Infinity'],
    [{ id: 1, vector: Float32Array.of(Number.NaN, 1) }, 'number 0 of the vector is NaN'],
    [{ id: 1, vector: 'what?' }, 'the vector is neither a list of numbers nor base64'],
    [{ id: 1, vector: { a: 1 } }, 'the vector is no list of numbers'],
    [{ id: 1, vector: { a: [1, 2], b: [1, 2] } }, 'the vector is no list of numbers'],
    [{ id: 1, vector: 'array([1, [2]])' }, 'the vector is neither a list of numbers nor base64'],
    [{ id: 1, vector: 'f(1, 2)' }, 'the vector is neither a list of numbers nor base64'],
    [{ id: 1, vector: [Number.NaN, 1] }, 'number 0 of the vector is NaN'],
    [{ id: 1, text: ' ' }, 'neither a vector nor a text'],
  ])('%j is refused: %s', (fields, reason) => {
    expect(convert(fields)).toBe(reason);
  });

  test('has values of tables as JSON, without those that are not there', () => {
    const fields = {
      id: 12n,
      vector: [1, 2],
      day: new Date(0),
      big: 2n ** 60n,
      small: 3n,
      list: Float32Array.of(1, 2),
      bytes: Uint8Array.of(1, 2),
      none: null,
      nan: Number.NaN,
      ['__proto__']: 'data',
    };
    expect(
      JSON.stringify((convert(Object.fromEntries(Object.entries(fields))) as { metadata: unknown }).metadata),
    ).toBe(
      '{"day":"1970-01-01T00:00:00.000Z","big":"1152921504606846976","small":3,"list":[1,2],"bytes":"AQI=","__proto__":"data"}',
    );
  });

  test('has numbers and truth values of text where they would come back as they were', () => {
    const texts = [
      '01234',
      '12345678901234567890',
      '+1',
      '1.10',
      '5E3',
      '1e5',
      '-0',
      '1e400',
      '0x1F',
      '0.1000000000000000055511',
      '1.0',
      ' 1',
      'no',
      '.5',
    ];
    const fields = {
      id: 'a',
      vector: '1 2',
      n: '12',
      f: '-1.5',
      small: '1e-7',
      yes: 'true',
      empty: '',
      none: 'NaN',
      inf: '-inf',
      ...texts,
    };
    const { metadata } = convert(fields, whole, { hasTextOnly: true }) as { metadata: unknown };
    expect(metadata).toEqual({ n: 12, f: -1.5, small: 1e-7, yes: true, ...texts });
  });

  test('keeps bytes of which nobody says what they are apart, as text where they are one, also as id', () => {
    const bytes = (text: string): UntypedBytes => new UntypedBytes(Buffer.from(text, 'latin1'));
    expect(
      convert({
        id: bytes('\xffA'),
        vector: [1, 2],
        hash: bytes('\xfe\x01'),
        name: bytes('plain'),
        control: bytes('\0'),
      }),
    ).toEqual({
      external_id: '/0E=',
      vector: base64(1, 2),
      metadata: { hash: '/gE=', name: 'plain', control: 'AA==' },
    });
    expect(convert({ id: bytes('x'), vector: bytes('[1,  2]') })).toMatchObject({
      external_id: 'x',
      vector: base64(1, 2),
    });
    expect(convert({ id: 'x', vector: new UntypedBytes(new Uint8Array(Float32Array.of(0, 0).buffer)) })).toMatchObject({
      vector: base64(0, 0),
    });
  });

  test('keeps an empty text beside a vector, but of CSV, where it is a value that is not there', () => {
    expect(convert({ id: 'a', vector: [1, 2], text: '' })).toMatchObject({ text: '' });
    expect(convert({ id: 'a', vector: '1 2', text: '' }, whole, { hasTextOnly: true })).not.toHaveProperty('text');
    expect(convert({ id: 'a', vector: [1, 2], text: Number.NaN })).not.toHaveProperty('text');
  });

  test('has the object of a metadata column with the other columns beside it', () => {
    const mapping = mapColumns(['id', 'vector', 'metadata', 'year'], {}, {});
    expect(convert({ id: 'a', vector: [1, 2], metadata: '{"tag":"x","year":1}', year: 2 }, mapping)).toMatchObject({
      metadata: { year: 1, tag: 'x' },
    });
    expect(convert({ id: 'a', vector: [1, 2], metadata: 'no' }, mapping)).toBe(
      'column "metadata" holds no JSON object',
    );
  });

  test('of CSV has numbers of texts that would come back as they were, and of named columns of all that are numbers', () => {
    const fields = {
      id: 'a',
      vector: '1 2',
      price: '8.00',
      code: '8.00',
      n: '1e3',
      year: '1999',
      many: '12345678901234567890',
      word: 'x',
    };
    const of = (guessTypes: boolean): unknown => {
      const outcome = new RowConverter(
        whole,
        2,
        { hasTextOnly: true },
        { idPrefix: '', guessTypes, numbers: new Set(['price', 'n', 'many', 'word']) },
      ).convert({ fields, number: 1 }, '');
      return 'json' in outcome ? (JSON.parse(outcome.json) as { metadata: unknown }).metadata : outcome;
    };
    expect(of(true)).toEqual({ price: 8, code: '8.00', n: 1000, year: 1999, many: '12345678901234567890', word: 'x' });
    expect(of(false)).toEqual({
      price: 8,
      code: '8.00',
      n: 1000,
      year: '1999',
      many: '12345678901234567890',
      word: 'x',
    });
  });

  test('of CSV with decimal commas has numbers of its metadata alone, and points between thousands where it is said', () => {
    const metadataOf = (value: string, isNumber: boolean): unknown => {
      const numbers = new Set(isNumber ? ['price'] : []);
      const options = { idPrefix: '', guessTypes: true, numbers, hasDecimalCommas: true };
      const outcome = new RowConverter(whole, 2, { hasTextOnly: true }, options).convert(
        { fields: { id: '1,5', vector: '0,5;2', text: '2,5', price: value }, number: 1 },
        '',
      );
      if (!('json' in outcome)) return outcome.reason;
      const { external_id: id, text, metadata } = JSON.parse(outcome.json) as Record<string, unknown>;
      expect({ id, text, vector: [...outcome.vector!] }).toEqual({ id: '1,5', text: '2,5', vector: [0.5, 2] });
      return (metadata as { price: unknown }).price;
    };
    const values = ['12,5', '999', '1.234', '2.500', '12.345.678', '1.234,50', '1,10', '1.2', '1,2,3', '-0,5'];
    expect(values.map((value) => metadataOf(value, false))).toEqual([
      12.5,
      999,
      '1.234',
      '2.500',
      '12.345.678',
      '1.234,50',
      '1,10',
      '1.2',
      '1,2,3',
      -0.5,
    ]);
    expect(values.map((value) => metadataOf(value, true))).toEqual([
      12.5,
      999,
      1234,
      2500,
      12345678,
      1234.5,
      1.1,
      '1.2',
      '1,2,3',
      -0.5,
    ]);
  });

  test.each<[string, { dim: number; isSaid?: boolean }, number[] | string]>([
    ['0,5', { dim: 1 }, [0.5]],
    [' -0,05 ', { dim: 1 }, [-0.05]],
    ['1', { dim: 1 }, [1]],
    ['[0,5]', { dim: 1 }, 'the vector has 2 numbers, the collection 1 dimension'],
    ['0,5', { dim: 2 }, [0, 5]],
    ['0,5', { dim: 1, isSaid: true }, [0.5]],
    ['0,5', { dim: 2, isSaid: true }, 'the vector has 1 number, the collection 2 dimensions'],
    ['0,5 1,25', { dim: 2, isSaid: true }, [0.5, 1.25]],
    ['0,5, 1,25', { dim: 2, isSaid: true }, [0.5, 1.25]],
    ['[0,5, 1,25]', { dim: 2, isSaid: true }, [0.5, 1.25]],
    ['[0,5; 1]', { dim: 2, isSaid: true }, [0.5, 1]],
    ['[0,5]', { dim: 2, isSaid: true }, [0, 5]],
    ['[0, 5]', { dim: 2, isSaid: true }, [0, 5]],
    ['0.5,1.25', { dim: 2, isSaid: true }, [0.5, 1.25]],
    ['1,2,3', { dim: 3, isSaid: true }, [1, 2, 3]],
  ])('the vector %j, %j, is %j', (vector, { dim, isSaid = false }, wanted) => {
    const options = { idPrefix: '', guessTypes: true, hasDecimalCommas: isSaid };
    const outcome = new RowConverter(whole, dim, { hasTextOnly: true }, options).convert(
      { fields: { id: 'a', vector, text: '' }, number: 1 },
      '',
    );
    expect('json' in outcome ? outcome.vector : outcome.reason).toEqual(
      typeof wanted === 'string' ? wanted : Float32Array.from(wanted),
    );
  });

  test('expires when its column says so, which must be a text', () => {
    const mapping = mapColumns(['id', 'vector', 'metadata', 'expires_at'], {}, {});
    const item = { id: 'a', vector: [1, 2], metadata: {} };
    expect(convert({ ...item, expires_at: '2035-01-01T00:00:00Z' }, mapping)).toMatchObject({
      expires_at: '2035-01-01T00:00:00Z',
      metadata: {},
    });
    expect(convert({ ...item, expires_at: new Date(0) }, mapping)).toMatchObject({
      expires_at: '1970-01-01T00:00:00.000Z',
    });
    for (const none of [null, undefined, '', Number.NaN])
      expect(convert({ ...item, expires_at: none }, mapping)).not.toHaveProperty('expires_at');
    expect(convert({ ...item, expires_at: 2_051_222_400 }, mapping)).toBe(
      'expires_at is 2051222400, and no time as text in ISO 8601',
    );
  });

  test('has the number of its row as id where no column has one', () => {
    const { external_id: id } = convert({ vector: [1, 2] }, { ...whole, id: null }) as { external_id: string };
    expect(id).toMatch(/^f:7-[0-9a-f]{12}$/);
    expect(convert({ vector: [1, 2] }, { ...whole, id: null })).toMatchObject({ external_id: id });
    // A row of another file with the same name.
    for (const other of [{ vector: [1, 3] }, { vector: [1, '2'] }, { vector: [1, 2], title: 'x' }])
      expect(convert(other, { ...whole, id: null })).not.toMatchObject({ external_id: id });
  });
});

describe('the columns', () => {
  test.each([
    [['Id', 'Embedding', 'Content', 'n'], {}, { id: 'Id', vector: 'Embedding', text: 'Content' }],
    [['a', 'v0', 'v1', 'title'], { vector: ['v*'] }, { id: null, vector: ['v0', 'v1'], text: 'title' }],
    [
      ['id', 'vector', 'text'],
      { vector: false as const, id: false as const },
      { id: null, vector: null, text: 'text' },
    ],
  ])('%j are what they are called', (columns, options, expected) => {
    expect(mapColumns(columns, {}, options)).toMatchObject(expected);
  });

  test.each([
    [['a', 'b'], {}, /which column holds vectors \(--vector\) or texts \(--text\)\? There is: a, b$/],
    [['id', 'd_0', 'd_1', 'x1'], {}, /d_1, x1; a vector in columns with a number each is --vector "d_\*"$/],
    [['0', '1', '2', 'x'], {}, / is --vector "0,1,…"$/],
    [['id', 'vector'], { text: 'words' }, /no column "words"; there is: id, vector/],
    [['id', 'text'], { vector: ['d*'] }, /no column fits "d\*"/],
  ])('%j with %j is refused', (columns, options, reason) => {
    expect(() => mapColumns(columns, {}, options)).toThrow(reason);
  });
});
