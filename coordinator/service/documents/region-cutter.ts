import { type Chunk, type ChunkOptions, type ChunkerPosition, TextChunker } from './chunk';
import type { Cutter } from './fitted-chunks';
import { FixedChunker } from './fixed-chunker';
import type { TextRegion } from './regions';

/** Where a RegionCutter is. */
export interface RegionPosition {
  region: number;
  inner: ChunkerPosition | null;
}

/** Cuts each region of a text by itself. */
export class RegionCutter implements Cutter<RegionPosition> {
  private region = 0;
  private chunker: Cutter<ChunkerPosition> | null = null;

  constructor(
    private readonly text: string,
    readonly regions: readonly TextRegion[],
    private readonly options: ChunkOptions & { isFixed: boolean },
  ) {}

  get place(): RegionPosition {
    return { region: this.region, inner: this.chunker?.place ?? null };
  }

  goBack({ region, inner }: RegionPosition): void {
    if (region !== this.region) this.chunker = null;
    this.region = region;
    if (inner === null) this.chunker = null;
    else this.opened().goBack(inner);
  }

  next(size?: number): Chunk | null {
    for (; this.region < this.regions.length; this.region++, this.chunker = null) {
      const chunk = this.opened().next(size);
      if (chunk === null) continue;
      const { start } = this.regions[this.region];
      return { start: start + chunk.start, end: start + chunk.end, text: chunk.text };
    }
    return null;
  }

  private opened(): Cutter<ChunkerPosition> {
    return (this.chunker ??= this.open());
  }

  private open(): Cutter<ChunkerPosition> {
    const { start, end } = this.regions[this.region];
    const text = this.text.slice(start, end);
    if (this.options.isFixed) return new FixedChunker(text, this.options);
    const chunker = new TextChunker(this.options);
    chunker.add(text);
    chunker.finish();
    return chunker;
  }
}
