import type { VectorFormat } from '../../../coordinator/api/body/vector-format';

/**
 * Every decimal of at most this many digits survives decimal → float32 → decimal; nine digits always identify a
 * float32.
 */
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

/** The form `array` of a vector without the addon, which the addon's text is compared with. */
export const formatVectorPlainly: VectorFormat = (vector) => {
  const parts: string[] = new Array(vector.length);
  for (let i = 0; i < vector.length; i++) parts[i] = shortest(vector[i]);
  return `[${parts.join(',')}]`;
};
