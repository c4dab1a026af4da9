import fc from 'fast-check';
import { BodyReader } from '../../coordinator/api/body/body-reader';
import { openVectorCodec } from '../../coordinator/api/body/vector-codec';
import type { JsonBody } from '../../coordinator/api/endpoints/endpoint';
import type { HttpLimits } from '../../coordinator/api/requests/http-limits';
import { RequestWarnings } from '../../coordinator/api/requests/request-warnings';
import { bulkUpsertBody } from '../../coordinator/api/schema/vector-schemas';
import { Turns } from '../../coordinator/api/load/turns';
import type { VectorInput } from '../../coordinator/service/service';
import { groupByShard } from '../../coordinator/service/routing/shard-router';
import { EncodedUpserts } from '../../coordinator/service/vectors/encoded-upserts';
import { storedBytesOf } from '../../coordinator/service/vectors/stored-bytes';
import { isQuiverError } from '../../shared/base/errors/quiver-error';
import { operationsToBytes } from '../../shared/contract/writes/operation-codec';
import type { UpsertOperation } from '../../shared/contract/shard/shard-client';
import { systemClock } from '../../shared/base/time/clock';
import { runSeed } from '../support/values/random';

/**
 * A bulk write that is encoded while it is read is, to the byte, the write that the long way makes of the same body,
 * and refuses what that refuses with the same words.
 */

/** Small enough that bodies meet them. */
const limits = {
  vectorDimMax: 4,
  textBytesMax: 100,
  batchItemsMax: 5,
  metadataBytesMax: 80,
  metadataFieldsMax: 6,
  jsonDepthMax: 8,
  jsonValuesMax: 14,
  jsonKeysMax: 10,
  requestBytesMax: 200_000,
} as HttpLimits;

/** Bodies up to this size are never encoded. */
const PADDING = ' '.repeat(64 * 1024);

const turns = new Turns();
const codec = openVectorCodec(limits);
const reader = new BodyReader({ scanner: codec.scanner, bounds: limits, turns, clock: systemClock });
const body: JsonBody = { type: 'json', required: true, example: null, ...bulkUpsertBody(limits) };
const longWay: JsonBody = { ...body, list: { ...body.list!, encodes: undefined } };

/** Mostly what nearly all bodies hold, and at times something else. */
function mostly<Value>(usual: fc.Arbitrary<Value>, other: fc.Arbitrary<Value>, times = 30): fc.Arbitrary<Value> {
  return fc.oneof({ weight: times, arbitrary: usual }, { weight: 1, arbitrary: other });
}

