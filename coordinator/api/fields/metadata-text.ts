import { type HttpLimits, REQUEST_BOUNDS } from '../requests/http-limits';
import { type IssueSink, report } from './issue';

/** How many more keys and array elements are allowed. */
interface FieldsLeft {
  count: number;
}

/** What is wrong inside a JSON value, or null. Examines at most `depthLeft` levels and `fieldsLeft` fields. */
function flaw(
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
      const found = flaw(element, depthLeft - 1, fieldsLeft);
      if (found !== null) return found;
    }
    return null;
  }
  // Own keys only: JSON.parse makes `__proto__` an own property, which must not be mistaken for the prototype.
  const keys = Object.keys(value);
  fieldsLeft.count -= keys.length;
  if (fieldsLeft.count < 0) return 'too many';
  for (const key of keys) {
    const found = flaw((value as Record<string, unknown>)[key], depthLeft - 1, fieldsLeft);
    if (found !== null) return found;
  }
  return null;
}

export type MetadataLimits = Pick<HttpLimits, 'metadataBytesMax' | 'metadataFieldsMax'>;

/** The JSON text of a metadata object; undefined after a violation was reported. */
export function metadataText(value: unknown, limits: MetadataLimits, sink: IssueSink): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    report(sink, value, 'must be a JSON object');
    return undefined;
  }
  const { metadataDepthMax } = REQUEST_BOUNDS;
  const { metadataBytesMax: bytesMax, metadataFieldsMax } = limits;
  switch (flaw(value, metadataDepthMax, { count: metadataFieldsMax })) {
    case 'too many':
      report(
        sink,
        value,
        `has more than the maximum of ${metadataFieldsMax} keys and array elements (MAX_METADATA_FIELDS)`,
        { kind: 'limit_exceeded' },
      );
      return undefined;
    case 'too deep':
      report(sink, value, `must be at most ${metadataDepthMax} levels deep`, { kind: 'limit_exceeded' });
      return undefined;
    case 'not finite':
      report(sink, value, 'must hold no number beyond the range of a double');
      return undefined;
    case null:
      break;
  }
  const text = JSON.stringify(value);
  // A code unit takes at most three bytes, so most texts need no counting.
  if (text.length * 3 > bytesMax && Buffer.byteLength(text) > bytesMax) {
    report(sink, value, `exceeds the maximum of ${bytesMax} bytes as JSON (MAX_METADATA_BYTES)`, {
      kind: 'limit_exceeded',
    });
    return undefined;
  }
  return text;
}
