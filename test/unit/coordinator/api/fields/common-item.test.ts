import { commonItem } from '../../../../../coordinator/api/fields/common-item';
import { bulkUpsertBody } from '../../../../../coordinator/api/schema/vector-schemas';
import type { HttpLimits } from '../../../../../coordinator/api/requests/http-limits';

const limits = {
  vectorDimMax: 4,
  textBytesMax: 100,
  batchItemsMax: 10,
  metadataBytesMax: 60,
  metadataFieldsMax: 3,
} as HttpLimits;
const { elements } = bulkUpsertBody(limits).list;
const common = commonItem(limits);
const vector = Float32Array.of(1, 2);

const parsed = (text: string): Record<string, unknown> => JSON.parse(text);

test.each([
  ['an id and a vector', { external_id: 'a', vector }],
  ['metadata', { metadata: { b: ['x'], a: null }, external_id: 'é-1', vector }],
  ['metadata with a member __proto__', { external_id: 'a', vector, metadata: parsed('{"__proto__":1}') }],
  ['the longest vector', { external_id: 'a', vector: new Float32Array(4) }],
  ['the longest id', { external_id: '😀'.repeat(200), vector }],
])('%s: as the schema answers it', (_what, item) => {
  const given = common(item);
  expect(given).toBeDefined();
  expect([given]).toStrictEqual(elements.parse([item]));
});

test.each([
  ['no object', 1],
  ['null', null],
  ['a list', []],
  ['a list with elements', [1]],
  ['no id', { vector }],
  ['an id that is a number', { external_id: 1, vector }],
  ['an empty id', { external_id: '', vector }],
  ['a long id', { external_id: 'a'.repeat(2_000), vector }],
  ['an id with a control character', { external_id: 'a\u0000', vector }],
  ['an id with half a character', { external_id: 'a\ud83d', vector }],
  ['no vector', { external_id: 'a' }],
  ['a vector as text', { external_id: 'a', vector: 'AACAPw==' }],
  ['a vector that is too long', { external_id: 'a', vector: new Float32Array(5) }],
  ['a vector that is not finite', { external_id: 'a', vector: Float32Array.of(1, Infinity) }],
  ['metadata that are a list', { external_id: 'a', vector, metadata: [] }],
  ['metadata that are null', { external_id: 'a', vector, metadata: null }],
  ['metadata of too many fields', { external_id: 'a', vector, metadata: { a: 1, b: 2, c: 3, d: 4 } }],
  ['metadata of too many bytes', { external_id: 'a', vector, metadata: { a: 'x'.repeat(60) } }],
  ['a number beyond a double', { external_id: 'a', vector, metadata: { a: Infinity } }],
  ['a text', { external_id: 'a', vector, text: 'b' }],
  ['an expiry', { external_id: 'a', vector, expires_at: null }],
  ['a condition', { external_id: 'a', vector, only_if: 'absent' }],
  ['a member that is not known', { external_id: 'a', vector, colour: 'red' }],
  ['a member __proto__', parsed('{"external_id":"a","__proto__":1}')],
])('%s: left to the schema', (_what, item) => {
  expect(common(item)).toBeUndefined();
});
