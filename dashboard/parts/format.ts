/** Numbers and times as people read them. */

const COUNT = new Intl.NumberFormat('en');
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** A dash below 0, which stands for what can't be counted. */
export function count(value: number): string {
  return value < 0 ? '–' : COUNT.format(value);
}

export function compact(value: number): string {
  return value < 10_000 ? count(value) : COMPACT.format(value);
}

export function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let unit = 0;
  let rest = value;
  while (rest >= 1000 && unit < units.length - 1) {
    rest /= 1000;
    unit++;
  }
  return `${unit === 0 || rest >= 100 ? Math.round(rest) : rest.toFixed(1)} ${units[unit]}`;
}

export function milliseconds(value: number): string {
  if (value >= 1000) return `${(value / 1000).toFixed(2)} s`;
  return `${value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1) : Math.round(value)} ms`;
}

export function seconds(value: number): string {
  if (value < 60) return `${Math.round(value)} s`;
  if (value < 3600) return `${Math.floor(value / 60)} min`;
  if (value < 172_800) return `${Math.floor(value / 3600)} h`;
  return `${Math.floor(value / 86_400)} days`;
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

export function score(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(1) : value.toFixed(4);
}

/** Date and time in the reader's zone; a dash for none. */
export function dateTime(iso: string | null): string {
  if (iso === null) return '–';
  const date = new Date(iso);
  return Number.isNaN(date.getTime())
    ? iso
    : date.toLocaleString('en-GB', {
        year: 'numeric',
        month: 'short',
        day: 'numeric',
        hour: '2-digit',
        minute: '2-digit',
      });
}

export function plural(amount: number, one: string, many = `${one}s`): string {
  return `${amount < 0 ? 'an unknown number of' : count(amount)} ${amount === 1 ? one : many}`;
}

/** A metadata value in one line. */
export function valueText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