const space = mostly(fc.constant(''), fc.constantFrom(' ', '\n', '\t ', '\r\n'), 3);
const spaced = (text: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(space, text, space).map((parts) => parts.join(''));
const listOf = (
  elements: fc.Arbitrary<string>,
  bounds: { minLength?: number; maxLength: number },
): fc.Arbitrary<string> => fc.array(spaced(elements), bounds).map((all) => all.join(','));
const object = (members: fc.Arbitrary<string>, maxLength: number): fc.Arbitrary<string> =>
  listOf(members, { maxLength }).map((all) => `{${all}}`);
const member = (name: fc.Arbitrary<string>, value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(name, space, space, value).map(([key, before, after, text]) => `${key}${before}:${after}${text}`);

const decimal = fc.oneof(
  fc.integer().map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.double({ min: -1, max: 1, noNaN: true }).map(String),
  fc
    .tuple(fc.integer({ min: -99, max: 99 }), fc.stringMatching(/^\d{1,9}$/))
    .map(([whole, fraction]) => `${whole}.${fraction}`),
  fc.stringMatching(/^-?(0|[1-9]\d{0,24})(\.\d{1,24})?$/),
  fc.constantFrom(
    '0',
    '-0',
    '-0.0',
    '0.0',
    '1.0',
    '1.50',
    '100',
    '0.000001',
    '0.0000001',
    '0.00000100',
    '1e5',
    '9007199254740991',
    '9007199254740993',
    '123456789012345678',
    '0.1234567890123456789',
  ),
  fc.constantFrom('1e39', '1e400', '01', '1.', '.5', '-', '+1', '1e-50', '3.4028235677973366e38'),
);
const plainText = fc.oneof(
  fc.stringMatching(/^[a-zA-Z0-9 _.:/-]{0,12}$/),
  fc.constantFrom(
    'é',
    '日本',
    '😀',
    '\u2028',
    '\u007f',
    '\u0080',
    '\u009f',
    '\u00a0',
    '__proto__',
    '',
    '1',
    '01',
    '-1',
    'constructor',
    'toString',
  ),
);
const stringText = mostly(
  plainText.map((text) => `"${text}"`),
  fc.oneof(
    fc.string().map((text) => JSON.stringify(text)),
    fc.constantFrom('"a\\u0041"', '"\\ud800"', '"tab\there"', '"open', '"\u0000"', '"\\/"'),
  ),
);
const nameText = mostly(
  fc.stringMatching(/^[a-z]{1,3}$/).map((text) => `"${text}"`),
  stringText,
  6,
);
const scalarText = fc.oneof(decimal, stringText, fc.constantFrom('true', 'false', 'null'));
const { value: valueText } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalarText,
    listOf(tie('value'), { maxLength: 3 }).map((all) => `[${all}]`),
    object(member(nameText, tie('value')), 3),
  ),
}));
const metadataText = mostly(object(member(nameText, mostly(scalarText, valueText, 4)), 5), valueText);
const vectorText = mostly(
  listOf(
    mostly(
      fc.float({ noNaN: true, noDefaultInfinity: true, min: -2, max: 2 }).map((value) => value.toFixed(6)),
      decimal,
    ),
    { minLength: 2, maxLength: 2 },
  ).map((all) => `[${all}]`),
  fc.oneof(
    listOf(decimal, { maxLength: 6 }).map((all) => `[${all}]`),
    scalarText,
    fc.constant('"AACAPwAAAEA="'),
    fc.constant('[1,"2"]'),
  ),
);
const idText = mostly(
  fc.stringMatching(/^[a-z0-9-]{1,6}$/).map((text) => `"${text}"`),
  fc.oneof(
    stringText,
    scalarText,
    fc.nat({ max: 520 }).map((length) => `"${'x'.repeat(length)}"`),
  ),
);
const keyText = (name: string): fc.Arbitrary<string> =>
  mostly(fc.constant(`"${name}"`), fc.constantFrom(`"${name.replace('e', '\\u0065')}"`, '"other"', `"${name} "`));
const itemText = mostly(
  fc
    .tuple(
      member(keyText('external_id'), idText),
      member(keyText('vector'), vectorText),
      fc.option(member(keyText('metadata'), metadataText), { nil: '' }),
      mostly(
        fc.constant(''),
        fc.oneof(
          member(
            fc.constantFrom('"text"', '"content"', '"metadata"', '"vector"', '"external_id"', '"unknown"'),
            scalarText,
          ),
          fc.constantFrom(
            '"expires_at":"2030-01-01T00:00:00Z"',
            '"if_version":3',
            '"only_if":"absent"',
            '"text":"words"',
            '"vector":[1,2]',
          ),
        ),
      ),
      fc.boolean(),
    )
    .map(([id, vector, metadata, more, isTurned]) => {
      const members = [id, vector, metadata, more].filter((text) => text !== '');
      return `{${(isTurned ? members.reverse() : members).join(',')}}`;
    }),
  fc.oneof(valueText, fc.constantFrom('{}', '[]', '{"external_id":"a","vector":[1,2],}', '')),
  60,
);
const itemsText = mostly(
  fc.nat({ max: 2 }).chain((more) => listOf(itemText, { minLength: 1, maxLength: 1 + more })),
  listOf(itemText, { maxLength: 7 }),
  10,
).map((all) => `[${all}]`);
/** Members beside the items. */
const MORE: string[][] = [
  ['"on_error":"skip"'],
  ['"include_timing":true'],
  ['"on_error": "fail"', '"include_timing":false'],
  ['"on_error":"no"'],
  ['"itemz":[]'],
  ['"other":1.5e3'],
  ['"other":-0.5'],
  ['"vector":[1]'],
  ['"vector":"x"'],
  ['"items":[]'],
];
const rootText = fc
  .tuple(
    mostly(fc.constant<string[]>([]), fc.constantFrom(...MORE), 2),
    member(mostly(fc.constant('"items"'), fc.constantFrom('"it\\u0065ms"', '"item"')), mostly(itemsText, valueText)),
    fc.boolean(),
    mostly(fc.constant(''), fc.constantFrom('}', ',', 'x', '\u0000', '[]')),
    mostly(fc.constant(''), fc.constant('\ufeff')),
  )
  .map(
    ([more, items, isFirst, rest, start]) =>
      `${start}${PADDING}{${(isFirst ? [items, ...more] : [...more, items]).join(' ,')}}${rest}`,
  );

