import type { BodyField, Operation } from './openapi';

/** Suggestions fit on a small screen. */
const SUGGESTIONS_MAX = 12;

/** Endpoints that fit what is typed: all its words are in the method, path or summary. */
export function matchingOperations(operations: Operation[], typed: string): Operation[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const template = typed.trim().toLowerCase();
  const fits = ({ method, path, summary }: Operation): boolean => {
    const text = `${method} ${path} ${summary}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  return operations
    .filter(fits)
    .sort(
      (a, b) => Number(b.path.toLowerCase().startsWith(template)) - Number(a.path.toLowerCase().startsWith(template)),
    )
    .slice(0, SUGGESTIONS_MAX);
}

/** The endpoint of a method and a path with its parameters filled in. */
export function operationAt(operations: Operation[], method: string, path: string): Operation | null {
  const [plain = ''] = path.split('?');
  const parts = plain.split('/');
  const fits = (template: string): boolean => {
    const wanted = template.split('/');
    return (
      wanted.length === parts.length &&
      wanted.every((part, i) => part === parts[i] || (/^\{.*\}$/.test(part) && parts[i] !== ''))
    );
  };
  return operations.find((operation) => operation.method === method && fits(operation.path)) ?? null;
}

/** The beginning of a key that stands before the caret, with where it begins; null where no key is being written. */
export function keyBefore(body: string, caret: number): { typed: string; from: number } | null {
  const match = /[{,]\s*"?([\w$]*)$/.exec(body.slice(0, caret));
  if (match === null) return null;
  const typed = match[1] ?? '';
  const isQuoted = body.slice(0, caret).endsWith(`"${typed}`);
  return isQuoted || typed !== '' ? { typed, from: caret - typed.length - (isQuoted ? 1 : 0) } : null;
}

export function matchingFields(fields: BodyField[], typed: string): BodyField[] {
  return fields.filter(({ name }) => name.startsWith(typed) && name !== typed).slice(0, SUGGESTIONS_MAX);
}

/**
 * The body with a key written out from `from`, and where the caret is then. What is behind a quote that was there
 * stays.
 */
export function withKey(body: string, from: number, caret: number, name: string): { body: string; caret: number } {
  const rest = body.slice(caret).replace(/^"(?:\s*:)?\s?/, '');
  const written = `"${name}": `;
  return { body: body.slice(0, from) + written + rest, caret: from + written.length };
}
