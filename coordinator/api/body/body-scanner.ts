import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { encodingHint } from '../../service/documents/encoding-hint';
import type { EncodedUpserts } from '../../service/vectors/encoded-upserts';
import type { HttpLimits } from '../requests/http-limits';

/**
 * Checks JSON bodies before anything is built from them: UTF-8, the grammar (JSON.parse accepts whatever passes) and
 * the bounds on depth, values and sizes. The service has the native one, which also extracts vectors as float32;
 * test/property/http-fuzz-body-parser compares it with a plain model, which refuses the same bodies at the same bytes.
 */
export interface BodyScanner {
  /** For a small body: blocks the thread until it is done. */
  scan(body: Buffer, list: ScannedList | null): BodyScan;
  /**
   * For any other body: runs on another thread. `body` must not change. Once `isGone()` is true, it may reject with
   * ClientGone.
   */
  scanAside(body: Buffer, list: ScannedList | null, isGone: () => boolean): Promise<BodyScan>;
  /**
   * The list of a large body as encoded upserts, made on another thread, where the body passes the scan and all
   * elements are items that hold what nearly all hold, and are valid. null: not so, as far as is known, and a scan has
   * to tell. `body` must not change. Once `isGone()` is true, it may reject with ClientGone.
   */
  encodeAside(body: Buffer, list: ScannedList, items: ItemBounds, isGone: () => boolean): Promise<EncodedBody | null>;
}

/** What an item may hold. */
export type ItemBounds = Pick<HttpLimits, 'metadataBytesMax' | 'metadataFieldsMax'> & {
  metadataDepthMax: number;
  externalIdCharactersMax: number;
};

/** A body without a flaw, whose list is encoded. */
export interface EncodedBody {
  /** As of a {@link JudgedBody}. */
  root: string;
  upserts: EncodedUpserts;
}

/** The root's member that holds a bulk: its elements are bounded, parsed and checked one by one. */
export interface ScannedList {
  name: string;
  /** Elements beyond this number are checked and counted, but not kept. */
  lengthMax: number;
}

export type ScanBounds = Pick<
  HttpLimits,
  'vectorDimMax' | 'jsonDepthMax' | 'jsonValuesMax' | 'jsonKeysMax' | 'requestBytesMax'
>;

export type BodyScan = BodyFlaw | JudgedBody;

/** What is wrong with a body. The addon uses the same numbers. */
export const FLAW = { encoding: 1, syntax: 2, depth: 3, values: 4, bytes: 5, keys: 6 } as const;

export interface BodyFlaw {
  /** One of {@link FLAW}. */
  flaw: number;
  /** The byte where it was found. */
  at: number;
  /** The index of the list's element that contains it; -1 outside the list. */
  element: number;
}

/** A body without a flaw, which may be parsed. */
export interface JudgedBody {
  flaw?: undefined;
  /** JSON text of the body without the list, so it is small. In place of the list it has {@link listMark}. */
  root: string;
  /** The text that represents the list in the parsed root; no client can write it. */
  listMark: string;
  /** Whether there may be whole numbers beyond 2^53 outside of vectors; nearly never, and long-integers.ts tells. */
  readonly hasLongIntegers: boolean;
  /** null if the body has no array there, or if its name is written with escapes. */
  list: JudgedList | null;
  /**
   * Converts the member `vector` of a parsed text: an array that holds only numbers becomes float32; anything else
   * stays.
   */
  vector(value: unknown): unknown;
}

export interface JudgedList {
  /** Number of elements, including those beyond `lengthMax`. */
  length: number;
  /** Number of parts. A part is a run of consecutive elements; elements beyond `lengthMax` are in none. */
  partCount: number;
  /** JSON text of one part, as an array. */
  part(index: number): string;
}

/** Approximate size of a part: one call per element would cost more than small elements do. */
export const PART_BYTES = 64 * 1024;
/**
 * Approximate number of values in a part: parsing them takes far less than a millisecond. body_scanner.cc has the same
 * two numbers.
 */
export const PART_VALUES = 4096;

/** An array that holds only numbers as float32, cut after `lengthMax + 1` elements; anything else unchanged. */
export function float32IfNumbers(value: unknown, lengthMax: number): unknown {
  if (!Array.isArray(value) || !value.every((element) => typeof element === 'number')) return value;
  return Float32Array.from(value.length > lengthMax ? value.slice(0, lengthMax + 1) : value);
}

