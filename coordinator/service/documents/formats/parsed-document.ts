/** What a document is once it has been read: what every format gives, and what is cut into chunks. */

/** The formats that are read, by the ending that names them. */
export const DOCUMENT_TYPES = ['txt', 'md', 'html', 'pdf', 'docx', 'csv', 'jsonl'] as const;
export type DocumentType = (typeof DOCUMENT_TYPES)[number];

/** A heading within the text. */
export interface DocumentHeading {
  /** From 1, the highest; a level may be missing between two. */
  level: number;
  /** In one line, without markup. */
  title: string;
  /** Where its line begins in the text. */
  start: number;
}

/** A row of a table, or a line of JSON lines. Rows don't overlap and are in order. */
export interface DocumentRow {
  start: number;
  end: number;
  /** Its fields, to be metadata of each of its chunks. */
  fields: Record<string, unknown>;
}

/** Positions are UTF-16 code units of `text`. */
export interface ParsedDocument {
  type: DocumentType;
  /** Lines end with a line feed; no byte order mark, well-formed. */
  text: string;
  /** What the document calls itself; undefined: it does not say. */
  title?: string;
  /** Where each page begins; empty for a format without pages. */
  pages: number[];
  headings: DocumentHeading[];
  /** Only of a format of rows: chunks never reach over two of them. */
  rows?: DocumentRow[];
}

/** A file to read. */
export interface DocumentSource {
  /** Where its bytes are. A path is read by the parsers' process itself. */
  content: { path: string } | { bytes: Uint8Array };
  /** The file's name, by whose ending texts are told apart; '' if there is none. */
  name: string;
  /** Default: by content and name. */
  type?: DocumentType;
}

/** How a document is cut. */
export interface Chunking {
  /**
   * `sentences`: ends at a paragraph, else a sentence, a line, a word; `headings`: the same within each section;
   * `fixed`: each chunk as long as `size`, wherever that is.
   */
  strategy: 'sentences' | 'headings' | 'fixed';
  /** Longest chunk in `unit`s. */
  size: number;
  /** About how much of its end a chunk shares with the next one; more than half of `size` counts as half. */
  overlap: number;
  /** UTF-16 code units, or tokens of the collection's model. */
  unit: 'characters' | 'tokens';
}

/** A part of a document: `text` is the document's from `start` up to `end`. */
export interface DocumentChunk {
  text: string;
  start: number;
  end: number;
  /** The page that it begins on, from 1; undefined: the document has no pages. */
  page?: number;
  /** The headings that it stands under, from the highest: `["2 Install", "2.1 Linux"]`. */
  headings: string[];
  /** The number of its row in `rows`. */
  row?: number;
}
