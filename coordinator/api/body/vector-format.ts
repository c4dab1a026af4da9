/** Writes a vector as JSON text. */
export type VectorFormat = (vector: Float32Array) => string;

/** The forms in which a client may have vectors answered. */
export const VECTOR_FORMATS = ['array', 'base64'] as const;
export type VectorFormatName = (typeof VECTOR_FORMATS)[number];

/**
 * `array`: a JSON array of the shortest decimals that give the same float32 (`0.1`, not `0.10000000149011612`);
 * `base64`: a text of little-endian float32 values.
 */
export type VectorFormats = Record<VectorFormatName, VectorFormat>;

/** Arrays in memory are little-endian on every platform on which this project's addons run. */
export const formatVectorAsBase64: VectorFormat = ({ buffer, byteOffset, byteLength }) =>
  `"${Buffer.from(buffer, byteOffset, byteLength).toString('base64')}"`;
