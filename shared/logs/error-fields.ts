import { inspect } from 'node:util';
import { isQuiverError } from '../errors/quiver-error';

/** Long enough for a wrapped native failure; a chain of causes may even be a circle. */
const CAUSES_MAX = 5;

/** An error as plain data for a log line: type, message, stack, what QuiverError adds, and the causes, outermost first. */
export function errorFields(error: unknown, causesMax = CAUSES_MAX): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: typeof error === 'string' ? error : inspect(error) };
  const code = (error as NodeJS.ErrnoException).code;
  return {
    type: error.name,
    ...(isQuiverError(error) ? { kind: error.kind, details: error.details } : code === undefined ? {} : { code }),
    message: error.message,
    stack: error.stack,
    ...(error.cause === undefined || causesMax === 0 ? {} : { cause: errorFields(error.cause, causesMax - 1) }),
  };
}
