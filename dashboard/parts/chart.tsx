import { useEffect, useRef } from 'preact/hooks';
import UPlot from 'uplot';
import { isDark } from '../state/theme';

export interface Line {
  label: string;
  /** A custom property of the page, `--accent`. */
  colour: string;
  values: (number | null)[];
}

interface ChartProps {
  title: string;
  /** In seconds since 1970, rising. */
  times: number[];
  lines: Line[];
  format: (value: number) => string;
  /** How much of the past is shown. */
  spanSeconds: number;
}

const HEIGHT = 132;

/** A small live chart of lines over time. What it shows is also said in words, for those who do not see it. */
export function Chart({ title, times, lines, format, spanSeconds }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | null>(null);
  const dark = isDark.value;
  const labels = lines.map(({ label }) => label).join();

  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string): string => resolved(element, style.getPropertyValue(name));
    const axis = {
      stroke: colour('--text-3'),
      grid: { stroke: colour('--line'), width: 1 },
      ticks: { show: false },
      font: '11px Inter, sans-serif',
    };
    const options: UPlot.Options = {
      width: element.clientWidth || 300,
      height: HEIGHT,
      legend: { show: false },
      cursor: { show: false },
      // Half of the last time is beside the end.
      padding: [8, 26, 0, 0],
      axes: [
        {
          ...axis,
          grid: { show: false },
          size: 22,
          space: 80,
          values: (_plot, splits) => splits.map((second) => new Date(second * 1000).toLocaleTimeString('en-GB')),
        },
        { ...axis, size: 56, space: 32, values: (_plot, splits) => splits.map(format) },
      ],
      scales: {
        // By the last value, because the range of a single one would reach far beyond it; without any, now will do.
        x: {
          time: false,
          range: (plotted) => {
            const end = plotted.data[0].at(-1) ?? Date.now() / 1000;
            return [end - spanSeconds, end];
          },
        },
        y: { range: (_plot, _min, max) => [0, Math.max(max * 1.15, 1)] },
      },
      series: [
        {},
        ...lines.map(({ label, colour: name }) => ({
          label,
          stroke: colour(name),
          width: 1.75,
          points: { show: false },
        })),
      ],
    };
    plot.current = new UPlot(options, [times, ...lines.map(({ values }) => values)], element);
    const resize = new ResizeObserver(() =>
      plot.current?.setSize({ width: element.clientWidth || 300, height: HEIGHT }),
    );
    resize.observe(element);
    return () => {
      resize.disconnect();
      plot.current?.destroy();
    };
  }, [dark, labels]);

  useEffect(() => plot.current?.setData([times, ...lines.map(({ values }) => values)]), [times, lines]);

  const last = lines.map(({ label, values }) => `${label} ${lastOf(values, format)}`).join(', ');
  return (
    <figure class="chart">
      <figcaption>
        <span>{title}</span>
        {lines.map(({ label, colour: name, values }) => (
          <span key={label} class="chart-key">
            <span class="swatch" style={{ background: `var(${name})` }} />
            {label} <strong class="number">{lastOf(values, format)}</strong>
          </span>
        ))}
      </figcaption>
      <div ref={place} class="chart-place" role="img" aria-label={`${title}: ${last}`} />
    </figure>
  );
}

function lastOf(values: (number | null)[], format: (value: number) => string): string {
  const last = values.at(-1) ?? null;
  return last === null ? '–' : format(last);
}

/** A canvas knows no `light-dark()`: the browser says which colour it is here. */
function resolved(element: HTMLElement, value: string): string {
  const probe = document.createElement('span');
  probe.style.color = value;
  element.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}
