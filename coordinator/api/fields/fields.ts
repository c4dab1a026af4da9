import { z } from 'zod';
import { type ErrorKind, isQuiverError } from '../../../shared/base/errors/quiver-error';
import type { Filter } from '../../../shared/contract/filter/filter';
import { ITEM_OPERATORS_EXPLAINED, OPERATORS_EXPLAINED } from '../../../shared/contract/filter/filter-operators';
import { type FilterBounds, parseFilter } from '../../../shared/contract/filter/parse-filter';
import { float32FromBase64Text } from '../../../shared/contract/vector/float32-bytes';
import { VECTOR_FORMATS } from '../body/vector-format';
import { REQUEST_BOUNDS } from '../requests/http-limits';
import { report } from './issue';
import { type MetadataLimits, metadataText } from './metadata-text';

/** The fields that requests share. Types are never converted in JSON bodies: `"3"` and `true` are not integers. */

const nullAsAbsent = (value: unknown): unknown => (value === null ? undefined : value);

/** A field that may be omitted; null counts as omitted. */
export function optional<S extends z.ZodType>(schema: S) {
  return z.preprocess(nullAsAbsent, schema.optional());
}

/** A field with a default; null counts as omitted. */
export function withDefault<S extends z.ZodType>(schema: S, value: z.util.NoUndefined<z.output<S>>) {
  return z.preprocess(nullAsAbsent, schema.default(value));
}

/** An integer from `minimum` to `maximum`. */
export const integer = (minimum: number, maximum: number) => z.int().min(minimum).max(maximum);

const INTEGER = /^-?\d+$/;

/** The number in a text, limited to the exact range; reports a text that is not a number. */
function numberFromText(value: unknown, context: z.core.$RefinementCtx): unknown {
  if (typeof value !== 'string') return value;
  if (INTEGER.test(value)) return Math.max(-Number.MAX_SAFE_INTEGER, Math.min(Number(value), Number.MAX_SAFE_INTEGER));
  report(context, value, `must be an integer, not ${JSON.stringify(value.slice(0, SHOWN_TEXT_MAX))}`);
  return z.NEVER;
}

/** Longest piece of a client's text that is put into a message. */
const SHOWN_TEXT_MAX = 40;

/** An integer in a path or query string, where everything is text. */
export const integerText = (minimum: number, maximum: number) =>
  z.preprocess(numberFromText, integer(minimum, maximum));

export const integerTextWithDefault = (minimum: number, maximum: number, value: number) =>
  z.preprocess(numberFromText, integer(minimum, maximum).default(value));

/** Words for yes and no in a form or a query string; a checkbox sends `on`. */
const FLAGS = new Map([
  ...['true', '1', 'yes', 'on'].map((word) => [word, true] as const),
  ...['false', '0', 'no', 'off', ''].map((word) => [word, false] as const),
]);

export const flagText = z.preprocess(
  (value) => (typeof value === 'string' ? (FLAGS.get(value.trim().toLowerCase()) ?? value) : value),
  z.boolean().default(false),
);

/**
 * An array of at most `lengthMax` elements. A longer one is `excess`, by default limit_exceeded (400), found before any
 * element is examined; `setting` names the setting that configures the limit.
 */
export function boundedArray<S extends z.ZodType>(
  element: S,
  lengthMax: number,
  setting?: string,
  excess: ErrorKind = 'limit_exceeded',
) {
  return z.preprocess(
    (value, context) => {
      if (Array.isArray(value) && value.length > lengthMax)
        report(context, value, tooLong(value.length, { lengthMax, setting }), { kind: excess });
      return value;
    },
    z.array(element).meta({ maxItems: lengthMax }),
  );
}

/** The message for a list of `length` elements, to follow its name. */
export function tooLong(length: number, bound: { lengthMax: number; setting?: string | undefined }): string {
  const { lengthMax, setting } = bound;
  return `has ${length} elements, more than the maximum of ${setting === undefined ? lengthMax : `${lengthMax} (${setting})`}`;
}

const COLLECTION_NAME = /^[A-Za-z0-9_-]{1,255}$/;

