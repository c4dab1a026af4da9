import type { Tracer } from './span';
import type { TracerParts } from './trace-origin';

/** The tracer of a process or of one of its threads. */
export function openTracer(parts: TracerParts): Tracer {
  // Loaded here and not before: it takes memory, and time of the start.
  const { OtlpTracer } = require('./otlp-tracer') as typeof import('./otlp-tracer');
  return new OtlpTracer(parts);
}
