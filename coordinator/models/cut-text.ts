/** A text that is longer than its model reads: what is behind has no part in its vector. */
export interface CutText {
  /** Its index among the texts, items or queries that were given. */
  index: number;
  /** Where it stands in the request of that index; absent: it is what the request is of. */
  place?: string | undefined;
  /** What the model reads of a text, and what was left out of this one. */
  read: number;
  left: number;
  unit: 'tokens' | 'characters';
  /** Whether more was left out than was counted. */
  isMore: boolean;
}

/** Of what is made of texts. */
export interface OfTexts {
  /** Those that were cut; absent: none. */
  cut?: readonly CutText[];
}
