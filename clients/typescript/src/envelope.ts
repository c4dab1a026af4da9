import { apiError, BadAnswerError, VersionConflictError, type VersionConflict } from './errors';
import type { ApiRequest } from './request';

/** Characters of a foreign answer that its error shows. */
const SHOWN_MAX = 200;

interface Envelope {
  status: 'success' | 'error';
  data: unknown;
  error: { code: number; message: string; conflicts?: VersionConflict[]; written?: string[] } | null;
  warnings?: string[];
}

/** What a success holds. */
interface Success<Data> {
  data: Data;
  /** What is most likely a mistake of the request, and what its caller should know of what was done. */
  warnings?: string[];
}

/** The success of an answer's text. Throws the error of its envelope, or a BadAnswerError when it has none. */
export function successOf<Data>(
  text: string,
  response: Response,
  { method, path }: ApiRequest,
  attempt: number,
): Success<Data> {
  const envelope = envelopeOf(text);
  if (envelope === null) {
    const location = response.headers.get('location');
    const shown =
      location === null
        ? text.slice(0, SHOWN_MAX)
        : `it points to ${location.slice(0, SHOWN_MAX)}, and the key goes to the given address only`;
    throw new BadAnswerError(
      `${method} ${path}: the answer is none of Quiver (HTTP status ${response.status}): ${shown}`,
      {
        httpStatus: response.status,
        retryAfterMs: retryAfterMs(response),
      },
    );
  }
  if (envelope.status === 'success') return envelope as Success<Data>;
  const { code, message, conflicts, written } = envelope.error ?? { code: 500, message: 'no error was given' };
  const facts = {
    code,
    requestId: response.headers.get('x-request-id'),
    retryAfterMs: retryAfterMs(response),
    method,
    path,
    attempts: attempt + 1,
  };
  throw code === 409 && Array.isArray(conflicts)
    ? new VersionConflictError(message, facts, { conflicts, written })
    : apiError(message, facts);
}

function envelopeOf(text: string): Envelope | null {
  try {
    const value = JSON.parse(text) as Partial<Envelope> | null;
    return typeof value === 'object' && value !== null && (value.status === 'success' || value.status === 'error')
      ? (value as Envelope)
      : null;
  } catch {
    return null;
  }
}

/** The service says seconds; proxies may say when. */
function retryAfterMs(response: Response): number | null {
  const text = response.headers.get('retry-after');
  if (text === null) return null;
  const ms = /^\d+$/.test(text.trim()) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : null;
}
