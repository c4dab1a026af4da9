import fc from 'fast-check';
import {
  bigEndianInteger,
  dateText,
  decimalValue,
  durationText,
  intervalText,
  shortestFloat,
  timestampText,
  timeText,
  UntypedBytes,
} from '../../../../cli/formats/table-values';
import { runSeed, seededRandom } from '../../../support/values/random';

describe('a decimal', () => {
  test.each<[bigint, number, number | string]>([
    [1999n, 2, 19.99],
    [995n, 2, 9.95],
    [-5n, 2, -0.05],
    [0n, 4, 0],
    [2000n, 2, 20],
    [1n, 7, 1e-7],
    [15n, -3, 15000],
    [12_345_678_901_234_567_89n, 2, '12345678901234567.89'],
    [9_007_199_254_740_993n, 0, '9007199254740993'],
    [100_000_000_000_000_000_000_000n, 2, '1000000000000000000000.00'],
    [123_456_789_012_345_678n, 4, '12345678901234.5678'],
  ])('of %s and %d places is %j', (unscaled, scale, expected) => expect(decimalValue(unscaled, scale)).toBe(expected));

  test('is a number only where that is the same decimal', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }),
        fc.integer({ min: 0, max: 25 }),
        (unscaled, scale) => {
          const value = decimalValue(unscaled, scale);
          const text = typeof value === 'number' ? value.toFixed(Math.min(100, scale)) : value;
          // Digits that a double does not have would show here, but toFixed shows more of them than its shortest text
          // has.
          if (typeof value === 'string') expect(BigInt(text.replace('.', ''))).toBe(unscaled);
          else expect(Number(`${unscaled}e-${scale}`)).toBe(value);
        },
      ),
    );
  });

  test('with as many places as no writer has is refused', () =>
    expect(() => decimalValue(1n, 2 ** 31)).toThrow('a decimal has 2147483648 places'));

  test('has the most significant byte of its integer first', () => {
    expect(bigEndianInteger(Uint8Array.of(0xff, 0xfe))).toBe(-2n);
    expect(bigEndianInteger(Uint8Array.of(1, 0))).toBe(256n);
    expect(bigEndianInteger(new Uint8Array(0))).toBe(0n);
  });
});

test('a moment has milliseconds, and finer places where it has them, of any year', () => {
  expect(timestampText(0n, 's')).toBe('1970-01-01T00:00:00.000Z');
  expect(timestampText(-1n, 'us')).toBe('1969-12-31T23:59:59.999999Z');
  expect(timestampText(1_500n, 'us')).toBe('1970-01-01T00:00:00.001500Z');
  expect(timestampText(1n, 'ns')).toBe('1970-01-01T00:00:00.000000001Z');
  expect(timestampText(-62_167_219_200n, 's')).toBe('0000-01-01T00:00:00.000Z');
  expect(timestampText(253_402_300_800n, 's')).toBe('+010000-01-01T00:00:00.000Z');
  expect(dateText(-1n)).toBe('1969-12-31T00:00:00.000Z');
  fc.assert(
    fc.property(fc.date({ noInvalidDate: true }), (date) => {
      expect(timestampText(BigInt(date.getTime()), 'ms')).toBe(date.toISOString());
    }),
  );
});

test('times and lengths of time have their unit', () => {
  expect(timeText(3_723_500n, 'ms')).toBe('01:02:03.500');
  expect(timeText(0n, 'ns')).toBe('00:00:00');
  expect(durationText(90_061_500n, 'ms')).toBe('PT25H1M1.5S');
  expect(durationText(-1n, 'us')).toBe('PT-0.000001S');
  expect(intervalText({ months: 14, days: -3, nanos: 0n })).toBe('P1Y2M-3D');
});

test('bytes are a text where they are UTF-8', () => {
  expect(new UntypedBytes(Buffer.from('ü')).text).toBe('ü');
  expect(new UntypedBytes(Uint8Array.of(0xff)).text).toBeNull();
  expect(new UntypedBytes(Uint8Array.of(0xff, 1)).base64).toBe('/wE=');
});

describe('a number of 32 bits', () => {
  test.each([
    [0.1, 0.1],
    [-2.7, -2.7],
    [1e-45, 1e-45],
    [3.4028235e38, 3.4028235e38],
    [16_777_216, 16_777_216],
    [1 / 3, 0.33333334],
    [Infinity, Infinity],
    [NaN, NaN],
    [0, 0],
  ])('of %d is %d', (number, expected) => expect(shortestFloat(Math.fround(number))).toBe(expected));

  test('stays the same, and has no fewer digits that do', () => {
    const random = seededRandom(runSeed('shortest floats'));
    const bits = new Uint32Array(1);
    const floats = new Float32Array(bits.buffer);
    for (let i = 0; i < 20_000; i += 1) {
      bits[0] = Math.floor(random() * 2 ** 32);
      const [number] = floats;
      if (!Number.isFinite(number)) continue;
      const shortest = shortestFloat(number);
      expect(Math.fround(shortest)).toBe(number);
      const digits = shortest.toExponential().replace(/e.*|[-.]/g, '').length;
      if (digits > 1 && Math.abs(number) > 2 ** 24)
        expect(Math.fround(Number(number.toPrecision(digits - 1)))).not.toBe(number);
    }
  });
});
