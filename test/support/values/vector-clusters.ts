/**
 * Vectors around random centres, as embeddings lie: `rows` × `dim`, row-major; of length 1, or varied from 0.5 to 1.5.
 */
export function clusteredVectors(
  random: () => number,
  shape: { rows: number; dim: number; centres: number; noise?: number; lengths?: 'unit' | 'varied' },
): Float32Array {
  const { rows, dim, centres, noise = 0.7, lengths = 'unit' } = shape;
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const centre = Float32Array.from({ length: centres * dim }, normal);
  const out = new Float32Array(rows * dim);
  for (let row = 0; row < rows; row++) {
    const from = Math.floor(random() * centres) * dim;
    let square = 0;
    for (let j = 0; j < dim; j++) {
      const value = centre[from + j] + noise * normal();
      out[row * dim + j] = value;
      square += value * value;
    }
    const length = lengths === 'unit' ? 1 : 0.5 + random();
    const factor = square === 0 ? 1 : length / Math.sqrt(square);
    for (let j = 0; j < dim; j++) out[row * dim + j] *= factor;
  }
  return out;
}