interface Outcome {
  refused?: unknown;
  output?: Record<string, unknown>;
  warnings: string[];
  encoded: EncodedUpserts | null;
}

async function outcomeOf(bytes: Buffer, expected: JsonBody): Promise<Outcome> {
  const told = new RequestWarnings();
  const warnings = told.list;
  try {
    const { items, ...rest } = (await reader.read(bytes, expected, { isGone: () => false, warnings: told })) as Record<
      string,
      unknown
    >;
    const encoded = items instanceof EncodedUpserts ? items : null;
    return { output: { ...rest, items: encoded === null ? items : encoded.items() }, warnings, encoded };
  } catch (error) {
    if (!isQuiverError(error)) throw error;
    return { refused: { kind: error.kind, message: error.message, shown: error.shown }, warnings, encoded: null };
  }
}

/** The operations that the long way sends to a shard. */
function operationsOf(items: readonly VectorInput[], firstStamp: number): UpsertOperation[] {
  return items.map(({ externalId, source, metadata, text }, i) => ({
    type: 'upsert',
    externalId,
    vector: source.vector!,
    stamp: firstStamp + i,
    metadata,
    text,
  }));
}

test('what is encoded is what the long way makes of the same body', async () => {
  const counts = { encoded: 0, accepted: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(rootText, async (text) => {
      const bytes = Buffer.from(text);
      const [given, expected] = [await outcomeOf(bytes, body), await outcomeOf(bytes, longWay)];
      expect({ ...given, encoded: null }).toStrictEqual(expected);
      counts[expected.refused === undefined ? 'accepted' : 'refused'] += 1;
      const { encoded } = given;
      if (encoded === null) return;
      counts.encoded += 1;
      const items = expected.output!.items as VectorInput[];
      expect(encoded.stamp(7_000_000)).toEqual(items.map(({ externalId }) => externalId));
      const wanted = operationsOf(items, 7_000_000);
      const shards = 1 + (wanted.length % 3);
      const ttlMs = text.length % 2 === 0 ? 86_400_000 : undefined;
      expect(encoded.storedBytes()).toBe(
        wanted.reduce((sum, operation) => sum + storedBytesOf(operation, encoded.dim), 0),
      );
      const groups = groupByShard(
        wanted.map((operation) => (ttlMs === undefined ? operation : { ...operation, ttlMs })),
        shards,
        ({ externalId }) => externalId,
      );
      const parts = encoded.parts(shards, ttlMs);
      expect(parts.map(({ shard, places }) => [shard, places === null ? null : [...places]])).toEqual(
        groups.map(({ shard, positions }) => [shard, shards === 1 ? null : positions]),
      );
      parts.forEach(({ bytes }, i) => expect(bytes.equals(operationsToBytes(groups[i].items))).toBe(true));
      expect(encoded.operations()).toEqual(
        wanted.map((operation) => (ttlMs === undefined ? operation : { ...operation, ttlMs })),
      );
      encoded.done();
    }),
    { seed: runSeed('encoded-bulk'), numRuns: 1_500 },
  );
  // All three were looked at, and it is not always the long way that is compared with itself.
  expect(counts.encoded).toBeGreaterThan(150);
  expect(counts.accepted - counts.encoded).toBeGreaterThan(15);
  expect(counts.refused).toBeGreaterThan(150);
});

test('bytes that are no UTF-8 are refused as by the long way, wherever they stand', async () => {
  const whole = Buffer.from(
    `${PADDING}{"items":[{"external_id":"ab","vector":[1.5,2.25],"metadata":{"key":"value"}}],"on_error":"skip"}`,
  );
  for (let at = PADDING.length; at < whole.length; at++) {
    for (const byte of [0xff, 0xc2, 0x80, 0x00]) {
      const bytes = Buffer.from(whole);
      bytes[at] = byte;
      const [given, expected] = [await outcomeOf(bytes, body), await outcomeOf(bytes, longWay)];
      expect({ ...given, encoded: null }).toStrictEqual(expected);
    }
  }
});
