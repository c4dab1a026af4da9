import type { Hit } from '../api/shapes';

/** Share of the exact hits that a search found. Hits of equal score count as found, whichever of them is there. */
export function recallOf(found: Hit[], exact: Hit[]): number {
  if (exact.length === 0) return 1;
  const worst = Math.min(...exact.map(({ score }) => score));
  const right = found.filter(({ score }) => score >= worst - 1e-6 * Math.max(1, Math.abs(worst))).length;
  return Math.min(1, right / exact.length);
}
