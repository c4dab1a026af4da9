import { isQuiverError, type QuiverError } from '../../shared/errors/quiver-error';

/** The envelope around every JSON answer, as text. */

export const SUCCESS_HEAD = '{"status":"success","data":';
export const SUCCESS_TAIL = ',"error":null}';

/** The code of what failed inside. */
const INTERNAL_CODE = 500;
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
  if (!isQuiverError(error)) return { code: INTERNAL_CODE, message: INTERNAL_MESSAGE };
  const { code, kind, message }: QuiverError = error;
  if (kind === 'internal') return { code, message: INTERNAL_MESSAGE };
  return { code, message: code === INTERNAL_CODE ? withoutPaths(message) : message };
}

/** A path of the machine: at least one slash and a name, not within a word or an address such as `http://host:1/x`. */
const MACHINE_PATH = /(?<![\w./-])(?!\/\/)(?:\/[^\s/'"`,;:()]+)+\/?/g;

/** What failed inside may name files, which are for the log and not for clients: the system's own words often do. */
function withoutPaths(message: string): string {
  return message.replace(MACHINE_PATH, '(a file)');
}
