import { JsonBodyParser } from '../../coordinator/http/body/json-body-parser';
import { openVectorCodec, type VectorCodec } from '../../coordinator/http/body/vector-codec';
import { loadBodyScanner } from '../../coordinator/native/body-scanner';
import { isQuiverError } from '../../shared/errors/quiver-error';

const VECTOR_DIM_MAX = 64;
const codecs: [string, VectorCodec][] = [
  ['plain', openVectorCodec({ vectorDimMax: VECTOR_DIM_MAX }, null)],
  ['native', openVectorCodec({ vectorDimMax: VECTOR_DIM_MAX })],
];

test('the addon is built', () => {
  expect(loadBodyScanner()).not.toBeNull();
  expect(codecs.map(([, { kind }]) => kind)).toEqual(['plain', 'native']);
});

describe.each(codecs)('the %s body parser', (_name, { parser, kind }) => {
  const parse = (text: string): any => parser.parse(Buffer.from(text));
  const vectorOf = (numbers: string): Float32Array => parse(`{"vector":[${numbers}]}`).vector;

  test('takes vectors at the three places, wherever they stand among other members', () => {
    const body = parse(
      '{"a":{"vector":[1]},"vector":[1,-2.5],"items":[{"vector":[3]},5,{"x":[{"vector":[9]}],"vector":[]},[{"vector":[8]}]], "queries" : [ { "vector" : [ 4 , 5 ] } ],"k":3}',
    );
    expect(body).toEqual({
      a: { vector: [1] },
      vector: Float32Array.of(1, -2.5),
      items: [{ vector: Float32Array.of(3) }, 5, { x: [{ vector: [9] }], vector: new Float32Array(0) }, [{ vector: [8] }]],
      queries: [{ vector: Float32Array.of(4, 5) }],
      k: 3,
    });
  });

  test('the last of doubled members wins, as in JSON.parse', () => {
    expect(parse('{"vector":[1],"vector":[2],"items":[{"vector":[1]}],"items":[{"vector":[3],"vector":"x"}]}')).toEqual({ vector: Float32Array.of(2), items: [{ vector: 'x' }] });
    expect(parse('{"vector":[1],"vector":null}')).toEqual({ vector: null });
  });

  test('leaves arrays that are not all numbers as they are', () => {
    for (const array of ['[1,"2"]', '[null]', '[true]', '[[1]]', '[{}]', '["x"]', '[1,[2],3]']) {
      expect(parse(`{"vector":${array},"k":1}`)).toEqual({ vector: JSON.parse(array), k: 1 });
    }
  });

  test('strings with brackets, quotes and escapes confuse nothing', () => {
    const text = '{"a":"]}\\"[{\\\\","vector":[1],"b\\"\\\\":{"c":"\\u005d\\ud83d\\ude00]"},"items":[{"m":"\\"vector\\":[9]","vector":[2]}]}';
    expect(parse(text)).toEqual({ ...JSON.parse(text), vector: Float32Array.of(1), items: [{ m: '"vector":[9]', vector: Float32Array.of(2) }] });
  });

  test('__proto__ is an own member, also as the owner of a vector', () => {
    const body = parse('{"__proto__":{"vector":[1]},"vector":[2]}');
    expect(Object.keys(body)).toEqual(['__proto__', 'vector']);
    expect(Object.getPrototypeOf(body)).toBe(Object.getPrototypeOf(JSON.parse('{}')));
  });

  test('numbers become the nearest float32', () => {
    const numbers = ['0', '-0', '1', '-1.5', '0.1', '1e-5', '1E+5', '123456789', '16777217', '16777219', '9007199254740993', '1e38', '3.4028234e38', '1e-45', '7e-46', '1e-46', '1.17549435e-38'];
    const expected = numbers.map((number) => Math.fround(Number(number)));
    expect(Array.from(vectorOf(numbers.join(' , ')))).toEqual(expected);
    expect(Object.is(vectorOf('-0')[0], -0)).toBe(true);
    expect(Object.is(vectorOf('-1e-400')[0], -0)).toBe(true);
  });

  test('numbers out of range are infinite, for the validation to refuse', () => {
    expect(Array.from(vectorOf('1e39,-1e39,1e400,-1e999999999999,3.5e38'))).toEqual([Infinity, -Infinity, Infinity, -Infinity, Infinity]);
    expect(Array.from(vectorOf(`0.${'0'.repeat(400)}1e401,1e123456789012345678901234567890,0e99999999999`))).toEqual([1, Infinity, 0]);
  });

  if (kind === 'native') {
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
    expect(parse(`{"vector":[${new Array(200).fill('1').join()}],"items":[{"vector":[7]}]}`).items[0].vector).toEqual(Float32Array.of(7));
  });

  test.each([
    '', ' ', '{', '}', '[', '{"vector"', '{"vector":', '{"vector":[', '{"vector":[1', '{"vector":[1,', '{"vector":[1,]', '{"vector":[1,]}', '{"vector":[,1]}',
    '{"vector":[1 2]}', '{"vector":[01]}', '{"vector":[+1]}', '{"vector":[.5]}', '{"vector":[1.]}', '{"vector":[1e]}', '{"vector":[-]}', '{"vector":[0x10]}',
    '{"vector":[NaN]}', '{"vector":[Infinity]}', '{"vector":[-inf]}', '{"vector":[1]]}', '{"vector":[1]}}', '{"vector":[1]} x', '{"vector":[1],}', '{[1]:2}',
    '{"a":"vector":[1]}', '{"a":[}, "vector":[1]]}', '{"vector":[1]"b":2}', "{'vector':[1]}", '{"a":"\n","vector":[1]}', '{"a":"\\x","vector":[1]}', '{"vector":[1],"a":"',
    '{"vector":[1],"a":"\\', '{"items":[{"vector":[1]},]}', '{"items":[{"vector":[1]}', '{"items":[{"vector":[1]]}', '{vector:[1]}', '\ufeff{"vector":[1]}', '{"vector":[1]/**/}',
  ])('what JSON.parse refuses is refused in its words: %j', (text) => {
    expect(() => JSON.parse(text)).toThrow(SyntaxError);
    expect(() => parse(text)).toThrow(expect.objectContaining({ kind: 'schema_violation', message: expect.stringContaining('not valid JSON') }));
    expect(messageOf(() => parse(text))).toBe(messageOf(() => new JsonBodyParser({ vectorDimMax: 8 }).parse(Buffer.from(text))));
  });

  test('bytes that are not UTF-8 are refused', () => {
    for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xc0, 0x80]]) {
      const body = Buffer.concat([Buffer.from('{"vector":[1],"a":"'), Buffer.from(bytes), Buffer.from('"}')]);
      expect(() => parser.parse(body)).toThrow(expect.objectContaining({ kind: 'schema_violation', message: expect.stringContaining('UTF-8') }));
    }
  });

  test('values that are no objects are JSON like any other', () => {
    for (const text of ['null', '12', '"x"', '[]', '[{"vector":[1]}]', ' {} ', '{"vector":7}']) expect(parse(text)).toEqual(JSON.parse(text));
  });

  test('nesting without end is no danger', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect(parse(`{"vector":[1],"metadata":${deep}}`).vector).toEqual(Float32Array.of(1));
    expect(() => parse(`{"vector":[1],"metadata":${'['.repeat(100_000)}}`)).toThrow(expect.objectContaining({ kind: 'schema_violation' }));
  });

  test('a string that looks like a placeholder is only a string', () => {
    expect(parse('{"vector":":0","items":[{"vector":"AAAAAAAAAAAAAAAAAAAAAAAA:0"},{"vector":[5]}]}')).toEqual({
      vector: ':0',
      items: [{ vector: 'AAAAAAAAAAAAAAAAAAAAAAAA:0' }, { vector: Float32Array.of(5) }],
    });
  });
});

function messageOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (isQuiverError(error)) return error.message;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe.each(codecs)('the %s vector format', (_name, { format }) => {
  test('writes the shortest decimals', () => {
    const values = Float32Array.of(0.1, 0, -0, 1, -1.5, 16777216, 1e-45, 3.4028235e38, 0.3, 1 / 3, 123456, 1234567000, 1e10);
    const numbers = JSON.parse(format(values)) as number[];
    expect(numbers).toEqual([0.1, 0, -0, 1, -1.5, 16777216, 1e-45, 3.4028235e38, 0.3, 0.33333334, 123456, 1234567000, 1e10]);
    expect(format(new Float32Array(0))).toBe('[]');
  });
});

describe('the addon', () => {
  const addon = loadBodyScanner() as any;

  test('answers wrong arguments with a TypeError', () => {
    for (const call of [
      () => addon.scan(),
      () => addon.scan('text', 'n', 1),
      () => addon.scan(Buffer.from('{}')),
      () => addon.scan(Buffer.from('{}'), '', 1),
      () => addon.scan(Buffer.from('{}'), 5, 1),
      () => addon.scan(Buffer.from('{}'), 'n', 0),
      () => addon.scan(Buffer.from('{}'), 'n', '1'),
      () => addon.scan(new Float32Array(2), 'n', 1),
      () => addon.formatVector(),
      () => addon.formatVector([1]),
      () => addon.formatVector(new Float64Array(1)),
    ]) {
      expect(call).toThrow(expect.objectContaining({ code: 'QUIVER_INVALID_ARGUMENT' }));
    }
  });
});
