import type { AnalyserName, Language } from '../../base/text/language';

/** A text that keyword search looks in, and how much its words count. */
export interface KeywordField {
  /** A path of the metadata, with all strings under it; TEXT_FIELD: the item's text. */
  path: string;
  /** Each word counts as if it stood there so often: a whole number from 1 to KEYWORD_WEIGHT_MAX. */
  weight: number;
  /** What cuts it into terms, which are those of no other analyser. Absent: the language of the collection. */
  analyser?: AnalyserName;
}

/** All that keyword search looks in; no two of one path. Absent: the item's text and all strings of its metadata. */
export type KeywordFields = readonly KeywordField[];

/** The path that means an item's text. */
export const TEXT_FIELD = 'text';
/** The innermost field that a path of the metadata lies in; undefined: in none. */
export function fieldOfPath(fields: KeywordFields | undefined, path: string): KeywordField | undefined {
  let found: KeywordField | undefined;
  for (const field of fields ?? []) {
    if (field.path === TEXT_FIELD || (path !== field.path && !path.startsWith(`${field.path}.`))) continue;
    if (found === undefined || field.path.length > found.path.length) found = field;
  }
  return found;
}

/** The fields without the analysers that are the collection's. */
export function ownAnalysers(fields: KeywordFields, language: Language | null): KeywordFields {
  return fields.map(({ analyser, ...field }) =>
    analyser === undefined || analyser === (language ?? 'unicode') ? field : { ...field, analyser },
  );
}

/** Such as title:3, text:1:de, for people. */
export function shownFields(fields: KeywordFields, separator: string): string {
  return fields
    .map(({ path, weight, analyser }) => `${path}:${weight}${analyser === undefined ? '' : `:${analyser}`}`)
    .join(separator);
}

/** Whether fields have analysers of their own. */
export function haveAnalysers(fields: KeywordFields | null | undefined): boolean {
  return fields?.some(({ analyser }) => analyser !== undefined) === true;
}

export const KEYWORD_FIELDS_MAX = 20;
/** Times what a text may hold it must stay below 2³², as a document's length does. */
export const KEYWORD_WEIGHT_MAX = 20;
