/** Elements that are sorted, or merged, before others are served. */
const SORTED_AT_ONCE = 2_048;

/** Sorted by `compare`, in steps; equal ones stay in their order. */
export function* sortedInSteps<Element>(
  elements: readonly Element[],
  compare: (a: Element, b: Element) => number,
): Generator<undefined, Element[]> {
  if (elements.length <= 2 * SORTED_AT_ONCE) return elements.toSorted(compare);
  let runs: Element[][] = [];
  for (let from = 0; from < elements.length; from += SORTED_AT_ONCE) {
    runs.push(elements.slice(from, from + SORTED_AT_ONCE).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const merged: Element[][] = [];
    for (let i = 0; i < runs.length; i += 2)
      merged.push(i + 1 === runs.length ? runs[i] : yield* mergedInSteps(runs[i], runs[i + 1], compare));
    runs = merged;
  }
  return runs[0];
}

function* mergedInSteps<Element>(
  left: readonly Element[],
  right: readonly Element[],
  compare: (a: Element, b: Element) => number,
): Generator<undefined, Element[]> {
  const merged: Element[] = [];
  for (let i = 0, j = 0; i < left.length || j < right.length;) {
    const isLeft = j === right.length || (i < left.length && compare(left[i], right[j]) <= 0);
    merged.push(isLeft ? left[i++] : right[j++]);
    if (merged.length % SORTED_AT_ONCE === 0) yield;
  }
  return merged;
}

/** The first index from which on a test holds; `length` if nowhere. */
export function firstWhere(length: number, test: (index: number) => boolean): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (test(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
