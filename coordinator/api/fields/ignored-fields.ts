import type { RequestWarnings } from '../requests/request-warnings';
import { insteadOf, meant, shownName } from './field-hints';

/** The field by which every request may ask for errors in the place of warnings. */
export const STRICT_FIELD = 'strict';
/** Names that are kept of one request: a body may have any number. */
const NAMES_MAX = 100;

interface IgnoredField {
  name: string;
  hint: string;
  /**
   * The list and the index of the first object that has it, or an object's name and -1; '' and -1: it is the body
   * itself.
   */
  list: string;
  index: number;
  /** In how many other objects of the list it is, too. */
  others: number;
}

/** The fields of a request that are not known, and so ignored: each is told once, with what was most likely meant. */
export class IgnoredFields {
  private found: Map<string, IgnoredField> | null = null;
  private more = 0;

  /**
   * Notes each field of `owner` that is not `known`. `list` and `index`: of an element of a list; without an index, of
   * an object of that name.
   */
  look(owner: object, known: ReadonlySet<string>, list = '', index = -1): void {
    for (const name in owner)
      if (!known.has(name) && !(list === '' && name === STRICT_FIELD)) this.note(name, owner, known, list, index);
  }

  /** Tells all that were noted. */
  reportTo(warnings: RequestWarnings): void {
    if (this.found === null) return;
    for (const { name, hint, list, index, others } of this.found.values()) {
      const place =
        list === '' ? '' : `${list}${index < 0 ? '' : `[${index}]${others > 0 ? ` and ${others} more` : ''}`}: `;
      const what = `${place}${shownName(name)} is not a field`;
      warnings.doubt(`${what}${hint}`, `${what} and was ignored${hint}`);
    }
    if (this.more > 0)
      warnings.doubt(
        `${this.more} more fields are not known`,
        `${this.more} more fields are not known and were ignored`,
      );
  }

  private note(name: string, owner: object, known: ReadonlySet<string>, list: string, index: number): void {
    const found = (this.found ??= new Map());
    const key = `${list} ${name}`;
    const before = found.get(key);
    if (before !== undefined) {
      before.others++;
      return;
    }
    if (found.size === NAMES_MAX) {
      this.more++;
      return;
    }
    found.set(key, { name, hint: hintOf(name, owner, known), list, index, others: 0 });
  }
}

function hintOf(name: string, owner: object, known: ReadonlySet<string>): string {
  const field = meant(name, known);
  if (field !== null && !Object.hasOwn(owner, field)) return `; did you mean ${field}?`;
  const instead = field === null ? insteadOf(name) : null;
  return instead === null ? '' : `; ${instead}`;
}