/** The error for a flaw: schema_violation for invalid JSON, limit_exceeded with the setting's name for a bound. */
export function flawError(
  { flaw, at, element }: BodyFlaw,
  body: Buffer,
  list: ScannedList | null,
  bounds: ScanBounds,
): QuiverError {
  const place = element < 0 ? 'body' : `${list?.name}[${element}]`;
  switch (flaw) {
    case FLAW.encoding:
      return new QuiverError(
        'schema_violation',
        `body is not valid UTF-8; ${isGzip(body) ? 'it is compressed by gzip, which content-encoding: gzip says' : encodingHint(body)}`,
      );
    case FLAW.depth:
      return new QuiverError(
        'limit_exceeded',
        `body is nested more than ${bounds.jsonDepthMax} levels deep (MAX_JSON_DEPTH)`,
      );
    case FLAW.values: {
      const rest = list === null || element >= 0 ? '' : ` outside of ${list.name}`;
      return new QuiverError(
        'limit_exceeded',
        `${place} has more than ${bounds.jsonValuesMax} values${rest} (MAX_JSON_VALUES)`,
      );
    }
    case FLAW.keys: {
      const rest = list === null || element >= 0 ? '' : ` outside of ${list.name}`;
      return new QuiverError(
        'limit_exceeded',
        `${place} has more than ${bounds.jsonKeysMax} keys${rest} (MAX_JSON_KEYS)`,
      );
    }
    case FLAW.bytes: {
      const rest = element >= 0 ? '' : ` outside of ${list?.name}`;
      return new QuiverError(
        'limit_exceeded',
        `${place} exceeds the maximum of ${bounds.requestBytesMax} bytes${rest} (MAX_REQUEST_BYTES)`,
      );
    }
    default:
      return new QuiverError(
        'schema_violation',
        `body is not valid JSON: unexpected ${at < body.length ? `${characterAt(body, at)} at byte ${at}${jsonHint(body, at)}` : 'end'}`,
      );
  }
}

function isGzip(body: Buffer): boolean {
  return body[0] === 0x1f && body[1] === 0x8b;
}

/** Characters that nobody would see in a message. */
const INVISIBLE = /[\p{C}\p{Z}]/u;

/** The character that begins at a byte, for a message. */
function characterAt(body: Buffer, at: number): string {
  const [character] = body.toString('utf8', at, at + 4);
  return INVISIBLE.test(character)
    ? `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`
    : JSON.stringify(character);
}

/** What other writers put where JSON has something else. */
const FOREIGN: readonly [RegExp, string][] = [
  [/^NaN/i, '; JSON has no NaN: leave the number out, or send null where that is allowed'],
  [/^inf(?:inity)?\b/i, '; JSON has no Infinity: leave the number out, or send a finite one'],
  [/^(?:True|False)\b/, '; JSON writes true and false in small letters'],
  [/^(?:None|undefined)\b/, '; JSON writes null'],
  [/^'/, '; JSON has texts and names between double quotes'],
  [/^\/[/*]/, '; JSON has no comments'],
  [/^\ufeff/, ', a byte order mark: send the body without'],
  [/^[\w$]+\s*:/, '; JSON has names between double quotes'],
];
/** The beginning of a form, of either kind; JSON is wrong at its first or second character. */
const FORM = /^[\w%.+-]+(?:=|\r\n)/;
/** Characters that tell which one it is. */
const FOREIGN_BYTES = 64;

function jsonHint(body: Buffer, at: number): string {
  const text = body.toString('utf8', at, at + FOREIGN_BYTES);
  if (/^[\]}]/.test(text))
    return /,\s*$/.test(body.toString('latin1', Math.max(0, at - FOREIGN_BYTES), at))
      ? '; JSON has no comma behind the last one'
      : '';
  if (text.startsWith('{') && /\}\s*$/.test(body.toString('latin1', Math.max(0, at - FOREIGN_BYTES), at)))
    return '; a body is one JSON value: put those of several lines into a list';
  if (at <= 1 && FORM.test(text)) return '; this is a form: send JSON';
  return FOREIGN.find(([form]) => form.test(text))?.[1] ?? '';
}
