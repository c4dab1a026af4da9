import { seededRandom } from '../../support/values/random';

/**
 * What a value looks like when it is stored. A value is a short text that is written once in a history; vector,
 * metadata and text follow from it, so whatever is read names its writer, and a mixture of two writes is seen.
 */

/** Enough for scores that differ between any two values, few enough to be quick. */
export const VALUE_DIM = 8;
export const GROUPS = 4;
/** Words of the texts for keyword search; every value has two of them. */
export const WORDS = ['amber', 'birch', 'cedar', 'dune', 'ember', 'fjord', 'grove', 'harbour'] as const;

/** float32 components in [-1, 1). */
export function vectorOf(value: string): number[] {
  const random = seededRandom(hashOf(value));
  return Array.from({ length: VALUE_DIM }, () => Math.fround(random() * 2 - 1));
}

/** Which of {@link GROUPS} groups a filter finds it in. */
export function groupOf(value: string): number {
  return hashOf(value) % GROUPS;
}

export function metadataOf(value: string): { v: string; group: number; words: string } {
  const hash = hashOf(value);
  return {
    v: value,
    group: groupOf(value),
    words: `${WORDS[(hash >>> 8) % WORDS.length]} ${WORDS[(hash >>> 16) % WORDS.length]}`,
  };
}

/** Texts are read from elsewhere than all the rest of an item. */
export function textOf(value: string): string {
  return `${metadataOf(value).words}: the text of ${value}`;
}

/** Whether a vector as it was answered is the one of the value, component by component. */
export function isVectorOf(value: string, vector: readonly number[]): boolean {
  const expected = vectorOf(value);
  return vector.length === expected.length && expected.every((component, i) => Math.fround(vector[i]) === component);
}

/** FNV-1a over UTF-16 units, then mixed, so that values that differ in a digit differ in every bit. */
function hashOf(value: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < value.length; i += 1) hash = Math.imul(hash ^ value.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  return (hash ^ (hash >>> 13)) >>> 0;
}
