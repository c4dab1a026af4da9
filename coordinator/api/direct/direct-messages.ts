/**
 * What a program and the thread of its service tell each other: calls of the API without HTTP. Both are of one version,
 * and of one process.
 */

/** From the program. `id` is a number that no other call under way has. */
export type ToService =
  /** `body`: the whole; null: none; `stream`: in pieces, each of which is asked for. */
  | [
      kind: 'call',
      id: number,
      method: string,
      target: string,
      headers: Record<string, string>,
      body: string | Uint8Array | null | typeof BODY_IN_PIECES,
    ]
  /** The next piece of a body; null: it is over. */
  | [kind: 'piece', id: number, bytes: Uint8Array | null]
  /** Characters of an answer in pieces were read. */
  | [kind: 'taken', id: number, characters: number]
  /** Nobody waits for the answer any more. */
  | [kind: 'gone', id: number]
  | [kind: 'close'];

/** From the thread. */
export type FromService =
  | [kind: 'ready']
  /** The service could not be opened. */
  | [kind: 'failed', code: number, message: string]
  | [kind: 'log', line: string]
  /** A whole answer. */
  | [kind: 'answer', id: number, status: number, headers: DirectHeaders, text: string]
  /** An answer in pieces: its head, its pieces, its end. */
  | [kind: 'head', id: number, status: number, headers: DirectHeaders]
  | [kind: 'data', id: number, text: string]
  | [kind: 'over', id: number]
  /** It broke off, or there is none. */
  | [kind: 'broken', id: number]
  /** The next piece of a body is wanted. */
  | [kind: 'wanted', id: number];

/** Headers of an answer by lower-case name. */
export type DirectHeaders = Record<string, string | number | readonly string[] | undefined>;

/** In the place of a body that comes in pieces. No text of JSON is so. */
export const BODY_IN_PIECES = false;
