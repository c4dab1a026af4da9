import { inSlices } from '../../../shared/base/time/work-slices';
import { type Chunk, type ChunkOptions, TextChunker } from './chunk';

/** How long texts are for the model, and what it reads of one; null: no chunk is too long for it. */
export type MeasureTexts = (texts: string[]) => Promise<{ lengths: number[]; most: number } | null>;

/** What cuts a text, one chunk after another. */
export interface Cutter<Position> {
  /** Where the next chunk is looked for. */
  readonly place: Position;
  /** Goes back, to cut the text behind again. */
  goBack(place: Position): void;
  /** The next chunk, of `size` units at most; null: there is none, or later text could change it. */
  next(size?: number): Chunk | null;
}

/**
 * Chunks that are cut in advance and measured together, as long as none was too long: a call for each would take
 * longer.
 */
const AHEAD_MAX = 64;
/**
 * A chunk that is too long is cut a little shorter than in proportion, because what a model puts around a text takes
 * its part.
 */
const SHORTENED = 0.97;
/** No chunk becomes shorter than this: a text whose characters take so many tokens is none. */
const SIZE_MIN = 8;

/**
 * The chunks of a text that arrives in parts, none longer than its model reads (as far as it can be cut). Where the
 * parts begin changes nothing: each chunk is first cut as long as the options have it, and if it is too long cut again
 * from the same place.
 */
export async function* fittedChunks(
  text: AsyncIterable<string>,
  options: ChunkOptions,
  measure: MeasureTexts,
): AsyncGenerator<Chunk> {
  const chunker = new TextChunker(options);
  const fitting = new FittedChunks(chunker, measure);
  for await (const part of text) {
    chunker.add(part);
    yield* fitting.chunks();
    chunker.forget();
  }
  chunker.finish();
  yield* fitting.chunks();
}

interface Candidate<Position> {
  chunk: Chunk;
  /** Where the cutter was before it. */
  before: Position;
}

/** The chunks of a cutter, none longer than what is measured may be. */
export class FittedChunks<Position> {
  private ahead = 1;

  constructor(
    private readonly cutter: Cutter<Position>,
    private readonly measure: MeasureTexts,
  ) {}

  /** Those that later text can't change. */
  async *chunks(): AsyncGenerator<Chunk> {
    for (;;) {
      const candidates = await inSlices(this.candidates());
      if (candidates.length === 0) return;
      const measured = await this.measure(candidates.map(({ chunk }) => chunk.text));
      const long = measured === null ? -1 : measured.lengths.findIndex((length) => length > measured.most);
      for (const { chunk } of long < 0 ? candidates : candidates.slice(0, long)) yield chunk;
      if (measured === null || long < 0) {
        this.ahead = Math.min(2 * this.ahead, AHEAD_MAX);
        continue;
      }
      this.ahead = 1;
      yield await this.shortened(candidates[long], measured.lengths[long], measured.most);
    }
  }

  /** In a text that is hard to cut, each takes up to a millisecond. */
  private *candidates(): Generator<undefined, Candidate<Position>[]> {
    const candidates: Candidate<Position>[] = [];
    while (candidates.length < this.ahead) {
      const before = this.cutter.place;
      const chunk = this.cutter.next();
      if (chunk === null) break;
      candidates.push({ chunk, before });
      yield;
    }
    return candidates;
  }

  private async shortened({ chunk, before }: Candidate<Position>, length: number, most: number): Promise<Chunk> {
    let shorter = chunk;
    let measured = length;
    while (measured > most && shorter.text.length > SIZE_MIN) {
      const size = Math.max(
        SIZE_MIN,
        Math.min(Math.floor((shorter.text.length * most * SHORTENED) / measured), shorter.text.length - 1),
      );
      this.cutter.goBack(before);
      shorter = this.cutter.next(size)!;
      const again = await this.measure([shorter.text]);
      if (again === null) break;
      [measured] = again.lengths;
    }
    return shorter;
  }
}
