/** Writes a vector as JSON text. */
export type VectorFormat = (vector: Float32Array) => string;

/** The forms in which a client may have vectors answered. */
export const VECTOR_FORMATS = ['array', 'base64'] as const;
export type VectorFormatName = (typeof VECTOR_FORMATS)[number];

/**
 * `array`: a JSON array of the shortest decimals that give the same float32 (`0.1`, not `0.10000000149011612`); `base64`:
 * a text of little-endian float32 values.
 */
export type VectorFormats = Record<VectorFormatName, VectorFormat>;

/** Every decimal of at most this many digits survives decimal → float32 → decimal; nine digits always identify a float32. */
const DIGITS_ALWAYS_KEPT = 6;
const DIGITS_ALWAYS_ENOUGH = 9;
/** Below it float32 is subnormal and holds fewer digits. */
const SMALLEST_NORMAL = 2 ** -126;

function shortest(value: number): string {
  if (!Number.isFinite(value)) return 'null';
  if (Object.is(value, -0)) return '-0';
  let digits = Math.abs(value) < SMALLEST_NORMAL ? 1 : DIGITS_ALWAYS_KEPT;
  for (; digits < DIGITS_ALWAYS_ENOUGH; digits++) {
    const decimal = Number(value.toPrecision(digits));
    if (Math.fround(decimal) === value) return String(decimal);
  }
  return String(Number(value.toPrecision(digits)));
}

/** Arrays in memory are little-endian on every platform on which this project's addons run. */
export const formatVectorAsBase64: VectorFormat = ({ buffer, byteOffset, byteLength }) => `"${Buffer.from(buffer, byteOffset, byteLength).toString('base64')}"`;

/** The plain implementation of `array`, used if the addon isn't built. */
export const formatVectorPlainly: VectorFormat = (vector) => {
  const parts: string[] = new Array(vector.length);
  for (let i = 0; i < vector.length; i++) parts[i] = shortest(vector[i]);
  return `[${parts.join(',')}]`;
};
