import { isQuiverError, type QuiverError } from '../../shared/errors/quiver-error';

/** The envelope around every JSON answer, as text. */

export const SUCCESS_HEAD = '{"status":"success","data":';
export const SUCCESS_TAIL = ',"error":null}';

/** What a client is told about an error that isn't meant for it. */
const INTERNAL_MESSAGE = 'internal server error';

export function successEnvelope(dataJson: string): string {
  return `${SUCCESS_HEAD}${dataJson}${SUCCESS_TAIL}`;
}

export function errorEnvelope(code: number, message: string): string {
  return `{"status":"error","data":null,"error":{"code":${code},"message":${JSON.stringify(message)}}}`;
}

/** The code and message of an error for its client; anything but an operating error is a bare 500. */
export function publicError(error: unknown): { code: number; message: string } {
  if (!isQuiverError(error)) return { code: 500, message: INTERNAL_MESSAGE };
  const { code, kind, message }: QuiverError = error;
  return { code, message: kind === 'internal' ? INTERNAL_MESSAGE : message };
}
