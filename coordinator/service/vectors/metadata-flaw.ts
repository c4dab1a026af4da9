/** Levels of objects and arrays in metadata. */
export const METADATA_DEPTH_MAX = 32;

/** How many more keys and array elements are allowed. */
export interface FieldsLeft {
  count: number;
}

/** What is wrong inside a JSON value, or null. Examines at most `depthLeft` levels and `fieldsLeft` fields. */
export function flawOf(
  value: unknown,
  depthLeft: number,
  fieldsLeft: FieldsLeft,
): 'too deep' | 'not finite' | 'too many' | null {
  if (typeof value === 'number') return Number.isFinite(value) ? null : 'not finite';
  if (typeof value !== 'object' || value === null) return null;
  if (depthLeft === 0) return 'too deep';
  if (Array.isArray(value)) {
    fieldsLeft.count -= value.length;
    if (fieldsLeft.count < 0) return 'too many';
    for (const element of value) {
      const found = flawOf(element, depthLeft - 1, fieldsLeft);
      if (found !== null) return found;
    }
    return null;
  }
  // Own keys only: JSON.parse makes `__proto__` an own property, which must not be mistaken for the prototype.
  const keys = Object.keys(value);
  fieldsLeft.count -= keys.length;
  if (fieldsLeft.count < 0) return 'too many';
  for (const key of keys) {
    const found = flawOf((value as Record<string, unknown>)[key], depthLeft - 1, fieldsLeft);
    if (found !== null) return found;
  }
  return null;
}
