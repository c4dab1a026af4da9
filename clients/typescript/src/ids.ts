import { InvalidValueError } from './errors';
import type { ExternalId } from './values';

/** Ids of one call that are remembered. */
const REMEMBERED_MAX = 1_000_000;
const WHOLE_NUMBER = /^-?\d+$/;

/** The text of an id: 7 is "7". Throws an InvalidValueError for what is none. */
export function idText(given: ExternalId, field = 'external_id'): string {
  if (typeof given === 'string') return given;
  if (typeof given === 'bigint' || Number.isSafeInteger(given)) return String(given);
  const kind = given === null ? 'null' : typeof given;
  throw new InvalidValueError(
    kind === 'number'
      ? `${given} is no whole number that is exact: give the id as a text`
      : `is ${kind}, not a text or a whole number`,
    { field },
  );
}

/** The texts of several ids; the error names the place of one that is none. */
export function idTexts(given: readonly ExternalId[], field: string): string[] {
  return given.map((id, i) => idText(id, `${field}[${i}]`));
}

/** The ids of one call, of which no two that are different there may be the same text: 1 and "1". */
export class CallIds {
  private readonly numbers = new Map<string, number>();
  private readonly digits = new Map<string, number>();
  private isFull = false;

  /**
   * The text of the id of the item at a position. Throws an InvalidValueError for one that another kind of id has
   * taken.
   */
  textOf(given: ExternalId, position: number): string {
    const text = idText(given);
    const isText = typeof given === 'string';
    if (isText && !WHOLE_NUMBER.test(text)) return text;
    const [own, other] = isText ? [this.digits, this.numbers] : [this.numbers, this.digits];
    const taken = other.get(text);
    const field = 'external_id';
    if (taken !== undefined) {
      const [number, word] = isText ? [taken, position] : [position, taken];
      throw new InvalidValueError(
        `the number ${text} of item ${number} and the text "${text}" of item ${word} are one id: write all ids as texts`,
        { field },
      );
    }
    if (own.size < REMEMBERED_MAX) own.set(text, position);
    else if (!own.has(text)) this.isFull = true;
    // Too many to tell whether they meet.
    if (this.isFull && this.numbers.size > 0 && this.digits.size > 0)
      throw new InvalidValueError('ids are both numbers and texts of digits, and many: write all ids as texts', {
        field,
      });
    return text;
  }
}
