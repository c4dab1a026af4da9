/**
 * The order of every answer: score falling, then external_id rising by UTF-16 code units.
 * Negative when `a` comes first.
 */
export function compareHits(a: { externalId: string; score: number }, b: { externalId: string; score: number }): number {
  // Not a subtraction: two infinite dot products are equal.
  if (a.score !== b.score) return a.score > b.score ? -1 : 1;
  if (a.externalId === b.externalId) return 0;
  return a.externalId < b.externalId ? -1 : 1;
}
