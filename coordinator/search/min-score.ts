/**
 * The hits that score `minScore` or more; all when it is undefined. Hits come best first, so leaving these out of a page
 * is the same as leaving them out of the list before it is cut into pages.
 */
export function atLeast<H extends { score: number }>(hits: H[], minScore: number | undefined): H[] {
  if (minScore === undefined) return hits;
  const end = hits.findIndex((hit) => !(hit.score >= minScore));
  return end < 0 ? hits : hits.slice(0, end);
}
