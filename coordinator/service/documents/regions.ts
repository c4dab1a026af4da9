import type { Chunking, ParsedDocument } from './formats/parsed-document';

/** A part of a text over whose ends no chunk reaches. */
export interface TextRegion {
  start: number;
  end: number;
}

/**
 * The rows of a document, where it has any; its sections, where it is cut by headings; else all of it. A heading with
 * nothing under it goes with the next section.
 */
export function regionsOf({ text, rows, headings }: ParsedDocument, strategy: Chunking['strategy']): TextRegion[] {
  if (rows !== undefined) return rows;
  const starts = strategy === 'headings' ? headings.map(({ start }) => start) : [];
  const regions: TextRegion[] = [];
  let start = 0;
  for (const [i, end] of [...starts, text.length].entries()) {
    // What the last heading before it has under it, and the heading's own line.
    const section = text.slice(starts[i - 1] ?? 0, end).trim();
    const isHeadingAlone = i > 0 && i < starts.length && !section.includes('\n');
    if (end <= start || isHeadingAlone || section === '') continue;
    regions.push({ start, end });
    start = end;
  }
  return regions;
}
