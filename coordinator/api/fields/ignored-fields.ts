import type { RequestWarnings } from '../requests/request-warnings';
import { insteadOf, meant, shownName } from './field-hints';
import type { RequestFields } from './request-fields';

/** The field by which every request may ask for errors in the place of warnings. */
export const STRICT_FIELD = 'strict';
/** Names that are kept of one request: a body may have any number. */
const NAMES_MAX = 100;

/** Names of which one says the same as another, which counts where both are given. */
const OTHER_NAMES = [['content', 'text']] as const;

/** Where an object stands in a request: in which object, under which name, and at which place of a list. */
export interface FieldPlace {
  within: FieldPlace | null;
  name: string;
  /** -1: it is in no list. */
  index: number;
}

interface IgnoredField {
  name: string;
  /** Why it is ignored. */
  why: string;
  hint: string;
  /** Of the first object that has it; null: it is the request itself. */
  place: FieldPlace | null;
  /** In how many others that differ in their places of lists it is, too. */
  others: number;
}

/** The fields of a request that are not known, and so ignored: each is told once, with what was most likely meant. */
export class IgnoredFields {
  private found: Map<string, IgnoredField> | null = null;
  private more = 0;

  /**
   * Notes each field of `owner`, and of objects in it, that is not known, or that another stands for. `place`: null:
   * the request itself.
   */
  look(owner: object, known: RequestFields, place: FieldPlace | null = null): void {
    for (const name in owner)
      if (!known.names.has(name) && !(place === null && name === STRICT_FIELD))
        this.note({ name, why: 'is not a field', hint: hintOf(name, owner, known.names) }, place);
    for (const [name, counts] of OTHER_NAMES)
      if (known.names.has(name) && haveOther(owner, name, counts))
        this.note({ name, why: `is another name for ${counts}, which is given`, hint: '' }, place);
    for (const [name, inner] of known.inner) {
      const value = Object.hasOwn(owner, name) ? (owner as Record<string, unknown>)[name] : null;
      if (Array.isArray(value)) this.lookAtEach(value, inner, { within: place, name, index: 0 });
      else if (isObject(value)) this.look(value, inner, { within: place, name, index: -1 });
    }
  }

  /** The same of the elements of a list that are objects; the first of them stands at `place`. */
  lookAtEach(elements: readonly unknown[], known: RequestFields, place: FieldPlace): void {
    for (const [i, element] of elements.entries())
      if (isObject(element)) this.look(element, known, { ...place, index: place.index + i });
  }

  /** Tells all that were noted. */
  reportTo(warnings: RequestWarnings): void {
    if (this.found === null) return;
    for (const { name, why, hint, place, others } of this.found.values()) {
      const where = place === null ? '' : `${pathOf(place)}${others > 0 ? ` and ${others} more` : ''}: `;
      const what = `${where}${shownName(name)} ${why}`;
      warnings.doubt(`${what}${hint}`, `${what} and was ignored${hint}`);
    }
    if (this.more > 0)
      warnings.doubt(
        `${this.more} more fields are not known`,
        `${this.more} more fields are not known and were ignored`,
      );
  }

  private note(ignored: Pick<IgnoredField, 'name' | 'why' | 'hint'>, place: FieldPlace | null): void {
    const found = (this.found ??= new Map());
    const key = `${place === null ? '' : pathOf(place, false)} ${ignored.name}`;
    const before = found.get(key);
    if (before !== undefined) {
      before.others++;
      return;
    }
    if (found.size === NAMES_MAX) {
      this.more++;
      return;
    }
    found.set(key, { ...ignored, place, others: 0 });
  }
}

/** As `queries[0].order_by[1]`; without the places of lists, the same for all objects of one kind. */
function pathOf({ within, name, index }: FieldPlace, hasIndexes = true): string {
  const head = within === null ? '' : `${pathOf(within, hasIndexes)}.`;
  return `${head}${name}${index >= 0 && hasIndexes ? `[${index}]` : ''}`;
}

/** Whether both are given, and differ. */
function haveOther(owner: object, name: string, counts: string): boolean {
  const [other, given] = [name, counts].map((one) =>
    Object.hasOwn(owner, one) ? (owner as Record<string, unknown>)[one] : null,
  );
  return typeof other === 'string' && typeof given === 'string' && other !== given;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function hintOf(name: string, owner: object, known: ReadonlySet<string>): string {
  const field = meant(name, known);
  if (field !== null && !Object.hasOwn(owner, field)) return `; did you mean ${field}?`;
  const instead = field === null ? insteadOf(name) : null;
  return instead === null ? '' : `; ${instead}`;
}
