import { underDeadline } from '../../../shared/base/time/deadline';

/** What a server answered to a call. */
export interface PostAnswer {
  status: number;
  /** The JSON of a status from 200 to 299; undefined of any other. */
  json: unknown;
  /** When it wants to be called again, in milliseconds from now; null: it does not say. */
  retryAfterMs: number | null;
}

const MS_PER_SECOND = 1000;

/**
 * Sends JSON to a server that the configuration names, and reads no more of its answer than `bytesMax`. A redirect is
 * not followed: it is an answer like another. Rejects with an error that is for the log alone, because it may tell the
 * address.
 */
export async function postJson(options: {
  url: string;
  /** '': nothing is sent. */
  apiKey: string;
  body: unknown;
  bytesMax: number;
  timeoutMs: number;
  signal: AbortSignal;
}): Promise<PostAnswer> {
  const { url, apiKey, body, bytesMax, timeoutMs } = options;
  return underDeadline(timeoutMs, options.signal, async (signal) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(apiKey !== '' && { authorization: `Bearer ${apiKey}` }),
      },
      body: JSON.stringify(body),
      redirect: 'manual',
      signal,
    });
    const { status } = response;
    const json: unknown = response.ok
      ? JSON.parse(await boundedText(response, bytesMax))
      : await response.body?.cancel();
    return { status, json, retryAfterMs: retryAfterMs(response.headers, Date.now()) };
  });
}

/** Of the header of that name, which has seconds or a date; and of the one that some servers have besides. */
export function retryAfterMs(headers: Headers, nowMs: number): number | null {
  const exact = Number(headers.get('retry-after-ms') ?? NaN);
  if (exact >= 0 && Number.isFinite(exact)) return exact;
  const text = headers.get('retry-after');
  if (text === null || text.trim() === '') return null;
  const seconds = Number(text);
  if (Number.isFinite(seconds)) return seconds >= 0 ? seconds * MS_PER_SECOND : null;
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}

async function boundedText(response: Response, bytesMax: number): Promise<string> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of response.body ?? []) {
    bytes += (piece as Uint8Array).length;
    if (bytes > bytesMax) throw new Error(`it answers more than ${bytesMax} bytes`);
    pieces.push(piece as Uint8Array);
  }
  return Buffer.concat(pieces).toString('utf8');
}
