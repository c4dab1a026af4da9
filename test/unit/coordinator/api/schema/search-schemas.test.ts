import type { HttpLimits } from '../../../../../coordinator/api/requests/http-limits';
import { searchBody, searchWithVector } from '../../../../../coordinator/api/schema/search-schemas';

const limits = {
  vectorDimMax: 4,
  searchTextLengthMax: 100,
  kMax: 100,
  offsetMax: 100,
  searchEffortMax: 100,
  filterConditionsMax: 9,
  filterValuesMax: 9,
  filterDepthMax: 9,
} as unknown as HttpLimits;
/** A body with every field but the text, which stands in the place of the vector. */
const BODY = {
  vector: [1, 2],
  k: 7,
  offset: 3,
  filters: { a: 1 },
  ef: 50,
  exact: false,
  fields: ['a', 'b.c'],
  include_text: true,
  total: true,
  order_by: [{ field: 'a', direction: 'desc', missing: 'last' }],
  min_score: 0.5,
  include_timing: true,
};

test('a body that is remembered keeps every field when it gets another vector', () => {
  const schema = searchBody(limits);
  const { text: _text, ...fields } = schema.def.in.shape;
  // A new field has to be in the body above.
  expect(Object.keys(BODY).sort()).toEqual(Object.keys(fields).sort());
  expect(searchWithVector(schema.parse(BODY), Float32Array.of(3, 4))).toEqual(
    schema.parse({ ...BODY, vector: [3, 4] }),
  );
});
