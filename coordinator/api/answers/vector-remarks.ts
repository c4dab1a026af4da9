import type { CutText, OfTexts } from '../../models/cut-text';
import type { RequestWarnings } from '../requests/request-warnings';

/** Texts that one warning names. */
const NAMED_MAX = 10;

/**
 * Tells of texts that are longer than their model reads. `placeOf`: where the text of an index, or what it is in,
 * stands in the request; absent: there is one of them.
 */
export function warnOfCutTexts(
  { cut = [] }: OfTexts,
  warnings: RequestWarnings,
  placeOf?: (index: number) => string,
): void {
  if (cut.length === 0) return;
  const [{ read, unit }] = cut;
  const bound = `longer than the ${read} ${unit} that the model reads`;
  if (placeOf === undefined && cut.every(({ place }) => place === undefined))
    return warnings.warn(`the text is ${bound}: ${leftOf(cut[0])} at its end have no part in its vector`);
  const named = cut.slice(0, NAMED_MAX).map((one) => {
    const places = [placeOf?.(one.index), one.place].filter((place) => place !== undefined);
    return `${places.join('.')} (${leftOf(one)})`;
  });
  const more = cut.length > NAMED_MAX ? `, and ${cut.length - NAMED_MAX} more` : '';
  warnings.warn(
    `${cut.length === 1 ? 'one text is' : `${cut.length} texts are`} ${bound}; what is left out at their ends has no part in their vectors: ${named.join(', ')}${more}`,
  );
}

/** Tells of vectors that have no direction. `placeOf`: as of {@link warnOfCutTexts}. */
export function warnOfZeroVectors(
  zeros: readonly number[] | undefined,
  warnings: RequestWarnings,
  placeOf?: (index: number) => string,
): void {
  if (zeros === undefined || zeros.length === 0) return;
  const meaning = 'zero, and has no direction to compare: under cosine, it scores 0 in every search';
  if (placeOf === undefined) return warnings.warn(`the vector is ${meaning}`);
  const more = zeros.length > NAMED_MAX ? ` and ${zeros.length - NAMED_MAX} more` : '';
  warnings.warn(`the vector of ${zeros.slice(0, NAMED_MAX).map(placeOf).join(', ')}${more} is ${meaning}`);
}

function leftOf({ left, unit, isMore }: CutText): string {
  return `${isMore ? 'more than ' : ''}${left} ${left === 1 ? unit.slice(0, -1) : unit}`;
}
