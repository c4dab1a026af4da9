import type { Outcome } from './expectations';

/** One cell of the matrix, after it was tried. */
export interface Cell {
  place: string;
  kind: string;
  fault: string;
  form: string;
  moment: string;
  expected: readonly Outcome[];
  /** An outcome, or what was wrong in a sentence. */
  seen: string;
}

export function isRight({ expected, seen }: Cell): boolean {
  return (expected as readonly string[]).includes(seen);
}

export function lineOf(cell: Cell): string {
  const { place, kind, fault, form, moment, expected, seen } = cell;
  return [place, kind, fault, form, moment, expected.join(' or '), seen, isRight(cell) ? 'ok' : 'MISMATCH'].join(' | ');
}
