/** Whether all numbers are 0. Nearly always the first one says it. */
export function isZero(vector: Float32Array): boolean {
  for (let i = 0; i < vector.length; i++) if (vector[i] !== 0) return false;
  return true;
}

/** The indexes of the zero vectors; undefined: there are none. */
export function zeroVectors(vectors: Iterable<Float32Array | undefined>): number[] | undefined {
  let found: number[] | undefined;
  let index = 0;
  for (const vector of vectors) {
    if (vector !== undefined && vector.length > 0 && vector[0] === 0 && isZero(vector)) (found ??= []).push(index);
    index++;
  }
  return found;
}
