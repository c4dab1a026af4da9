import { skipBlank, skipBlankBackward } from './blank';
import type { Chunk, ChunkerPosition, ChunkOptions } from './chunk';
import { lastCharacterBoundary } from './text-boundaries';

/** How much of a text decides where a character ends. */
const LOOK_AROUND = 64;

/**
 * Cuts a text into chunks of one length, wherever sentences and words end, but not inside a character. Each begins
 * `overlap` units before the end of the one before; more than half of the size counts as half. None is blank.
 */
export class FixedChunker {
  private previous: { start: number; end: number } | null = null;
  private rest = 0;

  constructor(
    private readonly text: string,
    private readonly options: ChunkOptions,
  ) {}

  get place(): ChunkerPosition {
    return { previous: this.previous, rest: this.rest };
  }

  goBack({ previous, rest }: ChunkerPosition): void {
    this.previous = previous;
    this.rest = rest;
  }

  next(size = this.options.size): Chunk | null {
    const { text, previous } = this;
    if (skipBlank(text, this.rest) === text.length) return null;
    const overlap = Math.min(this.options.overlap, Math.floor(size / 2));
    const shared = previous === null ? this.rest : this.rest - overlap;
    // A character that is longer than what is shared is not shared.
    const from = skipBlank(text, previous !== null && shared > previous.start ? this.boundary(shared) : this.rest);
    const end = this.endFrom(from, size);
    if (end <= this.rest) {
      // What is shared filled it.
      this.previous = null;
      return this.next(size);
    }
    this.previous = { start: from, end };
    this.rest = end;
    const last = skipBlankBackward(text, end);
    return { start: from, end: last, text: text.slice(from, last) };
  }

  private endFrom(from: number, size: number): number {
    if (this.text.length - from <= size) return this.text.length;
    const end = this.boundary(from + size);
    return end > from ? end : from + size;
  }

  /** The last end of a character at or before `at`. */
  private boundary(at: number): number {
    const base = Math.max(0, at - LOOK_AROUND);
    return base + lastCharacterBoundary(this.text.slice(base, at + LOOK_AROUND), at - base);
  }
}
