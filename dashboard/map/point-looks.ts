import { type Colouring, rgb } from './colouring';
import type { PointLooks } from './painter';

/** What lifts some points above the others. */
export interface Marks {
  /** Entries of the legend that are shown; null: all. */
  shownGroups: ReadonlySet<number> | null;
  /** Hits of a search, and neighbours of the point that was clicked. */
  lit: ReadonlySet<number>;
  /** Inside the lasso. */
  chosen: ReadonlySet<number>;
  /** The one that was clicked; −1 for none. */
  focus: number;
}

const OPACITY = 200;
const OPACITY_BESIDE = 38;
const OPACITY_MARKED = 255;
const SIZE_MARKED = 1.5;
const SIZE_FOCUS = 2.2;

export function looksOf(colouring: Colouring, marks: Marks): PointLooks {
  const { groups, palette, kind } = colouring;
  const { shownGroups, lit, chosen, focus } = marks;
  const tints = palette.map(rgb);
  const hasMarks = lit.size > 0 || chosen.size > 0 || focus >= 0;
  const colours = new Uint8Array(groups.length * 4);
  const sizes = new Float32Array(groups.length);
  const above: number[] = [];
  for (let i = 0; i < groups.length; i++) {
    const group = groups[i] as number;
    const [red, green, blue] = tints[group] as [number, number, number];
    const isMarked = lit.has(i) || chosen.has(i) || i === focus;
    const isBeside = (hasMarks && !isMarked) || (kind === 'values' && shownGroups !== null && !shownGroups.has(group));
    colours.set([red, green, blue, isMarked ? OPACITY_MARKED : isBeside ? OPACITY_BESIDE : OPACITY], i * 4);
    sizes[i] = i === focus ? SIZE_FOCUS : isMarked && chosen.size < 2000 ? SIZE_MARKED : 1;
    if (isMarked) above.push(i);
  }
  return { colours, sizes, above: Uint32Array.from(above) };
}
