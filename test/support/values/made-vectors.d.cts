/** A vector that follows from its number alone: components in [-1, 1), each a float32. */
export function madeVector(row: number, dim: number): Float32Array;
