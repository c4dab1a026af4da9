import { base64FromVector, vectorFromAnswer, vectorFromBase64 } from '../../../../../clients/typescript/src/vectors';

const VALUES = [0, -0, 1, -1.5, 0.1, 3.4028234663852886e38, 1.401298464324817e-45];

test('numbers and float32 values are the same base64, which is what the service reads', () => {
  const floats = Float32Array.from(VALUES);
  const text = Buffer.from(floats.buffer).toString('base64');
  expect(base64FromVector(VALUES)).toBe(text);
  expect(base64FromVector(floats)).toBe(text);
  expect(base64FromVector(text)).toBe(text);
});

test('a part of a larger array is that part alone', () => {
  const floats = Float32Array.from([9, ...VALUES, 9]);
  expect(vectorFromBase64(base64FromVector(floats.subarray(1, -1)))).toEqual(Float32Array.from(VALUES));
});

test('base64 and arrays of an answer are the same vector', () => {
  const floats = Float32Array.from(VALUES);
  expect(vectorFromAnswer(base64FromVector(floats))).toEqual(floats);
  expect(vectorFromAnswer(VALUES)).toEqual(floats);
  expect(vectorFromAnswer('')).toEqual(new Float32Array(0));
});

test('bytes that are no whole number of values are refused', () => {
  expect(() => vectorFromBase64('AAAA')).toThrow(RangeError);
});

test('a runtime without Buffer says the same', () => {
  const { Buffer: whole } = globalThis;
  try {
    (globalThis as { Buffer?: unknown }).Buffer = undefined;
    jest.isolateModules(() => {
      const plain =
        require('../../../../../clients/typescript/src/vectors') as typeof import('../../../../../clients/typescript/src/vectors');
      const large = Float32Array.from({ length: 16_384 }, (_, i) => Math.sin(i));
      expect(plain.base64FromVector(large)).toBe(base64FromVector(large));
      expect(plain.vectorFromBase64(base64FromVector(large))).toEqual(large);
    });
  } finally {
    globalThis.Buffer = whole;
  }
});
