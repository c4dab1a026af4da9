import fc from 'fast-check';
import { losslessJson, parseLenient, parseLossless } from '../../../../../cli/formats/json/lossless-json';

describe('parseLossless', () => {
  test('integers beyond 2^53 become strings of their digits, and are counted', () => {
    let count = 0;
    const parsed = parseLossless(
      '{"a": 9007199254740993, "b": [-18446744073709551615,1], "c": 9007199254740991}',
      () => (count += 1),
    );
    expect(parsed).toEqual({ a: '9007199254740993', b: ['-18446744073709551615', 1], c: 9007199254740991 });
    expect(count).toBe(2);
  });

  test('digits in strings, fractions and exponents stay what they are', () => {
    const text = String.raw`{"a": "x: 9007199254740993, \"9007199254740993\"", "b": 0.12345678901234567, "c": 1234567890123456789e3, "9007199254740993": [12345678901234567.5], "d": 9007199254740993}`;
    expect(parseLossless(text)).toEqual({ ...(JSON.parse(text) as object), d: '9007199254740993' });
  });

  test('numbers beyond all doubles become strings, too', () => {
    expect(parseLossless('{"a": 1e400, "b": [-1.5E+400, 1e-400, 1e308], "c": "1e400"}')).toEqual({
      a: '1e400',
      b: ['-1.5E+400', 0, 1e308],
      c: '1e400',
    });
    expect(parseLossless(`[${'9'.repeat(400)}]`)).toEqual(['9'.repeat(400)]);
  });

  test('JSON without large integers is what JSON.parse says', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        // fast-check draws no integers beyond 2^53 without an exponent.
        fc.pre(!/(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/.test(text));
        expect(parseLossless(text)).toEqual(JSON.parse(text));
      }),
    );
  });
});

test('numbers that are none are read as Python writes them, and texts stay as they are', () => {
  expect(
    parseLenient(String.raw`{"a": NaN, "b": [-Infinity, 1, Infinity], "c": "NaN \" Infinity", "d": 9007199254740993}`),
  ).toEqual({
    a: Number.NaN,
    b: [-Infinity, 1, Infinity],
    c: 'NaN " Infinity',
    d: '9007199254740993',
  });
  for (const text of ['{"a": nan}', '{"a": NaN', '{"a": +Infinity}', '{NaN: 1}'])
    expect(() => parseLenient(text)).toThrow(SyntaxError);
});

test('doubles that are whole numbers beyond 2^53 come back from what losslessJson writes', () => {
  const value = {
    a: 2 ** 53,
    b: [-1e20, 1e21, 1.5, 2 ** 53 - 1],
    c: '9007199254740992',
    d: { '9007199254740992': [2 ** 60] },
  };
  expect(losslessJson(value)).toBe(
    '{"a":9007199254740992.0,"b":[-100000000000000000000.0,1e+21,1.5,9007199254740991],"c":"9007199254740992","d":{"9007199254740992":[1152921504606847000.0]}}',
  );
  expect(parseLossless(losslessJson(value))).toEqual(value);
  fc.assert(
    fc.property(fc.jsonValue(), fc.maxSafeInteger(), (json, whole) => {
      const large = [json, whole * 4096, { x: [whole * 2 ** 30] }];
      expect(parseLossless(losslessJson(large))).toEqual(JSON.parse(JSON.stringify(large)));
    }),
  );
});
