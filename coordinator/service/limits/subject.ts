/**
 * What requests are counted by: `key:7`, `address:192.0.2.1`. A subject may have a limit of its own, which is a part of
 * its name, `key:7@250`: so it reaches whoever counts it, another coordinator too, and one whose limit changes begins
 * with an empty window.
 */
export function subjectWithLimit(name: string, limit: number | null): string {
  return limit === null ? name : `${name}${MARK}${limit}`;
}

/** The limit of a subject: its own, or else `fallback`. */
export function limitOf(subject: string, fallback: number): number {
  const mark = subject.lastIndexOf(MARK);
  return mark < 0 ? fallback : Number(subject.slice(mark + 1));
}

/** Neither names of keys nor addresses hold it. */
const MARK = '@';
