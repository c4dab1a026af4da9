import type { VectorSource } from '../../service/search-request';
import { type IssueSink, report } from './issue';

/**
 * The vector or text that a request gives; the vector has precedence. Null after a violation was reported. A text that
 * is to be embedded must not be blank.
 */
export function vectorSource(
  given: { vector?: Float32Array | undefined; text?: string | undefined },
  sink: IssueSink,
): VectorSource | null {
  const { vector, text } = given;
  if (vector !== undefined) return text === undefined ? { vector } : { vector, text };
  if (text === undefined) {
    report(sink, given, 'must have either vector or text', { wanted: ['vector', 'text'] });
    return null;
  }
  if (text.trim() === '') {
    report(sink, given, 'must not be empty when there is no vector', { kind: 'invalid_parameter', path: ['text'] });
    return null;
  }
  return { text };
}
