import type { RequestWarnings } from '../requests/request-warnings';

/** Digits of the least whole number that a double may not hold: 2^53 is 9007199254740992. */
export const LONG_INTEGER_DIGITS = 16;
/** Of one text, more than these are not told. */
const WARNINGS_MAX = 10;
/** Characters of a path or a number that a message shows. */
const SHOWN_MAX = 120;

/** A whole number of a body that is beyond 2^53. */
export interface LongInteger {
  /** Where it stands, as `items[3].metadata.order`. */
  path: string;
  digits: string;
}

interface OpenValue {
  /** The index of the next element; -1: an object. */
  index: number;
  /** The last name of an object, as it is written. */
  name: string;
}

/** A string, a bracket, a comma, or a number; white space, colons and words are between them. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[[\]{},]|-?\d[\d.eE+-]*/gs;
const WHOLE = /^-?\d+$/;

/**
 * The whole numbers beyond 2^53 of a JSON text, which JSON.parse accepts: the first few, and those of vectors left out,
 * which are float32 whatever is written. `list`: the text is a part of the body's list of that name, whose first
 * element has the index `first`.
 */
export function longIntegers(text: string, list = '', first = 0): LongInteger[] {
  const found: LongInteger[] = [];
  const open: OpenValue[] = [];
  let isName = false;
  for (const [token] of text.matchAll(TOKEN)) {
    const inner = open.at(-1);
    switch (token[0]) {
      case '{':
        open.push({ index: -1, name: '' });
        isName = true;
        break;
      case '[':
        open.push({ index: open.length === 0 ? first : 0, name: '' });
        isName = false;
        break;
      case '}':
      case ']':
        open.pop();
        isName = false;
        break;
      case ',':
        if (inner !== undefined && inner.index >= 0) inner.index++;
        isName = inner?.index === -1;
        break;
      case '"':
        if (isName && inner !== undefined) inner.name = token;
        isName = false;
        break;
      default:
        if (
          token.length < LONG_INTEGER_DIGITS ||
          !WHOLE.test(token) ||
          Number.isSafeInteger(Number(token)) ||
          BigInt(token) === MAX ||
          BigInt(token) === -MAX
        )
          break;
        if (isOfVector(open)) break;
        found.push({ path: pathOf(open, list), digits: token });
        if (found.length > WARNINGS_MAX) return found;
    }
  }
  return found;
}

/** What holds objects that have a vector. In all others, as metadata, a field of that name is any. */
const OWNERS: ReadonlySet<string> = new Set(['"items"', '"queries"', '"over"', '"positives"', '"negatives"']);

function isOfVector(open: readonly OpenValue[]): boolean {
  const at = open.findIndex(({ name }) => name === '"vector"');
  return at >= 0 && open.slice(0, at).every(({ index, name }) => index >= 0 || OWNERS.has(name));
}

/** Up to here, a double holds every whole number. */
const MAX = 2n ** 53n;

function pathOf(open: readonly OpenValue[], list: string): string {
  let path = list;
  for (const { index, name } of open)
    path += index >= 0 ? `[${index}]` : `${path === '' ? '' : '.'}${JSON.parse(name) as string}`;
  return path.slice(0, SHOWN_MAX);
}

/** Each is a doubt: what is stored and compared is another number. */
export function warnOfLongIntegers(found: readonly LongInteger[], warnings: RequestWarnings): void {
  for (const { path, digits } of found.slice(0, WARNINGS_MAX)) {
    const rounded = Number(digits);
    const became = Number.isFinite(rounded)
      ? `it becomes ${JSON.stringify(rounded)}`
      : 'it is more than any number here';
    warnings.doubt(
      `${path} is ${digits.slice(0, SHOWN_MAX)}, beyond 2^53, up to which whole numbers are exact: ${became}; send it as a text`,
    );
  }
  if (found.length > WARNINGS_MAX) warnings.doubt('more whole numbers are beyond 2^53');
}
