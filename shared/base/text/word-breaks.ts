/** Cut at once: the time that ICU takes for much longer ones grows with the square of the length. */
const BLOCK_UNITS = 512;
/** Of a block, the last words may be cut otherwise with what follows. */
const BLOCK_REST = 32;

/** Made with the first run: most processes need none. */
let segmenter: Intl.Segmenter | undefined;

/**
 * The words of a run of characters without spaces, as the places behind them: by the dictionaries of the ICU that this
 * Node has (Chinese and Japanese in one, Thai, Lao, Khmer, Burmese), so another version may cut otherwise. It takes
 * about two microseconds a character, whatever the length. Blocks after which the caller may take a break.
 */
export function* wordEnds(run: string): Generator<number[]> {
  segmenter ??= new Intl.Segmenter('zh', { granularity: 'word' });
  for (let from = 0; from < run.length;) {
    const block = run.slice(from, blockEnd(run, from));
    const isLast = from + block.length === run.length;
    const ends: number[] = [];
    for (const { index, segment } of segmenter.segment(block)) {
      const end = index + segment.length;
      if (!isLast && end > block.length - BLOCK_REST && ends.length > 0) break;
      ends.push(from + end);
    }
    yield ends;
    from = ends[ends.length - 1];
  }
}

/** The end of a block, which is not within a character. */
function blockEnd(run: string, from: number): number {
  const end = Math.min(run.length, from + BLOCK_UNITS);
  return end < run.length && (run.codePointAt(end - 1) as number) > 0xffff ? end - 1 : end;
}
