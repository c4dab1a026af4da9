import { QuiverError } from '../../../shared/errors/quiver-error';
import type { HttpLimits } from '../http-limits';

/**
 * Judges JSON bodies before anything is built of them: UTF-8, the grammar (what passes, JSON.parse takes) and the bounds
 * on depth, values and sizes. Implementations: the native one, which also takes vectors out as float32, and a plain one
 * for where the addon isn't built. They refuse the same bodies at the same bytes; test/property/http-fuzz-body-parser
 * holds them together.
 */
export interface BodyScanner {
  /** For a small body: holds the thread until it is done. */
  scan(body: Buffer, list: ListPlace | null): BodyScan;
  /** For any other: the thread goes on meanwhile. `body` must not change. Once `isGone()` holds it may reject with ClientGone. */
  scanAside(body: Buffer, list: ListPlace | null, isGone: () => boolean): Promise<BodyScan>;
}

/** The root's member that holds a bulk of things: its elements are bounded, parsed and checked one by one. */
export interface ListPlace {
  name: string;
  /** Elements beyond are judged and counted, but not kept. */
  lengthMax: number;
}

export type ScanBounds = Pick<HttpLimits, 'vectorDimMax' | 'jsonDepthMax' | 'jsonValuesMax' | 'jsonKeysMax' | 'requestBytesMax'>;

export type BodyScan = BodyFlaw | JudgedBody;

/** What is wrong with a body; the numbers are the addon's. */
export const FLAW = { encoding: 1, syntax: 2, depth: 3, values: 4, bytes: 5, keys: 6 } as const;

export interface BodyFlaw {
  /** One of {@link FLAW}. */
  flaw: number;
  /** The byte where it was met. */
  at: number;
  /** The list's element that it lies in; -1 outside. */
  element: number;
}

/** A body without a flaw, of which values can be built. */
export interface JudgedBody {
  flaw?: undefined;
  /** JSON text of the body, small whatever the list holds: that is {@link listMark} here. */
  root: string;
  /** What stands for the list in the parsed root; no client can write it. */
  listMark: string;
  /** null when the body has no array there, or has its name written with escapes. */
  list: JudgedList | null;
  /** What a member `vector` of a parsed text is: an array of nothing but numbers becomes float32, anything else stays. */
  vector(value: unknown): unknown;
}

export interface JudgedList {
  /** Elements, those beyond `lengthMax` included. */
  length: number;
  /** Runs of elements that follow each other; those beyond `lengthMax` are in none. */
  partCount: number;
  /** JSON text of one run, as an array. */
  part(index: number): string;
}

/** Elements of a list are handed out in runs of about this size: a call for each would cost more than small elements do. */
export const PART_BYTES = 64 * 1024;
/** Values of a run, about: building them takes well under a millisecond. body_scanner.cc has the same two. */
export const PART_VALUES = 4096;

/** An array of nothing but numbers as float32, cut after `lengthMax + 1` elements; anything else as it is. */
export function float32IfNumbers(value: unknown, lengthMax: number): unknown {
  if (!Array.isArray(value) || !value.every((element) => typeof element === 'number')) return value;
  return Float32Array.from(value.length > lengthMax ? value.slice(0, lengthMax + 1) : value);
}

/** The error for a flaw: schema_violation for what is no JSON, limit_exceeded with the setting's name for a bound. */
export function flawError({ flaw, at, element }: BodyFlaw, body: Buffer, list: ListPlace | null, bounds: ScanBounds): QuiverError {
  const place = element < 0 ? 'body' : `${list?.name}[${element}]`;
  switch (flaw) {
    case FLAW.encoding:
      return new QuiverError('schema_violation', 'body is not valid UTF-8');
    case FLAW.depth:
      return new QuiverError('limit_exceeded', `body is nested more than ${bounds.jsonDepthMax} levels deep (MAX_JSON_DEPTH)`);
    case FLAW.values: {
      const rest = list === null || element >= 0 ? '' : ` outside of ${list.name}`;
      return new QuiverError('limit_exceeded', `${place} has more than ${bounds.jsonValuesMax} values${rest} (MAX_JSON_VALUES)`);
    }
    case FLAW.keys: {
      const rest = list === null || element >= 0 ? '' : ` outside of ${list.name}`;
      return new QuiverError('limit_exceeded', `${place} has more than ${bounds.jsonKeysMax} keys${rest} (MAX_JSON_KEYS)`);
    }
    case FLAW.bytes: {
      const rest = element >= 0 ? '' : ` outside of ${list?.name}`;
      return new QuiverError('limit_exceeded', `${place} exceeds the maximum of ${bounds.requestBytesMax} bytes${rest} (MAX_REQUEST_BYTES)`);
    }
    default:
      return new QuiverError('schema_violation', `body is not valid JSON: unexpected ${at < body.length ? `${characterAt(body, at)} at byte ${at}` : 'end'}`);
  }
}

/** The character that begins at a byte, for a message. */
function characterAt(body: Buffer, at: number): string {
  const [character] = body.toString('utf8', at, at + 4);
  return JSON.stringify(character);
}
