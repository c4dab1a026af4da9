import type { Filter } from './filter';

/** Filters that are in use. A filter never changes, so its text is made once, however many shards and stages ask for it. */
const texts = new WeakMap<Filter, string>();

/** The filter as JSON text: what it is known by, and how it goes over the wire. Of 2 MB it takes some 10 ms, once. */
export function filterText(filter: Filter): string {
  const known = texts.get(filter);
  if (known !== undefined) return known;
  const text = JSON.stringify(filter);
  texts.set(filter, text);
  return text;
}
