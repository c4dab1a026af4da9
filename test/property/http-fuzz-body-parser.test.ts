import assert from 'node:assert/strict';
import fc from 'fast-check';
import { isQuiverError } from '../../shared/base/errors/quiver-error';
import { runSeed } from '../support/values/random';
import { openCodecs, parseScanned, WIDE_BOUNDS } from '../support/http/scanned-body';

/** Small enough that bodies meet them. */
const bounds = {
  ...WIDE_BOUNDS,
  vectorDimMax: 16,
  jsonDepthMax: 6,
  jsonValuesMax: 24,
  jsonKeysMax: 9,
  requestBytesMax: 300,
};
const [[, plain], [, native]] = openCodecs(bounds);
const ITEMS = { name: 'items', lengthMax: 3 };
const seed = runSeed('http-fuzz-body-parser');
const options = { seed, numRuns: 2000 };

/** Decimals of every shape that JSON allows. */
const decimal = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.float({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc
    .tuple(
      fc.boolean(),
      fc.bigInt({ min: 0n, max: 10n ** 25n }),
      fc.option(fc.stringMatching(/^\d{1,25}$/)),
      fc.option(fc.integer({ min: -400, max: 400 })),
    )
    .map(
      ([minus, whole, fraction, exponent]) =>
        `${minus ? '-' : ''}${whole}${fraction === null ? '' : `.${fraction}`}${exponent === null ? '' : `e${exponent > 0 ? '+' : ''}${exponent}`}`,
    ),
);

/** Math.fround of the double, or where that rounds twice its neighbour on the decimal's side. */
function isNearestFloat32(text: string, value: number): boolean {
  const double = Number(text);
  if (Object.is(Math.fround(double), value)) return true;
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, double);
  return (bits.getUint32(4) & 0x1fffffff) === 0x10000000;
}

const numberText = fc
  .tuple(decimal, fc.constantFrom('', ' ', '\n', '\t '))
  .map(([number, space]) => `${space}${number}${space}`);
const arrayText = fc.array(numberText, { maxLength: 20 }).map((numbers) => `[${numbers.join(',')}]`);
const anyText = fc.oneof(
  arrayText,
  fc.json({ maxDepth: 3 }),
  fc.string().map((text) => JSON.stringify(text)),
);
const memberText = fc
  .tuple(fc.constantFrom('vector', 'vector', 'items', 'queries', 'v\\u0065ctor', 'metadata', '__proto__', ''), anyText)
  .map(([key, value]) => `"${key}":${value}`);
const objectText = fc.array(memberText, { maxLength: 5 }).map((members) => `{${members.join(',')}}`);
const bodyText = fc
  .array(
    fc.oneof(
      memberText,
      fc
        .tuple(fc.constantFrom('items', 'queries'), fc.array(fc.oneof(objectText, anyText), { maxLength: 4 }))
        .map(([key, list]) => `"${key}": [${list.join(' ,')}]`),
    ),
    { maxLength: 5 },
  )
  .map((members) => `{${members.join(',')}}`);

function outcome(codec: typeof native, body: Buffer, list: typeof ITEMS | null = ITEMS): unknown {
  try {
    return { value: parseScanned(codec.scanner, body, list, bounds) };
  } catch (error) {
    // What passes the scan may not fail in JSON.parse.
    if (!isQuiverError(error)) throw error;
    return { refused: error.message };
  }
}

const isWellFormed = (body: Buffer): boolean => {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body));
    return true;
  } catch {
    return false;
  }
};

/**
 * The plain parser's value with the native one's numbers where the plain parser rounded twice: a decimal beside the
 * middle of two float32 becomes that middle as a double, which then goes to the even one. (Ten times a float32, its
 * last digits cut off, is such a decimal one time in eight.) Every other difference stays.
 */
