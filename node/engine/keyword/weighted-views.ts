import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { TermSource } from './term-slots';
import { type IndexedFields, WeightedTerms } from './weighted-terms';

/** So many choices of weights are remembered that nobody is searching by. */
const VIEWS_MAX = 4;
/** Of all of them together. */
const BYTES_MAX = 64 * 1024 * 1024;

/** The weights that an index was lately searched by, other than its own. */
export class WeightedViews {
  /** The one that was used last is the last. */
  private readonly views = new Map<string, WeightedTerms>();

  constructor(
    private readonly index: IndexedFields,
    private readonly changes: Pick<TermSource, 'numbering' | 'revision'>,
    private readonly bytesMax = BYTES_MAX,
  ) {}

  /** Searches for terms by these weights, one for each field. */
  *search<Found>(
    asked: readonly number[],
    terms: readonly string[],
    run: (source: TermSource) => Generator<undefined, Found>,
  ): Generator<undefined, Found> {
    for (;;) {
      const view = this.view(asked);
      view.users += 1;
      try {
        yield* view.prepare(terms);
        if (view.isDropped) continue;
        const found = yield* run(view.source);
        if (!view.isDropped) return found;
      } finally {
        view.users -= 1;
        this.trim();
      }
    }
  }

  /** Each that there is. */
  forEach(tell: (view: WeightedTerms) => void): void {
    for (const view of this.views.values()) tell(view);
  }

  drop(): void {
    for (const view of this.views.values()) view.isDropped = true;
    this.views.clear();
  }

  get memoryBytes(): number {
    let bytes = 0;
    for (const view of this.views.values()) bytes += view.memoryBytes;
    return bytes;
  }

  private view(asked: readonly number[]): WeightedTerms {
    const key = asked.join();
    const view = this.views.get(key) ?? new WeightedTerms(this.index, asked, this.changes);
    this.views.delete(key);
    this.views.set(key, view);
    return view;
  }

  /** Those that were not used the longest go first; of the last one, its lists. */
  private trim(): void {
    for (const [key, view] of this.views) {
      const excess = this.memoryBytes - this.bytesMax;
      if (this.views.size <= VIEWS_MAX && excess <= 0) return;
      if (view.users > 0) continue;
      const isLast = view === [...this.views.values()].at(-1);
      if (isLast && this.views.size <= VIEWS_MAX) view.shrink(Math.max(0, view.memoryBytes - excess));
      if (isLast && this.memoryBytes <= this.bytesMax) return;
      view.isDropped = true;
      this.views.delete(key);
    }
  }
}

/** Errors: invalid_parameter for weights that are not one for each field. */
export function mustBeOfFields(asked: readonly number[], own: readonly number[] = []): void {
  if (asked.length !== own.length)
    throw new QuiverError('invalid_parameter', `${asked.length} weights for ${own.length} keyword fields`);
}
