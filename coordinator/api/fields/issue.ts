import type { z } from 'zod';
import { type ErrorKind, isQuiverError, QuiverError } from '../../../shared/base/errors/quiver-error';
import { missingFieldHint, valueHint } from './field-hints';

/** The part of zod's own context with which a transform reports. */
export type IssueSink = { issues: z.core.$ZodRawIssue[] };

/**
 * Reports a violation from inside a schema. `message` continues the field's name ("must be …"). `kind` overrides the
 * default error for a violation at this place; `path` continues from the field that has the schema; `wanted` are the
 * fields of which one is missing there.
 */
export function report(
  sink: IssueSink,
  input: unknown,
  message: string,
  options: { kind?: ErrorKind; path?: PropertyKey[]; wanted?: string[] } = {},
): void {
  sink.issues.push({
    code: 'custom',
    message,
    input,
    path: options.path ?? [],
    params: { kind: options.kind, wanted: options.wanted },
  });
}

const ARTICLES: Record<string, string> = {
  array: 'an array',
  object: 'a JSON object',
  record: 'a JSON object',
  int: 'an integer',
  boolean: 'true or false',
};

function nameOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'number' && !Number.isInteger(value)) return 'a fraction';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

function sizeIn(origin: string, size: number): string {
  if (origin === 'string') return `have ${'%'} ${size} characters`;
  if (origin === 'array') return `have ${'%'} ${size} elements`;
  return `be ${'%'} ${size}`;
}

/** zod's issues in the API's words: what the field must be, to follow its name. */
export function wordsFor(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required';
      if (typeof issue.input === 'number' && !Number.isFinite(issue.input)) return 'is out of range';
      return `must be ${ARTICLES[issue.expected] ?? `a ${issue.expected}`}, not ${nameOf(issue.input)}`;
    case 'too_small':
      return `must ${sizeIn(issue.origin, Number(issue.minimum)).replace('%', issue.inclusive === false ? 'more than' : 'at least')}`;
    case 'too_big':
      return `must ${sizeIn(issue.origin, Number(issue.maximum)).replace('%', issue.inclusive === false ? 'less than' : 'at most')}`;
    case 'invalid_value':
      return issue.input === undefined
        ? 'is required'
        : `must be one of ${issue.values.map((value) => JSON.stringify(value)).join(', ')}${valueHint(
            issue.input,
            issue.values.filter((value) => typeof value === 'string'),
          )}`;
    case 'custom':
    case 'invalid_element':
    case 'invalid_format':
    case 'invalid_key':
    case 'invalid_union':
    case 'not_multiple_of':
    case 'unrecognized_keys':
      return undefined;
  }
}

/** The place of a value in a request; it decides the default error for a violation. */
export type RequestPart = 'path' | 'query' | 'body';

/** Longest piece of a client's external_id that is put into a message. */
const SHOWN_ID_MAX = 80;

function nameOfPath(path: PropertyKey[], place: RequestPart): string {
  if (path.length === 0) return place;
  return path.reduce<string>(
    (text, part) =>
      typeof part === 'number' ? `${text}[${part}]` : text === '' ? String(part) : `${text}.${String(part)}`,
    '',
  );
}

/** The external_id of the bulk item that an issue is about, for the message. */
function itemId(path: PropertyKey[], value: unknown): string {
  if (path[0] !== 'items' || typeof path[1] !== 'number') return '';
  const id = (value as { items: Record<number, { external_id?: unknown } | null> }).items[path[1]]?.external_id;
  return typeof id === 'string' ? ` (external_id ${JSON.stringify(id.slice(0, SHOWN_ID_MAX))})` : '';
}

/** Names the field that was most likely given in the place of one that is missing. */
function hintFor(issue: z.core.$ZodIssue, body: unknown): string {
  const wanted = issue.code === 'custom' ? (issue.params?.wanted as string[] | undefined) : undefined;
  if (wanted !== undefined) return missingFieldHint(valueAt(body, issue.path), wanted);
  const field = issue.path.at(-1);
  if (typeof field !== 'string' || valueAt(body, issue.path) !== undefined) return '';
  return missingFieldHint(valueAt(body, issue.path.slice(0, -1)), [field]);
}

function valueAt(root: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === 'object' && value !== null && Object.hasOwn(value, key)
        ? (value as Record<PropertyKey, unknown>)[key]
        : undefined,
    root,
  );
}

/** The operating error for the first violation found in `value`. */
export function errorFromIssue(issue: z.core.$ZodIssue, place: RequestPart, value: unknown): QuiverError {
  const kind = issue.code === 'custom' ? (issue.params?.kind as ErrorKind | undefined) : undefined;
  const message = `${nameOfPath(issue.path, place)}${itemId(issue.path, value)} ${issue.message}${place === 'body' ? hintFor(issue, value) : ''}`;
  return new QuiverError(kind ?? (place === 'body' ? 'schema_violation' : 'invalid_parameter'), message);
}

/** Checks `value` and answers the schema's output. Errors: that of the first violation, naming the field. */
export function validate<S extends z.ZodType>(schema: S, value: unknown, place: RequestPart): z.output<S> {
  const result = schema.safeParse(value, { error: (issue) => wordsFor(issue) });
  if (result.success) return result.data;
  throw errorFromIssue(result.error.issues[0], place, value);
}

/**
 * In the place of an element of a list that is not valid, where the handler is to know. `value`: the element as it
 * came.
 */
export class RefusedElement {
  constructor(
    readonly error: QuiverError,
    readonly value: unknown,
  ) {}
}

/** As {@link validateElements}, element by element: none keeps the others from being valid. */
export function validateEachElement<S extends z.ZodType>(
  elements: z.ZodArray<S>,
  values: readonly unknown[],
  place: { list: string; first: number },
): (z.output<S> | RefusedElement)[] {
  return values.map((value, i) => {
    try {
      return validateElements(elements, [value], { list: place.list, first: place.first + i })[0];
    } catch (error) {
      if (!isQuiverError(error)) throw error;
      return new RefusedElement(error, value);
    }
  });
}

/**
 * Checks elements of a body's list, starting with the one at index `first`, and answers the schema's output. Errors: as
 * if the whole body were checked.
 */
export function validateElements<S extends z.ZodType>(
  elements: z.ZodArray<S>,
  values: readonly unknown[],
  place: { list: string; first: number },
): z.output<S>[] {
  const result = elements.safeParse(values, { error: (issue) => wordsFor(issue) });
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const index = Number(issue.path[0]);
  const path = [place.list, place.first + index, ...issue.path.slice(1)];
  throw errorFromIssue({ ...issue, path }, 'body', { [place.list]: { [place.first + index]: values[index] } });
}
