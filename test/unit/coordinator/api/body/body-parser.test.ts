import { FLAW } from '../../../../../coordinator/api/body/body-scanner';
import { type BodyScannerAddon, loadBodyScanner } from '../../../../../coordinator/api/native/body-scanner';
import { floatOf, middleAfter, middleTextAfter, nearestFloat } from '../../../../support/values/nearest-float';
import { seededRandom } from '../../../../support/values/random';
import { openCodecs, parseScanned, WIDE_BOUNDS } from '../../../../support/http/scanned-body';

const { vectorDimMax: VECTOR_DIM_MAX } = WIDE_BOUNDS;
const ITEMS = { name: 'items', lengthMax: 1000 };
const codecs = openCodecs();

test('the addon is built', () => {
  expect(loadBodyScanner()).toHaveProperty('scan');
  expect(codecs.map(([kind]) => kind)).toEqual(['plain', 'native']);
});

describe.each(codecs)('the %s body scanner', (kind, { scanner }) => {
  const parse = (text: string): any => parseScanned(scanner, Buffer.from(text), ITEMS);
  const flawOf = (text: string | Buffer, list: typeof ITEMS | null = ITEMS): unknown =>
    scanner.scan(Buffer.from(text), list);
  const vectorOf = (numbers: string): Float32Array => parse(`{"vector":[${numbers}]}`).vector;

  test('takes vectors at their two places, wherever they stand among other members', () => {
    const body = parse(
      '{"a":{"vector":[1]},"vector":[1,-2.5],"items":[{"vector":[3]},5,{"x":[{"vector":[9]}],"vector":[]},[{"vector":[8]}]], "queries" : [ { "vector" : [ 4 , 5 ] } ],"k":3}',
    );
    expect(body).toEqual({
      a: { vector: [1] },
      vector: Float32Array.of(1, -2.5),
      items: [
        { vector: Float32Array.of(3) },
        5,
        { x: [{ vector: [9] }], vector: new Float32Array(0) },
        [{ vector: [8] }],
      ],
      queries: [{ vector: [4, 5] }],
      k: 3,
    });
  });

  test('the last of doubled members wins, as in JSON.parse', () => {
    expect(parse('{"vector":[1],"vector":[2],"items":[{"vector":[1]}],"items":[{"vector":[3],"vector":"x"}]}')).toEqual(
      { vector: Float32Array.of(2), items: [{ vector: 'x' }] },
    );
    expect(parse('{"vector":[1],"vector":null}')).toEqual({ vector: null });
  });

  test('leaves arrays that are not all numbers as they are', () => {
    for (const array of ['[1,"2"]', '[null]', '[true]', '[[1]]', '[{}]', '["x"]', '[1,[2],3]']) {
      expect(parse(`{"vector":${array},"k":1}`)).toEqual({ vector: JSON.parse(array), k: 1 });
    }
  });

  test('strings with brackets, quotes and escapes confuse nothing', () => {
    const text =
      '{"a":"]}\\"[{\\\\","vector":[1],"b\\"\\\\":{"c":"\\u005d\\ud83d\\ude00]"},"items":[{"m":"\\"vector\\":[9]","vector":[2]}]}';
    expect(parse(text)).toEqual({
      ...JSON.parse(text),
      vector: Float32Array.of(1),
      items: [{ m: '"vector":[9]', vector: Float32Array.of(2) }],
    });
  });

  test('__proto__ is an own member, also as the owner of a vector', () => {
    const body = parse('{"__proto__":{"vector":[1]},"vector":[2]}');
    expect(Object.keys(body)).toEqual(['__proto__', 'vector']);
    expect(Object.getPrototypeOf(body)).toBe(Object.getPrototypeOf(JSON.parse('{}')));
  });

  test('numbers become the nearest float32', () => {
    const numbers = [
      '0',
      '-0',
      '1',
      '-1.5',
      '0.1',
      '1e-5',
      '1E+5',
      '123456789',
      '16777217',
      '16777219',
      '9007199254740993',
      '1e38',
      '3.4028234e38',
      '1e-45',
      '7e-46',
      '1e-46',
      '1.17549435e-38',
    ];
    const expected = numbers.map((number) => Math.fround(Number(number)));
    expect(Array.from(vectorOf(numbers.join(' , ')))).toEqual(expected);
    expect(Object.is(vectorOf('-0')[0], -0)).toBe(true);
    expect(Object.is(vectorOf('-1e-400')[0], -0)).toBe(true);
  });

  test('numbers out of range are infinite, for the validation to refuse', () => {
    expect(Array.from(vectorOf('1e39,-1e39,1e400,-1e999999999999,3.5e38'))).toEqual([
      Infinity,
      -Infinity,
      Infinity,
      -Infinity,
      Infinity,
    ]);
    expect(Array.from(vectorOf(`0.${'0'.repeat(400)}1e401,1e123456789012345678901234567890,0e99999999999`))).toEqual([
      1,
      Infinity,
      0,
    ]);
  });

  test('numbers of any number of digits are read, wherever they end', () => {
    const digits = '123456789012345678901234567';
    const numbers: string[] = [];
    for (let whole = 1; whole <= digits.length; whole++) {
      numbers.push(digits.slice(0, whole), `-${digits.slice(0, whole)}e-${whole}`);
      for (let fraction = 1; whole + fraction <= digits.length; fraction++)
        numbers.push(
          `${digits.slice(0, whole)}.${digits.slice(whole, whole + fraction)}`,
          `-0.${'0'.repeat(whole)}${digits.slice(0, fraction)}`,
        );
    }
    const expected = numbers.map((number) => Math.fround(Number(number)));
    for (const between of [',', ', ']) {
      for (let from = 0; from < numbers.length; from += 16)
        expect(Array.from(vectorOf(numbers.slice(from, from + 16).join(between)))).toEqual(
          expected.slice(from, from + 16),
        );
    }
    for (const [i, number] of numbers.entries()) expect(vectorOf(number)[0]).toBe(expected[i]);
  });

  test('a number that ends where it may not is refused at its byte', () => {
    for (const [numbers, at] of [
      ['1,', 13],
      ['1,-', 14],
      ['1,2.', 15],
      ['1,-a', 14],
      ['1,00', 14],
      ['1,12345678x', 21],
      ['1,1234567x', 20],
      ['1.12345678e', 22],
      ['0.1234567/', 20],
    ] as const) {
      expect(flawOf(`{"vector":[${numbers}]}`)).toMatchObject({ flaw: FLAW.syntax, at });
      if (at === 11 + numbers.length) expect(flawOf(`{"vector":[${numbers}`)).toMatchObject({ flaw: FLAW.syntax, at });
    }
  });

  if (kind === 'native') {
    test('every decimal becomes the float32 that is nearest to it, ties to the even one', () => {
      const random = seededRandom(1);
      const upTo = (max: number): number => Math.floor(random() * max);
      const digits = (count: number): string => Array.from({ length: count }, () => upTo(10)).join('');
      // Of any size, and of those that components have.
      const anyBits = (): number => upTo(0x7f800000);
      const usualBits = (): number => 0x38000000 + upTo(0x8000000);
      const beside = (middle: number): string => {
        const places = 6 + upTo(20);
        const [first, power] = middle.toExponential(places).split('e');
        return `${BigInt(first.replace('.', '')) + BigInt(upTo(3) - 1)}e${Number(power) - places}`;
      };
      const makes: (() => string)[] = [
        () => String(floatOf(anyBits())),
        () => String(floatOf(usualBits())),
        () => floatOf(anyBits()).toPrecision(1 + upTo(30)),
        () => String(random() ** 4),
        () => String(Math.round(random() * 1e8) / 1e8),
        () => `${upTo(2) === 0 ? '0' : `1${digits(upTo(25))}`}.${digits(1 + upTo(40))}`,
        () => `1${digits(upTo(22))}e${upTo(90) - 60}`,
        () => middleTextAfter(anyBits()),
        () => middleTextAfter(usualBits()),
        () => beside(middleAfter(anyBits())),
        () => beside(middleAfter(usualBits())),
      ];
      for (const make of makes) {
        const numbers = Array.from({ length: 3_000 }, () => `${upTo(2) === 0 ? '-' : ''}${make()}`.replace('e+', 'e'));
        const read: number[] = [];
        for (let from = 0; from < numbers.length; from += 50)
          read.push(...vectorOf(numbers.slice(from, from + 50).join(from % 100 === 0 ? ',' : ', ')));
        const wrong = numbers.filter((number, i) => !Object.is(read[i], nearestFloat(number)));
        expect(wrong).toEqual([]);
      }
      // The last number of a text, behind which nothing may be read.
      for (let count = 1; count < 40; count++) expect(vectorOf(`0.${digits(count)}`)).toHaveLength(1);
    });

    test('a number is rounded once, not by way of a double', () => {
      // 1 + 2^-24 lies in the middle between two float32 numbers; a double can't hold what lies beside it.
      expect(vectorOf('1.000000059604644775390625')[0]).toBe(1);
      expect(vectorOf('1.00000005960464477539062500001')[0]).toBe(1 + 2 ** -23);
      expect(Math.fround(Number('1.00000005960464477539062500001'))).toBe(1);
    });
  }

  test('of an array beyond the limit one element more than allowed is kept', () => {
    expect(vectorOf(new Array(VECTOR_DIM_MAX).fill('1').join())).toHaveLength(VECTOR_DIM_MAX);
    expect(vectorOf(new Array(VECTOR_DIM_MAX * 3).fill('1').join())).toHaveLength(VECTOR_DIM_MAX + 1);
    expect(parse(`{"vector":[${new Array(200).fill('1').join()}],"items":[{"vector":[7]}]}`).items[0].vector).toEqual(
      Float32Array.of(7),
    );
  });

  test.each([
    '',
    ' ',
    '{',
    '}',
    '[',
    '{"vector"',
    '{"vector":',
    '{"vector":[',
    '{"vector":[1',
    '{"vector":[1,',
    '{"vector":[1,]',
    '{"vector":[1,]}',
    '{"vector":[,1]}',
    '{"vector":[1 2]}',
    '{"vector":[01]}',
    '{"vector":[+1]}',
    '{"vector":[.5]}',
    '{"vector":[1.]}',
    '{"vector":[1e]}',
    '{"vector":[-]}',
    '{"vector":[0x10]}',
    '{"vector":[NaN]}',
    '{"vector":[Infinity]}',
    '{"vector":[-inf]}',
    '{"vector":[1]]}',
    '{"vector":[1]}}',
    '{"vector":[1]} x',
    '{"vector":[1],}',
    '{[1]:2}',
    '{"a":"vector":[1]}',
    '{"a":[}, "vector":[1]]}',
    '{"vector":[1]"b":2}',
    "{'vector':[1]}",
    '{"a":"\n","vector":[1]}',
    '{"a":"\\x","vector":[1]}',
    '{"vector":[1],"a":"',
    '{"vector":[1],"a":"\\',
    '{"items":[{"vector":[1]},]}',
    '{"items":[{"vector":[1]}',
    '{"items":[{"vector":[1]]}',
    '{vector:[1]}',
    '\ufeff{"vector":[1]}',
    '{"vector":[1]/**/}',
    '{"a":tru}',
    '{"a":nulll}',
    '{"a":"\\u12g4"}',
    '{"a":"\\u12',
    '{"a":-}',
    '{"a":1e+}',
    '{"a":1..2}',
    '[1,]',
    '[,]',
    '{,}',
    '{"a" 1}',
    '{"a":1 "b":2}',
    '[1 2]',
    '{"a":[1}',
    '[{]}',
    '"a',
    '1 1',
    'tru',
    '-',
  ])('what JSON.parse refuses is refused, with its place: %j', (text) => {
    expect(() => JSON.parse(text)).toThrow(SyntaxError);
    expect(() => parse(text)).toThrow(
      expect.objectContaining({
        kind: 'schema_violation',
        message: expect.stringMatching(
          /^body is not valid JSON: unexpected (("(.|\\[^u])"|U\+[0-9A-F]{4}) at byte \d+(; JSON .+|, a byte order mark.+)?|end)$/u,
        ),
      }),
    );
  });

  test('the message names the character and the byte', () => {
    expect(() => parse('{"a":é}')).toThrow('body is not valid JSON: unexpected "é" at byte 5');
    expect(() => parse('{"é":1}}')).toThrow('body is not valid JSON: unexpected "}" at byte 8');
    expect(() => parse('{"a":')).toThrow('body is not valid JSON: unexpected end');
  });

  test('bytes that are not UTF-8 are refused', () => {
    for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xc0, 0x80]]) {
      const body = Buffer.concat([Buffer.from('{"vector":[1],"a":"'), Buffer.from(bytes), Buffer.from('"}')]);
      expect(() => parseScanned(scanner, body)).toThrow(
        expect.objectContaining({ kind: 'schema_violation', message: expect.stringContaining('UTF-8') }),
      );
    }
  });

  test('values that are no objects are JSON like any other', () => {
    for (const text of ['null', '12', '"x"', '[]', '[{"vector":[1]}]', ' {} ', '{"vector":7}'])
      expect(parse(text)).toEqual(JSON.parse(text));
  });

  test('nesting is bounded, and refused at the bracket that is too many', () => {
    const { jsonDepthMax } = WIDE_BOUNDS;
    const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`;
    expect(parse(`{"vector":[1],"metadata":${nested(jsonDepthMax - 1)}}`).vector).toEqual(Float32Array.of(1));
    expect(flawOf(`{"a":${nested(jsonDepthMax)}}`)).toEqual({ flaw: FLAW.depth, at: 4 + jsonDepthMax, element: -1 });
    expect(flawOf('['.repeat(100_000))).toEqual({ flaw: FLAW.depth, at: jsonDepthMax, element: -1 });
    expect(flawOf(`{"items":[1,${'{"a":'.repeat(100_000)}`)).toEqual({
      flaw: FLAW.depth,
      at: 12 + 5 * (jsonDepthMax - 2),
      element: 1,
    });
  });

  test('a string that looks like a placeholder is only a string', () => {
    expect(parse('{"vector":":0","items":[{"vector":"AAAAAAAAAAAAAAAAAAAAAAAA:0"},{"vector":[5]}]}')).toEqual({
      vector: ':0',
      items: [{ vector: 'AAAAAAAAAAAAAAAAAAAAAAAA:0' }, { vector: Float32Array.of(5) }],
    });
  });
});

describe.each(openCodecs({ jsonValuesMax: 10, jsonKeysMax: 6, requestBytesMax: 100 }))(
  'the bounds of the %s body scanner',
  (_name, { scanner }) => {
    const scan = (text: string, list: typeof ITEMS | null = ITEMS): any => scanner.scan(Buffer.from(text), list);
    const list = (length: number, element: string): string => `[${new Array(length).fill(element).join()}]`;
    const accepted = { root: expect.any(String) };

    test('count the values of the root, of any kind and at any depth', () => {
      expect(scan(list(9, '1'))).toMatchObject(accepted);
      for (const element of ['1', '"x"', '{}', '[]', 'null', '-0.5e3'])
        expect(scan(list(10, element))).toEqual({ flaw: FLAW.values, at: expect.any(Number), element: -1 });
      expect(scan('{"a":{"b":{"c":{"d":[1,2,3,4,5]}}}}')).toMatchObject(accepted);
      expect(scan('{"a":{"b":{"c":{"d":[1,2,3,4,5,6]}}}}')).toEqual({ flaw: FLAW.values, at: 32, element: -1 });
    });

    test('count each element of the list by itself', () => {
      expect(
        scan(`{"items":[${list(9, '1')},${list(9, '{}')},1,2,3,4,5,6,7,8,9,10,11],"a":[1,2,3,4,5,6,7]}`),
      ).toMatchObject(accepted);
      expect(scan(`{"items":[1,2,${list(10, '1')}]}`)).toMatchObject({ flaw: FLAW.values, element: 2 });
      expect(scan(`{"items":[1,2],"a":${list(8, '1')}}`)).toMatchObject({ flaw: FLAW.values, element: -1 });
      expect(scan(`{"items":${list(10, '1')}}`, null)).toMatchObject({ flaw: FLAW.values, element: -1 });
    });

    test('count keys, of the root and of each element', () => {
      const members = (count: number): string => `{${new Array(count).fill('"a":1').join()}}`;
      expect(scan(members(6))).toMatchObject(accepted);
      expect(scan(members(7))).toEqual({ flaw: FLAW.keys, at: 40, element: -1 });
      expect(scan(`{"items":[${members(6)},${members(6)}],"b":${members(4)}}`)).toMatchObject(accepted);
      expect(scan(`{"items":[${members(6)},${members(6)}],"b":${members(5)}}`)).toMatchObject({
        flaw: FLAW.keys,
        element: -1,
      });
      expect(scan(`{"items":[${members(6)},[${members(3)},${members(4)}]]}`)).toMatchObject({
        flaw: FLAW.keys,
        element: 1,
      });
    });

    test('do not count the numbers of a vector, unless it holds something else', () => {
      const numbers = new Array(40).fill('1').join();
      expect(scan(`{"vector":[${numbers}]}`, null)).toMatchObject(accepted);
      expect(scan(`{"items":[{"vector":[${numbers}]}]}`)).toMatchObject(accepted);
      expect(scan(`{"vector":[${numbers},"x"]}`, null)).toEqual({ flaw: FLAW.values, at: 91, element: -1 });
      expect(scan(`{"vector":[1],"vector":[${numbers}]}`, null)).toMatchObject({ flaw: FLAW.values });
      expect(scan(`{"v\\u0065ctor":[${numbers}]}`, null)).toMatchObject({ flaw: FLAW.values });
      expect(scan(`{"items":[[{"vector":[${numbers}]}]]}`)).toMatchObject({ flaw: FLAW.values, element: 0 });
    });

    test('bound the bytes of each element, and of the rest', () => {
      const text = (length: number): string => JSON.stringify('x'.repeat(length - 2));
      expect(scan(`{"items":[${text(100)},${text(100)},${text(100)}]}`)).toMatchObject(accepted);
      expect(scan(`{"items":[${text(100)},${text(101)}]}`)).toEqual({ flaw: FLAW.bytes, at: 212, element: 1 });
      expect(scan(`{"items":[${text(100)}],"a":${text(85)}}`)).toMatchObject(accepted);
      expect(scan(`{"items":[${text(100)}],"a":${text(86)}}`)).toMatchObject({ flaw: FLAW.bytes, element: -1 });
      // Without a list it is the size of the body, which is bounded as it is read.
      expect(scan(`{"a":${text(200)}}`, null)).toMatchObject(accepted);
    });

    test('of a list beyond its bound the rest is judged and counted, but not kept', () => {
      const judged = scanner.scan(Buffer.from(`{"items":${list(2500, '{"vector":[1]}')}}`), ITEMS);
      expect(judged.flaw).toBeUndefined();
      if (judged.flaw !== undefined) return;
      expect(judged.list?.length).toBe(2500);
      const kept = Array.from({ length: judged.list?.partCount ?? 0 }, (_, i) =>
        JSON.parse(judged.list?.part(i) ?? ''),
      ).flat();
      expect(kept).toHaveLength(1000);
      expect(scan(`{"items":${list(2500, '1').slice(0, -1)},x]}`)).toMatchObject({ flaw: FLAW.syntax, element: 2500 });
    });

    test('a long list comes in runs of bounded size, whatever its elements are', () => {
      for (const element of ['1', `"${'y'.repeat(90)}"`, '[1,2,3,4,5,6,7]']) {
        const judged = scanner.scan(Buffer.from(`{"items":${list(100_000, element)}}`), {
          name: 'items',
          lengthMax: 100_000,
        });
        if (judged.flaw !== undefined) throw new Error(`refused: ${judged.flaw}`);
        const parts = Array.from({ length: judged.list?.partCount ?? 0 }, (_, i) => judged.list?.part(i) ?? '');
        expect(parts.length).toBeGreaterThan(20);
        for (const part of parts) expect(part.length).toBeLessThan(70_000);
        expect(parts.map((part) => JSON.parse(part)).flat()).toHaveLength(100_000);
      }
    });
  },
);

describe.each(codecs)('the %s vector format', (_name, { formats: { array: format, base64 } }) => {
  test('writes the shortest decimals', () => {
    const values = Float32Array.of(
      0.1,
      0,
      -0,
      1,
      -1.5,
      16777216,
      1e-45,
      3.4028235e38,
      0.3,
      1 / 3,
      123456,
      1234567000,
      1e10,
    );
    const numbers = JSON.parse(format(values)) as number[];
    expect(numbers).toEqual([
      0.1, 0, -0, 1, -1.5, 16777216, 1e-45, 3.4028235e38, 0.3, 0.33333334, 123456, 1234567000, 1e10,
    ]);
    expect(format(new Float32Array(0))).toBe('[]');
  });

  test('writes base64 of little-endian float32, of a part of a larger buffer too', () => {
    const values = Float32Array.of(9, 0.1, -2, 3e-40, 9).subarray(1, 4);
    const bytes = Buffer.from(JSON.parse(base64(values)) as string, 'base64');
    expect([0, 4, 8].map((at) => bytes.readFloatLE(at))).toEqual([...values]);
    expect(bytes).toHaveLength(12);
  });
});

describe('the addon', () => {
  const addon = loadBodyScanner() as any;
  const body = Buffer.from('{}');
  const bounds = Float64Array.of(8, 8, 8, 8, 8, 8);

  test('answers wrong arguments with a TypeError', () => {
    for (const scan of [addon.scan, addon.scanAside]) {
      for (const call of [
        () => scan(),
        () => scan('text', 'n', '', bounds),
        () => scan(body),
        () => scan(body, '', '', bounds),
        () => scan(body, 5, '', bounds),
        () => scan(body, 'n', null, bounds),
        () => scan(body, 'n', '', [8, 8, 8, 8, 8, 8]),
        () => scan(body, 'n', '', bounds.subarray(1)),
        () => scan(body, 'n', '', Float64Array.of(8, 8, 8, 8, 8, 0)),
        () => scan(body, 'n', '', Float64Array.of(8, 8, NaN, 8, 8, 8)),
        () => scan(body, 'n', '', Float64Array.of(8, 8, 8, 2 ** 40, 8, 8)),
        () => scan(new Float32Array(2), 'n', '', bounds),
      ]) {
        expect(call).toThrow(expect.objectContaining({ code: 'QUIVER_INVALID_ARGUMENT' }));
      }
    }
    const ten = Float64Array.of(8, 8, 8, 8, 8, 8, 8, 8, 8, 8);
    const target = new Uint8Array(64);
    for (const call of [
      () => addon.encodeAside(body, 'n', '"items"', ten),
      () => addon.encodeAside(body, 'n', '"items"', bounds, target),
      () => addon.encodeAside(body, 'n', '"items"', ten, target.buffer),
      () => addon.encodeAside(body, 'n', '"items"', ten, new Float32Array(16)),
      () => addon.detach(),
      () => addon.detach(target),
      () => addon.detach(new SharedArrayBuffer(8)),
    ]) {
      expect(call).toThrow(expect.objectContaining({ code: 'QUIVER_INVALID_ARGUMENT' }));
    }
    for (const call of [
      () => addon.formatVector(),
      () => addon.formatVector([1]),
      () => addon.formatVector(new Float64Array(1)),
    ]) {
      expect(call).toThrow(expect.objectContaining({ code: 'QUIVER_INVALID_ARGUMENT' }));
    }
  });
});

describe('the encoder of bulk writes', () => {
  const addon = loadBodyScanner() as BodyScannerAddon;
  const bounds = Float64Array.of(4, 3, 8, 16, 1000, 8, 40, 6, 4, 9);
  const encode = (text: string, bytes = 4096) =>
    addon.encodeAside(Buffer.from(text), 'mark', '"items"', bounds, new Uint8Array(bytes));
  const items = (...all: string[]): string => `{"items":[${all.join(',')}]}`;
  const PLAIN = '{"external_id":"a","vector":[1,2]}';

  test('answers what stands around the list, and how much it wrote', async () => {
    expect(await encode(` { "on_error" : "skip" , "items":[ ${PLAIN} , ${PLAIN}] , "n":-1.5 } `)).toEqual({
      root: ' { "on_error" : "skip" , "items":"mark" , "n":-1.5 } ',
      count: 2,
      dim: 2,
      size: 16 + 2 * 40,
    });
  });

  test('says when the target is too small, by whatever byte', async () => {
    const text = items('{"external_id":"abc","vector":[1,2],"metadata":{"k":"v"}}', PLAIN);
    const size = 16 + 48 + 40;
    expect(await encode(text, size)).toMatchObject({ size });
    for (let bytes = 16; bytes < size; bytes++) expect(await encode(text, bytes)).toBe(false);
  });

  test.each([
    ['a vector of the greatest length', '{"external_id":"a","vector":[1,2,3,4]}', true],
    ['a longer one', '{"external_id":"a","vector":[1,2,3,4,5]}', false],
    ['the longest id', '{"external_id":"123456789","vector":[1]}', true],
    ['a longer one', '{"external_id":"1234567890","vector":[1]}', false],
    ['metadata of the most bytes', `{"external_id":"a","vector":[1],"metadata":{"k": "${'x'.repeat(32)}"}}`, true],
    ['of more', `{"external_id":"a","vector":[1],"metadata":{"k": "${'x'.repeat(33)}"}}`, false],
    ['metadata of the most fields', '{"external_id":"a","vector":[1],"metadata":{"k":[1,2,3,4,5]}}', true],
    ['of more', '{"external_id":"a","vector":[1],"metadata":{"k":[1,2,3,4,5,6]}}', false],
    ['metadata of the greatest depth', '{"external_id":"a","vector":[1],"metadata":{"k":[[{}]]}}', true],
    ['of a greater one', '{"external_id":"a","vector":[1],"metadata":{"k":[[{"l":[]}]]}}', false],
    [
      'as many keys as there may be',
      '{"external_id":"a","vector":[1],"metadata":{"a":1,"b":{"c":1,"d":1},"e":1}}',
      true,
    ],
    ['more', '{"external_id":"a","vector":[1],"metadata":{"a":1,"b":{"c":1,"d":1},"e":1,"f":2}}', false],
  ])('%s', async (_what, item, isEncoded) => {
    expect((await encode(items(item))) !== null).toBe(isEncoded);
  });

  test('more items than there may be, and none, are left to others', async () => {
    expect(await encode(items(PLAIN, PLAIN, PLAIN))).toMatchObject({ count: 3 });
    expect(await encode(items(PLAIN, PLAIN, PLAIN, PLAIN))).toBeNull();
    expect(await encode(items())).toBeNull();
  });
});

describe.each(openCodecs({ jsonValuesMax: 100_000, requestBytesMax: 100_000 }))(
  'scans aside by the %s scanner',
  (_name, { scanner }) => {
    const items = Array.from({ length: 2000 }, (_, i) => ({
      external_id: `${i}`,
      vector: [i, 0.5],
      metadata: { text: 'x'.repeat(500) },
    }));
    const body = Buffer.from(JSON.stringify({ items, k: 1 }));
    const list = { name: 'items', lengthMax: 5000 };
    const never = (): boolean => false;

    test('answer as those on the thread, many at a time', async () => {
      const wanted = scanner.scan(body, list);
      const scans = await Promise.all(Array.from({ length: 5 }, () => scanner.scanAside(body, list, never)));
      for (const scan of scans) {
        if (scan.flaw !== undefined || wanted.flaw !== undefined) throw new Error('it was refused');
        expect(scan.root).toBe(wanted.root);
        expect(scan.list?.partCount).toBe(wanted.list?.partCount);
        for (let i = 0; i < (scan.list?.partCount ?? 0); i++) expect(scan.list?.part(i)).toBe(wanted.list?.part(i));
      }
      expect(await scanner.scanAside(Buffer.from(`${body.toString()}x`), list, never)).toEqual({
        flaw: FLAW.syntax,
        at: body.length,
        element: -1,
      });
    });

    test('end when their client is gone, and leave their place to others', async () => {
      const gone = Array.from({ length: 5 }, () => scanner.scanAside(body, list, () => true));
      const waiting = scanner.scanAside(body, list, never);
      for (const scan of gone) await expect(scan).rejects.toThrow(expect.objectContaining({ name: 'ClientGone' }));
      expect((await waiting).flaw).toBeUndefined();
    });
  },
);