export const collectionName = z
  .string()
  .meta({ minLength: 1, maxLength: REQUEST_BOUNDS.nameCharactersMax, pattern: '^[A-Za-z0-9_-]+$' })
  .refine((name) => COLLECTION_NAME.test(name), {
    error: 'must be 1 to 255 letters, digits, hyphens or underscores',
    abort: true,
  });

/** Control characters, and lone surrogates, which UTF-8 can't represent. */
const NOT_IN_IDS = /[\p{Cc}\p{Surrogate}]/u;

/** What is wrong with an external_id, to follow its name; null: nothing. */
export function idViolation(id: string): string | null {
  const max = REQUEST_BOUNDS.externalIdCharactersMax;
  if (id.length === 0) return 'must not be empty';
  // A character takes at most two code units, so most ids need no counting.
  if (id.length > max && (id.length > 2 * max || [...id].length > max)) return `must have at most ${max} characters`;
  return NOT_IN_IDS.test(id) ? 'must not contain control characters or lone surrogates' : null;
}

export const externalId = z
  .string()
  .meta({
    minLength: 1,
    maxLength: REQUEST_BOUNDS.externalIdCharactersMax,
    description: 'Any Unicode but control characters.',
  })
  .superRefine((id, context) => {
    const violation = idViolation(id);
    if (violation !== null) context.addIssue({ code: 'custom', message: violation, input: id });
  });

/**
 * A vector of finite numbers, as float32: an array, or base64 of little-endian float32 values, which is shorter and
 * faster to read. Its length is not compared with the collection's dimension here.
 */
export function vector(vectorDimMax: number) {
  return z
    .unknown()
    .meta({
      oneOf: [
        { type: 'array', items: { type: 'number' }, minItems: 1, maxItems: vectorDimMax },
        {
          type: 'string',
          contentEncoding: 'base64',
          maxLength: base64Length(vectorDimMax * Float32Array.BYTES_PER_ELEMENT),
        },
      ],
      description:
        'Finite numbers, stored as float32; as many as the collection’s dim. Or the same as base64 of ' +
        'little-endian float32 values.',
    })
    .transform((value, context): Float32Array => {
      // A text that is far too long is not even decoded.
      const isTooLong =
        typeof value === 'string' && value.length > base64Length(vectorDimMax * Float32Array.BYTES_PER_ELEMENT);
      const given = isTooLong ? null : float32From(value, context);
      if (isTooLong || (given !== null && given.length > vectorDimMax)) {
        report(context, value, `has more than the maximum of ${vectorDimMax} elements (MAX_VECTOR_DIM)`, {
          kind: 'limit_exceeded',
        });
        return z.NEVER;
      }
      if (given === null) return z.NEVER;
      const wrong = firstNonFinite(given);
      if (wrong < 0) return given;
      report(context, value, 'is not a finite float32 number', { path: [wrong] });
      return z.NEVER;
    });
}

/** How vectors are answered. */
export const vectorFormat = withDefault(z.enum(VECTOR_FORMATS), 'array').meta({
  description:
    'How vectors are answered: as an array of numbers, or as base64 of little-endian float32 values, which is ' +
    'shorter and faster to write and to read.',
});

/** Index of the first NaN or infinity; -1 if there is none. */
export function firstNonFinite(values: Float32Array): number {
  for (let i = 0; i < values.length; i++) {
    // The difference of a number with itself is NaN unless the number is finite, and the test is cheap.
    if (values[i] - values[i] !== 0) return i;
  }
  return -1;
}

/** The length of the base64 text of so many bytes, with padding. */
const base64Length = (bytes: number): number => 4 * Math.ceil(bytes / 3);

/** The values in any of the forms a vector comes in; null after a violation was reported. */
function float32From(value: unknown, context: z.core.$RefinementCtx): Float32Array | null {
  if (value instanceof Float32Array) return value;
  return typeof value === 'string' ? float32FromBase64(value, context) : float32FromArray(value, context);
}

function float32FromBase64(text: string, context: z.core.$RefinementCtx): Float32Array | null {
  const vector = float32FromBase64Text(text);
  if (vector === null) report(context, text, 'must be an array of numbers, or base64 of little-endian float32 values');
  return vector;
}

