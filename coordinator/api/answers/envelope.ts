import { isQuiverError, type QuiverError } from '../../../shared/base/errors/quiver-error';

/** The envelope around every JSON answer, as text. */

export const SUCCESS_HEAD = '{"status":"success","data":';
const SUCCESS_TAIL = ',"error":null}';

/** The code for internal failures. */
const INTERNAL_CODE = 500;
/** The message that a client gets for an internal error. */
const INTERNAL_MESSAGE = 'internal server error';

/** The end of a success; it has a member `warnings` only if there are any. */
export function successTail(warnings: readonly string[]): string {
  return warnings.length === 0 ? SUCCESS_TAIL : `,"error":null,"warnings":${JSON.stringify(warnings)}}`;
}

export function successEnvelope(dataJson: string, warnings: readonly string[] = []): string {
  return `${SUCCESS_HEAD}${dataJson}${successTail(warnings)}`;
}

/** `shown`: further members of the error. */
export function errorEnvelope(code: number, message: string, shown: Readonly<Record<string, unknown>> = {}): string {
  return `{"status":"error","data":null,"error":${JSON.stringify({ code, message, ...shown })}}`;
}

/** Of JSON-RPC's codes, the one for errors of a server's own. */
const JSON_RPC_SERVER_ERROR = -32_000;

/** A failure before a message of JSON-RPC was looked at. */
export function jsonRpcError(code: number, message: string): string {
  return JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: JSON_RPC_SERVER_ERROR, message, data: { code } } });
}

/** The code and message of an error for its client; any error but an operating error becomes a bare 500. */
export function publicError(error: unknown): {
  code: number;
  message: string;
  shown?: Readonly<Record<string, unknown>> | undefined;
} {
  if (!isQuiverError(error)) return { code: INTERNAL_CODE, message: INTERNAL_MESSAGE };
  const { code, kind, message, shown }: QuiverError = error;
  if (kind === 'internal') return { code, message: INTERNAL_MESSAGE };
  return { code, message: code === INTERNAL_CODE ? withoutPaths(message) : message, shown };
}

/** A path of the machine: at least one slash and a name, not inside a word or an address such as `http://host:1/x`. */
const MACHINE_PATH = /(?<![\w./-])(?!\/\/)(?:\/[^\s/'"`,;:()]+)+\/?/g;

/**
 * Removes paths: messages of internal failures, above all those of the system, may name files, which are for the log
 * and not for clients.
 */
function withoutPaths(message: string): string {
  return message.replace(MACHINE_PATH, '(a file)');
}
