import { QuiverError } from '../../../shared/base/errors/quiver-error';
import { skipBlank } from './blank';
import type { Chunk } from './chunk';
import { FittedChunks, type MeasureTexts } from './fitted-chunks';
import type { Chunking, DocumentChunk, DocumentHeading, ParsedDocument } from './formats/parsed-document';
import { RegionCutter } from './region-cutter';
import { type TextRegion, regionsOf } from './regions';

/** So much of a text at its begin and in its middle shows how long its tokens are. */
const SAMPLE_LENGTH = 2_000;
/** Chunks are cut somewhat shorter than so many tokens would be, because most would else be cut twice. */
const TOKENS_SHARE = 0.9;
const SIZE_MIN = 16;

/**
 * Cuts a document. The same document and options (and model) give the same chunks. `measure`: how long texts are for
 * the collection's model; none becomes longer than what it reads, as far as it can be cut. Errors: invalid_parameter
 * where tokens are asked for without it; those of `measure`.
 */
export async function* cutDocument(
  document: ParsedDocument,
  chunking: Chunking,
  measure: MeasureTexts = async () => null,
): AsyncGenerator<DocumentChunk> {
  const { strategy } = chunking;
  const { size, overlap, fitting } = await inCharacters(document.text, chunking, measure);
  const cutter = new RegionCutter(document.text, regionsOf(document, strategy), {
    size,
    overlap,
    isFixed: strategy === 'fixed',
  });
  const places = new ChunkPlaces(document, cutter.regions);
  for await (const chunk of new FittedChunks(cutter, fitting).chunks()) yield places.placed(chunk);
}

/** The options in characters, and what no chunk may be longer than. */
async function inCharacters(
  text: string,
  { size, overlap, unit }: Chunking,
  measure: MeasureTexts,
): Promise<{ size: number; overlap: number; fitting: MeasureTexts }> {
  if (unit === 'characters') return { size, overlap, fitting: measure };
  const middle = Math.floor(text.length / 2);
  const samples = [text.slice(0, SAMPLE_LENGTH), text.slice(middle, middle + SAMPLE_LENGTH)];
  const measured = await measure(samples);
  if (measured === null)
    throw new QuiverError('invalid_parameter', 'the collection has no model that counts tokens; cut by characters');
  const tokens = measured.lengths.reduce((sum, length) => sum + length, 0);
  const each = samples.reduce((sum, sample) => sum + sample.length, 0) / Math.max(tokens, 1);
  return {
    size: Math.max(SIZE_MIN, Math.floor(size * each * TOKENS_SHARE)),
    overlap: Math.round(overlap * each),
    fitting: async (texts) => {
      const found = await measure(texts);
      return found === null ? null : { ...found, most: Math.min(found.most, size) };
    },
  };
}

/** Says of chunks, which come in order, under which headings they stand, on which page, and in which row. */
class ChunkPlaces {
  private nextHeading = 0;
  private readonly open: DocumentHeading[] = [];
  private page = 0;
  private region = 0;

  constructor(
    private readonly document: ParsedDocument,
    private readonly regions: readonly TextRegion[],
  ) {}

  placed({ text, start, end }: Chunk): DocumentChunk {
    const { text: whole, headings, pages, rows } = this.document;
    // A chunk that begins with headings stands under all of these.
    let to = start;
    for (; this.nextHeading < headings.length && headings[this.nextHeading].start <= to; this.nextHeading++) {
      const heading = headings[this.nextHeading];
      while ((this.open.at(-1)?.level ?? 0) >= heading.level) this.open.pop();
      this.open.push(heading);
      const lineEnd = whole.indexOf('\n', heading.start);
      if (heading.start >= start && lineEnd >= 0) to = skipBlank(whole, lineEnd);
    }
    while (this.page < pages.length && pages[this.page] <= start) this.page++;
    while (this.regions[this.region].end <= start) this.region++;
    return {
      text,
      start,
      end,
      ...(pages.length > 0 && { page: Math.max(this.page, 1) }),
      headings: this.open.map(({ title }) => title),
      ...(rows !== undefined && { row: this.region }),
    };
  }
}
