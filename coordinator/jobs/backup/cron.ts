/** The bounds of the five fields: minute, hour, day of the month, month, day of the week (0 and 7: Sunday). */
const FIELDS = [
  { minimum: 0, maximum: 59 },
  { minimum: 0, maximum: 23 },
  { minimum: 1, maximum: 31 },
  { minimum: 1, maximum: 12 },
  { minimum: 0, maximum: 7 },
] as const;
const MINUTE_MS = 60_000;
/** Every rule that ever comes true does so within the 8 years between two leap years that a century leaves out. */
const HORIZON_MS = 9 * 366 * 24 * 60 * MINUTE_MS;

/** Times by the five fields of cron, in UTC. */
export class Cron {
  private constructor(
    private readonly fields: ReadonlySet<number>[],
    /** Whether day of the month, or of the week, is `*`: then the other one decides alone. */
    private readonly anyDay: { ofMonth: boolean; ofWeek: boolean },
  ) {}

  /** null: it is none, or never comes true. */
  static parse(text: string): Cron | null {
    const parts = text.trim().split(/\s+/);
    if (parts.length !== FIELDS.length) return null;
    const fields = parts.map((part, i) => valuesOf(part, FIELDS[i]));
    if (!fields.every((field) => field !== null)) return null;
    if (fields[4].has(7)) fields[4].add(0);
    const cron = new Cron(fields, { ofMonth: parts[2].startsWith('*'), ofWeek: parts[4].startsWith('*') });
    return cron.after(0) === null ? null : cron;
  }

  /** The first time after `ms`, in milliseconds since 1970; null: there is none. */
  after(ms: number): number | null {
    const [minutes, hours, , months] = this.fields;
    const until = ms + HORIZON_MS;
    let at = (Math.floor(ms / MINUTE_MS) + 1) * MINUTE_MS;
    while (at < until) {
      const date = new Date(at);
      const [year, month, day, hour, minute] = [
        date.getUTCFullYear(),
        date.getUTCMonth(),
        date.getUTCDate(),
        date.getUTCHours(),
        date.getUTCMinutes(),
      ];
      if (!months.has(month + 1)) at = Date.UTC(year, month + 1, 1);
      else if (!this.isDay(date)) at = Date.UTC(year, month, day + 1);
      else if (!hours.has(hour)) at = Date.UTC(year, month, day, hour + 1);
      else if (!minutes.has(minute)) at += MINUTE_MS;
      else return at;
    }
    return null;
  }

  /** As everywhere: where both are given, one of them suffices. */
  private isDay(date: Date): boolean {
    const ofMonth = this.fields[2].has(date.getUTCDate());
    const ofWeek = this.fields[4].has(date.getUTCDay());
    if (this.anyDay.ofMonth || this.anyDay.ofWeek) return ofMonth && ofWeek;
    return ofMonth || ofWeek;
  }
}

/** Of a list of `*`, `n`, `n-m`, each perhaps with `/step`. */
function valuesOf(text: string, { minimum, maximum }: { minimum: number; maximum: number }): Set<number> | null {
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const match = /^(?:\*|(\d{1,2})(?:-(\d{1,2}))?)(?:\/(\d{1,2}))?$/.exec(part);
    if (match === null) return null;
    const [, first, last, stepText] = match;
    const step = stepText === undefined ? 1 : Number(stepText);
    const from = first === undefined ? minimum : Number(first);
    const to = last !== undefined ? Number(last) : first === undefined || stepText !== undefined ? maximum : from;
    if (step < 1 || from < minimum || to > maximum || from > to) return null;
    for (let value = from; value <= to; value += step) values.add(value);
  }
  return values;
}
