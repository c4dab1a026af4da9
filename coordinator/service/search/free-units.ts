import { markIn } from '../../../shared/base/text/term-mark';
import type { KeywordMeaning, KeywordUnit } from '../../../shared/contract/shard/keyword-plan';

/** Units that count towards the minimum and add no score. */
export interface FreeUnits {
  /** Places of the units of the words of a query. */
  words: readonly number[];
  /**
   * `at`: the place of one that a document has that has the unit `of`, or in the fields of analysers that leave the
   * word out, by their marks, another of the words.
   */
  units: readonly { at: number; of: number; leftOut: readonly string[] }[];
}

/** The units with the free ones, once those of the words have all their terms. */
export function withFree(terms: readonly string[], given: readonly KeywordUnit[], free: FreeUnits): KeywordUnit[] {
  const units = [...given];
  for (const { at, of, leftOut } of free.units) {
    const isLeftOut = ([first]: readonly number[]): boolean => leftOut.includes(markIn(terms[first]));
    const ways = waysOf(given[of]);
    for (const word of free.words)
      if (word !== of) ways.push(...waysOf(given[word]).filter((way) => isLeftOut(way.terms)));
    const single = new Set<number>();
    const meanings: KeywordMeaning[] = [];
    for (const way of ways)
      if (way.terms.length === 1 && way.filter === undefined) single.add(way.terms[0]);
      else meanings.push(way);
    units[at] = {
      terms: [...single],
      factors: [...single].map(() => 1),
      ...(meanings.length > 0 && { meanings }),
      isOptional: true,
      isFree: true,
    };
  }
  return units;
}

/** Each way in which a document has a unit. */
function waysOf({ terms, factors, meanings = [] }: KeywordUnit): KeywordMeaning[] {
  const own = factors === undefined ? [terms] : terms.map((term) => [term]);
  return [...own.map((places) => ({ terms: places })), ...meanings];
}
