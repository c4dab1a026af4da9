import { fieldsBody } from '../../../../../clients/typescript/src/bodies';
import { base64FromVector } from '../../../../../clients/typescript/src/vectors';

test('examples of a search have their vectors as base64, wherever a vector may be', () => {
  const vector = Float32Array.of(0.5, 1);
  const body = fieldsBody({
    positives: [{ id: 'a' }, { vector }],
    negatives: [{ text: 'b' }],
    k: 2,
    strategy: undefined,
  });
  expect(body).toEqual({
    positives: [{ id: 'a' }, { vector: base64FromVector(vector) }],
    negatives: [{ text: 'b' }],
    k: 2,
    strategy: undefined,
  });
  expect(() => fieldsBody({ positives: [{ vector: [1, NaN] }] }, 'queries[3]')).toThrow(
    'queries[3].positives[0].vector',
  );
  const legs = [{ vector, weight: 2 }, { like: { positives: [{ vector }] } }];
  expect(fieldsBody({ legs })).toEqual({
    legs: [
      { vector: base64FromVector(vector), weight: 2 },
      { like: { positives: [{ vector: base64FromVector(vector) }] } },
    ],
  });
  expect(() => fieldsBody({ legs: [{ like: { negatives: [{ vector: [NaN] }] } }] })).toThrow(
    'legs[0].like.negatives[0].vector',
  );
});
