import type { Metadata } from '../api/shapes';
import { valueText } from '../parts/format';

export interface LegendEntry {
  label: string;
  /** As #rrggbb. */
  colour: string;
  count: number;
}

/** Which colour each point has, by a metadata field. */
export interface Colouring {
  kind: 'one' | 'values' | 'range';
  /** For values: what each colour stands for, the most frequent first. For a range: its ends. */
  legend: LegendEntry[];
  /** For each point, the entry it belongs to; for a range 0 to 255 from one end to the other, 256 without a number. */
  groups: Uint16Array;
  /** Colours by group. */
  palette: string[];
}

/** Ten that are told apart on light and dark ground, and by most who see colours differently. */
const COLOURS = [
  '#4c6ef5',
  '#f08c00',
  '#12a277',
  '#e0447c',
  '#8f5bd8',
  '#1aa7c4',
  '#b8860b',
  '#d9480f',
  '#5c940d',
  '#a05a7f',
];
const OTHER = '#8d96a5';
/** Dark to bright, alike on both grounds (stops of viridis, lightened at its ends). */
const RANGE = ['#5b3a8c', '#3f6fa5', '#2a9d8f', '#7cc35a', '#f3c623'];
const RANGE_STEPS = 256;
const NO_NUMBER = 256;

export function colouringBy(items: { metadata: Metadata }[], field: string | null): Colouring {
  if (field === null)
    return { kind: 'one', legend: [], groups: new Uint16Array(items.length), palette: [COLOURS[0] as string] };
  const values = items.map(({ metadata }) => metadata[field]);
  const numbers = values.filter((value): value is number => typeof value === 'number');
  const isRange = numbers.length > values.length / 2 && new Set(numbers).size > COLOURS.length;
  return isRange ? byRange(values, numbers) : byValues(values);
}

function byValues(values: unknown[]): Colouring {
  const counts = new Map<string, number>();
  const labels = values.map((value) => (value === undefined ? '' : valueText(value)));
  for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
  const ranked = [...counts].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  const shown = ranked.slice(0, ranked.length > COLOURS.length ? COLOURS.length - 1 : COLOURS.length);
  const legend = shown.map(([label, count], i) => ({
    label: label === '' ? '(none)' : label,
    count,
    colour: COLOURS[i] as string,
  }));
  const rest = ranked.slice(shown.length);
  if (rest.length > 0)
    legend.push({
      label: `${rest.length} others`,
      count: rest.reduce((sum, [, count]) => sum + count, 0),
      colour: OTHER,
    });
  const groupOf = new Map(shown.map(([label], i) => [label, i]));
  return {
    kind: 'values',
    legend,
    groups: Uint16Array.from(labels, (label) => groupOf.get(label) ?? shown.length),
    palette: legend.map(({ colour }) => colour),
  };
}

function byRange(values: unknown[], numbers: number[]): Colouring {
  let [least, most] = [Infinity, -Infinity];
  for (const value of numbers) [least, most] = [Math.min(least, value), Math.max(most, value)];
  const span = most - least || 1;
  const groups = Uint16Array.from(values, (value) =>
    typeof value === 'number'
      ? Math.min(RANGE_STEPS - 1, Math.floor(((value - least) / span) * RANGE_STEPS))
      : NO_NUMBER,
  );
  const palette = [...Array.from({ length: RANGE_STEPS }, (_, i) => between(i / (RANGE_STEPS - 1))), OTHER];
  const legend = [
    { label: String(least), colour: RANGE[0] as string, count: 0 },
    { label: String(most), colour: RANGE.at(-1) as string, count: 0 },
  ];
  return { kind: 'range', legend, groups, palette };
}

/** The colours of the range for a gradient, from least to most. */
export const RANGE_STOPS: readonly string[] = RANGE;

function between(share: number): string {
  const at = share * (RANGE.length - 1);
  const low = Math.min(RANGE.length - 2, Math.floor(at));
  const [a, b] = [rgb(RANGE[low] as string), rgb(RANGE[low + 1] as string)];
  return `#${a
    .map((value, i) =>
      Math.round(value + ((b[i] as number) - value) * (at - low))
        .toString(16)
        .padStart(2, '0'),
    )
    .join('')}`;
}

/** Red, green and blue of #rrggbb, 0 to 255. */
export function rgb(colour: string): [number, number, number] {
  const value = Number.parseInt(colour.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}
