/** Finding what somebody meant to write. Pure; bounded work whatever is given. */

/** More typing errors than these make another word. */
const EDITS_MAX = 3;
/** Letters of candidates that are compared one by one: some milliseconds, whatever they are. */
const COMPARED_LETTERS_MAX = 50_000;
/** Longer names are only compared as a whole. */
const COMPARED_CHARACTERS_MAX = 255;

/** A name without what spelling conventions differ in: `externalId`, `external-id` and `EXTERNAL_ID` are one. */
export function bareName(name: string): string {
  return name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');
}

/** Edits that a name of this length may be away: one in three letters, and none in the shortest. */
function editsAllowed(length: number): number {
  return length < 3 ? 0 : Math.min(EDITS_MAX, Math.max(1, Math.floor(length / 3)));
}

/** The candidate that `given` most likely stands for, or null. It is never `given` itself. */
export function nearestName(given: string, candidates: Iterable<string>): string | null {
  const wanted = bareName(given);
  if (wanted === '') return null;
  let nearest: string | null = null;
  let fewest = editsAllowed(wanted.length) + 1;
  let compared = 0;
  for (const candidate of candidates) {
    if (candidate === given) continue;
    const other = bareName(candidate);
    if (other === wanted) return candidate;
    if (
      Math.abs(other.length - wanted.length) >= fewest ||
      other.length > COMPARED_CHARACTERS_MAX ||
      compared >= COMPARED_LETTERS_MAX
    )
      continue;
    compared += other.length;
    const edits = editsBetween(wanted, other, fewest - 1);
    if (edits >= fewest) continue;
    nearest = candidate;
    fewest = edits;
  }
  return nearest;
}

/**
 * Letters to insert, drop, replace or swap with their neighbour to make `b` of `a` (optimal string alignment); more
 * than `most` if it takes more. Only the band of the matrix that can stay within `most` is computed.
 */
export function editsBetween(a: string, b: string, most: number): number {
  const beyond = most + 1;
  if (Math.abs(a.length - b.length) > most) return beyond;
  // One more than there are letters: what lies beside the band counts as beyond.
  let before: number[] = new Array<number>(b.length + 2).fill(beyond);
  let previous = Array.from({ length: b.length + 2 }, (_, j) => (j <= most && j <= b.length ? j : beyond));
  let row = [...before];
  for (let i = 1; i <= a.length; i++) {
    const from = Math.max(1, i - most);
    const to = Math.min(b.length, i + most);
    row[from - 1] = i <= most ? i : beyond;
    let fewest = row[from - 1];
    for (let j = from; j <= to; j++) {
      const isSame = a[i - 1] === b[j - 1];
      let edits = Math.min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (isSame ? 0 : 1), beyond);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) edits = Math.min(edits, before[j - 2] + 1);
      row[j] = edits;
      fewest = Math.min(fewest, edits);
    }
    row[to + 1] = beyond;
    if (fewest > most) return beyond;
    [before, previous, row] = [previous, row, before];
  }
  return previous[b.length];
}
