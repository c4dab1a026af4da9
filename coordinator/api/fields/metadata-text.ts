import { flawOf } from '../../service/vectors/metadata-flaw';
import { type HttpLimits, REQUEST_BOUNDS } from '../requests/http-limits';
import { type IssueSink, report } from './issue';

export type MetadataLimits = Pick<HttpLimits, 'metadataBytesMax' | 'metadataFieldsMax'>;

/** The JSON text of a metadata object; undefined after a violation was reported. */
export function metadataText(value: unknown, limits: MetadataLimits, sink: IssueSink): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    report(sink, value, 'must be a JSON object');
    return undefined;
  }
  const { metadataDepthMax } = REQUEST_BOUNDS;
  const { metadataBytesMax: bytesMax, metadataFieldsMax } = limits;
  switch (flawOf(value, metadataDepthMax, { count: metadataFieldsMax })) {
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
