/** A text that keyword search looks in, and how much its words count. */
export interface KeywordField {
  /** A path of the metadata, with all strings under it; TEXT_FIELD: the item's text. */
  path: string;
  /** Each word counts as if it stood there so often: a whole number from 1 to KEYWORD_WEIGHT_MAX. */
  weight: number;
}

/** All that keyword search looks in; no two of one path. Absent: the item's text and all strings of its metadata. */
export type KeywordFields = readonly KeywordField[];

/** The path that means an item's text. */
export const TEXT_FIELD = 'text';
export const KEYWORD_FIELDS_MAX = 20;
/** Times what a text may hold it must stay below 2³², as a document's length does. */
export const KEYWORD_WEIGHT_MAX = 20;
