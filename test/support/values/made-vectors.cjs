/**
 * A vector that follows from its number alone: components in [-1, 1), each a float32.
 * @param {number} row
 * @param {number} dim
 */
function madeVector(row, dim) {
  const vector = new Float32Array(dim);
  let state = (row + 1) * 2654435761;
  for (let i = 0; i < dim; i++) {
    state = (Math.imul(state ^ (state >>> 15), 2246822519) + 0x9e3779b9) | 0;
    vector[i] = state / 2147483648;
  }
  return vector;
}

module.exports = { madeVector };
