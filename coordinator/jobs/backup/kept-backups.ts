/** How many are kept of the newest of each period: grandfather, father, son. */
export type KeepRule = { period: Period; count: number }[];
type Period = 'h' | 'd' | 'w' | 'm' | 'y';

const DAY_MS = 86_400_000;
/** 1970-01-01 was a Thursday; weeks begin on Mondays. */
const FIRST_MONDAY_MS = 4 * DAY_MS;

/** Parses `7d,4w,12m`; null: it is none. */
export function parseKeepRule(text: string): KeepRule | null {
  const rule: KeepRule = [];
  for (const part of text.split(',')) {
    const match = /^\s*(\d{1,4})([hdwmy])\s*$/.exec(part);
    if (match === null || Number(match[1]) === 0) return null;
    rule.push({ count: Number(match[1]), period: match[2] as Period });
  }
  return rule;
}

/**
 * Which of these backups are kept: of each of the last so many hours, days, weeks, months and years in which there is
 * one, the newest. The newest of all is always kept.
 */
export function keptBackups<Backup extends { finishedMs: number }>(
  backups: readonly Backup[],
  rule: KeepRule,
): Set<Backup> {
  const newestFirst = [...backups].sort((a, b) => b.finishedMs - a.finishedMs);
  const kept = new Set<Backup>(newestFirst.slice(0, 1));
  for (const { period, count } of rule) {
    const seen = new Set<string>();
    for (const backup of newestFirst) {
      const name = nameOf(backup.finishedMs, period);
      if (seen.has(name)) continue;
      if (seen.size === count) break;
      seen.add(name);
      kept.add(backup);
    }
  }
  return kept;
}

function nameOf(ms: number, period: Period): string {
  const iso = new Date(ms).toISOString();
  switch (period) {
    case 'h':
      return iso.slice(0, 13);
    case 'd':
      return iso.slice(0, 10);
    case 'w':
      return String(Math.floor((ms - FIRST_MONDAY_MS) / (7 * DAY_MS)));
    case 'm':
      return iso.slice(0, 7);
    case 'y':
      return iso.slice(0, 4);
  }
}