function withNearestNumbers(plainValue: unknown, nativeValue: unknown): unknown {
  if (
    plainValue instanceof Float32Array &&
    nativeValue instanceof Float32Array &&
    plainValue.length === nativeValue.length
  ) {
    const isTie = (even: number, other: number): boolean => {
      const [evenBits, otherBits] = new Int32Array(Float32Array.of(even, other).buffer);
      return Math.abs(evenBits - otherBits) === 1 && Math.fround((even + other) / 2) === even;
    };
    return plainValue.map((number, at) => (isTie(number, nativeValue[at]) ? nativeValue[at] : number));
  }
  if (Array.isArray(plainValue) && Array.isArray(nativeValue))
    return plainValue.map((item, at) => withNearestNumbers(item, nativeValue[at]));
  if (plainValue === null || nativeValue === null || typeof plainValue !== 'object' || typeof nativeValue !== 'object')
    return plainValue;
  if (Object.getPrototypeOf(plainValue) !== Object.prototype) return plainValue;
  return Object.fromEntries(
    Object.entries(plainValue).map(([key, value]) => [
      key,
      withNearestNumbers(value, Object.getOwnPropertyDescriptor(nativeValue, key)?.value),
    ]),
  );
}

/** Without `expect`, as below what is done ten thousand times: it would take most of the time. */
function expectAgreement(body: Buffer): void {
  for (const list of [ITEMS, null]) {
    const nativeOutcome = outcome(native, body, list) as { value?: unknown; refused?: string };
    assert.deepEqual(nativeOutcome, withNearestNumbers(outcome(plain, body, list), nativeOutcome));
    // It is refused as no JSON exactly where JSON.parse would; a bound may be met before that.
    const isNoJson = nativeOutcome.refused !== undefined && /not valid (JSON|UTF-8)/.test(nativeOutcome.refused);
    if (isNoJson || nativeOutcome.refused === undefined) assert.equal(isWellFormed(body), !isNoJson);
  }
}

describe(`native and plain body parser, SEED=${seed}`, () => {
  test('agree on every well-formed body', () => {
    fc.assert(
      fc.property(bodyText, (text) => {
        expectAgreement(Buffer.from(text));
      }),
      options,
    );
  });

  test('agree on bodies broken anywhere, to the word', () => {
    fc.assert(
      fc.property(
        bodyText,
        fc.nat(),
        fc.constantFrom('', '"', '[', ']', '{', '}', ',', ':', '\\', '0', '-', 'e', ' '),
        fc.nat({ max: 2 }),
        (text, at, inserted, removed) => {
          const place = at % (text.length + 1);
          const body = Buffer.from(text.slice(0, place) + inserted + text.slice(place + removed));
          expectAgreement(body);
        },
      ),
      options,
    );
  });

  test('agree on bytes of any kind, and in the midst of a body', () => {
    fc.assert(
      fc.property(bodyText, fc.uint8Array({ maxLength: 8 }), fc.nat(), (text, bytes, at) => {
        const whole = Buffer.from(text);
        const place = at % (whole.length + 1);
        expectAgreement(Buffer.concat([whole.subarray(0, place), bytes, whole.subarray(place)]));
        expectAgreement(Buffer.from(bytes));
      }),
      options,
    );
  });

  test('agree where a decimal lies beside the middle of two float32', () => {
    expect(
      (outcome(native, Buffer.from('{"vector":[-0.0432064663618803]}')) as { value: { vector: Float32Array } }).value
        .vector[0],
    ).toBe(-0.04320646449923515);
    expectAgreement(Buffer.from('{"vector":[-0.0432064663618803],"items":[{"vector":[1, -0.0432064663618803]}]}'));
  });

  test('read each decimal as its nearest float32', () => {
    fc.assert(
      fc.property(decimal, (text) => {
        const { vector } = parseScanned(native.scanner, Buffer.from(`{"vector":[${text}]}`)) as {
          vector: Float32Array;
        };
        assert.ok(isNearestFloat32(text, vector[0]), `${vector[0]}`);
      }),
      { ...options, numRuns: 10_000 },
    );
  });

  test('write every float32 as the shortest decimal that reads back the same', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffffffff }), (bits) => {
        const value = new Float32Array(Uint32Array.of(bits).buffer);
        fc.pre(Number.isFinite(value[0]));
        const text = native.formats.array(value);
        assert.equal(
          (parseScanned(native.scanner, Buffer.from(`{"vector":${text}}`)) as { vector: Float32Array }).vector[0],
          value[0],
        );
        const digitsOf = (json: string): number =>
          json
            .slice(1, -1)
            .replace(/e.*$/, '')
            .replace(/[-.]/g, '')
            .replace(/^0+|0+$/g, '').length;
        assert.ok(digitsOf(text) <= digitsOf(plain.formats.array(value)), text);
        assert.equal(Math.fround(JSON.parse(plain.formats.array(value))[0]), value[0]);
      }),
      { ...options, numRuns: 10_000 },
    );
  });
});