/** Arrays that the body scanner left as they are: with other values than numbers in them, or behind an escaped key. */
function float32FromArray(value: unknown, context: z.core.$RefinementCtx): Float32Array | null {
  if (!Array.isArray(value)) {
    report(context, value, value === undefined ? 'is required' : 'must be an array of numbers');
    return null;
  }
  const wrong = value.findIndex((element) => typeof element !== 'number');
  if (wrong >= 0) {
    report(context, value, 'must be a number', { path: [wrong] });
    return null;
  }
  return Float32Array.from(value as number[]);
}

/** A text of at most `charactersMax` characters; `setting` names the setting that configures the limit. */
export function boundedText(charactersMax: number, setting: string) {
  return z
    .string()
    .meta({ maxLength: charactersMax })
    .superRefine((text, context) => {
      if (!isLonger(text, charactersMax)) return;
      report(context, text, `exceeds the maximum length of ${charactersMax} characters (${setting})`, {
        kind: 'limit_exceeded',
      });
    });
}

export function isLonger(text: string, charactersMax: number): boolean {
  // A character takes at most two code units, so most texts need no counting.
  if (text.length <= charactersMax) return false;
  return text.length > 2 * charactersMax || [...text].length > charactersMax;
}

/** An item's text, of at most `textBytesMax` bytes in UTF-8. */
export function itemText(textBytesMax: number) {
  return z
    .string()
    .meta({ description: `At most ${textBytesMax} bytes in UTF-8.` })
    .superRefine((text, context) => {
      // A code unit takes at most three bytes, so most texts need no counting.
      if (text.length * 3 <= textBytesMax || Buffer.byteLength(text) <= textBytesMax) return;
      report(context, text, `exceeds the maximum of ${textBytesMax} bytes (MAX_TEXT_BYTES)`, {
        kind: 'limit_exceeded',
      });
    });
}

/** A metadata object, as its JSON text. */
export function metadata(limits: MetadataLimits) {
  const { metadataBytesMax, metadataFieldsMax } = limits;
  const description = `At most ${metadataBytesMax} bytes as JSON, ${metadataFieldsMax} keys and array elements, and ${REQUEST_BOUNDS.metadataDepthMax} levels deep.`;
  return z
    .unknown()
    .meta({ type: 'object', additionalProperties: true, description })
    .transform((value, context): string => metadataText(value, limits, context) ?? z.NEVER);
}

/** A metadata filter in the form that clients write; null if it restricts nothing. */
const filter = (bounds: FilterBounds) =>
  z
    .unknown()
    .meta({
      type: ['object', 'null'],
      additionalProperties: true,
      description:
        'Every pair must match: a scalar equals a scalar or is in an array, an object equals an object, null a present null. Dotted keys reach into objects. ' +
        `Operators: ${OPERATORS_EXPLAINED} on a key, $and $or $not ${ITEM_OPERATORS_EXPLAINED} at the top.`,
    })
    .transform((value, context): Filter | null => {
      try {
        return parseFilter(value, bounds, Date.now);
      } catch (error) {
        if (!isQuiverError(error)) throw error;
        report(context, value, `are not valid: ${error.message}`, { kind: error.kind });
        return z.NEVER;
      }
    });

/** A metadata filter, checked; null if it restricts nothing. */
export const filters = (bounds: FilterBounds) =>
  filter(bounds)
    .optional()
    .transform((given) => given ?? null);

/** A metadata filter that must restrict something. */
export const requiredFilters = (bounds: FilterBounds) =>
  filter(bounds).transform((given, context): Filter => {
    if (given !== null) return given;
    report(context, given, 'are required and must not be empty');
    return z.NEVER;
  });

/** Paths of metadata, as filters have them. Omitted: undefined. */
export const metadataFields = optional(
  boundedArray(z.string().max(REQUEST_BOUNDS.nameCharactersMax), REQUEST_BOUNDS.chosenFieldsMax),
);

export const includeTiming = withDefault(z.boolean(), false);
