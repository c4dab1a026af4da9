import { isQuiverError, type QuiverError } from '../errors/quiver-error';

/** Codes of errors of the system, as ECONNREFUSED; those of misused functions begin with ERR_. */
const SYSTEM_CODE = /^E[A-Z0-9]+$/;

/**
 * What a line of the log says of an error. Of one that the program expects, and that something it expects or the system
 * has caused, its kind and message and the first cause's message: no stack says more. Of a fault of the program, all of
 * it.
 */
export function errorFields(error: unknown): Record<string, unknown> {
  if (!isQuiverError(error)) return { error };
  const first = expectedCause(error);
  if (first === null) return { error };
  const { kind, message, details } = error;
  return {
    kind,
    reason: message,
    ...(Object.keys(details).length > 0 && { details }),
    ...(first !== error && !message.endsWith(first.message) && { cause: first.message }),
  };
}

/**
 * The first cause of an error that is expected, as that is: itself where it has none. null: one of them is a fault of
 * the program.
 */
export function expectedCause(error: QuiverError): Error | null {
  const first = firstCause(error);
  return isExpected(error) && isExpected(first) ? first : null;
}

function firstCause(error: Error): Error {
  const seen = new Set<Error>();
  let last = error;
  for (; last.cause instanceof Error && !seen.has(last); last = last.cause) seen.add(last);
  return last;
}

function isExpected(error: Error): boolean {
  if (isQuiverError(error)) return error.kind !== 'internal';
  return SYSTEM_CODE.test(String((error as NodeJS.ErrnoException).code ?? ''));
}
