import type { Metadata } from '../api/shapes';

/**
 * The paths of values in metadata, as `fields` of a search takes them; what is in an object has its own: "author.name".
 */
export function fieldPaths(metadata: Metadata): string[] {
  return Object.entries(metadata).flatMap(([name, value]) => {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return [name];
    const inner = fieldPaths(value as Metadata);
    return inner.length === 0 ? [name] : inner.map((path) => `${name}.${path}`);
  });
}

/** The fields that an address gives; null: all. */
export function fieldsFromParameter(text: string | null): string[] | null {
  try {
    const given: unknown = JSON.parse(text ?? 'null');
    return Array.isArray(given) && given.every((one) => typeof one === 'string') ? given : null;
  } catch {
    return null;
  }
}
