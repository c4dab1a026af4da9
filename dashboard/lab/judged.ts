/** Judged queries as the page holds them, and what a person changes of them. */

/** How good items are as the answer of a query, by external_id: 0 is no answer. What is not there is not judged. */
export type Grades = ReadonlyMap<string, number>;

export interface JudgedQuery {
  query: string;
  grades: Grades;
}

/** As the API has them. */
export interface SentQuery {
  query: string;
  relevant: Record<string, number>;
}

/** One change. `grade` null: the item is not judged any more. */
export type Edit =
  | { type: 'grade'; query: string; id: string; grade: number | null }
  | { type: 'add'; query: string }
  | { type: 'remove'; query: string };

/** What the grades that the page offers mean. */
export const GRADES: Record<number, string> = { 0: 'no answer', 1: 'fair', 2: 'good', 3: 'perfect' };

export function readJudged(sent: readonly SentQuery[]): JudgedQuery[] {
  return sent.map(({ query, relevant }) => ({ query, grades: new Map(Object.entries(relevant)) }));
}

export function sentJudged(judged: readonly JudgedQuery[]): SentQuery[] {
  return judged.map(({ query, grades }) => ({ query, relevant: Object.fromEntries(grades) }));
}

/** Judged queries after changes, in their order; a query that is graded and not there is the last. */
export function edited(judged: readonly JudgedQuery[], edits: readonly Edit[]): JudgedQuery[] {
  return edits.reduce<JudgedQuery[]>((before, edit) => one(before, edit), [...judged]);
}

function one(judged: JudgedQuery[], edit: Edit): JudgedQuery[] {
  const { query } = edit;
  if (edit.type === 'remove') return judged.filter((other) => other.query !== query);
  const at = judged.findIndex((other) => other.query === query);
  const found = judged[at] ?? { query, grades: new Map() };
  const grades = new Map(found.grades);
  if (edit.type === 'grade') {
    if (edit.grade === null) grades.delete(edit.id);
    else grades.set(edit.id, edit.grade);
  }
  return at < 0 ? [...judged, { query, grades }] : judged.with(at, { query, grades });
}

/** Whether the service keeps it: one grade at least is above 0. */
export function isKept({ grades }: JudgedQuery): boolean {
  return [...grades.values()].some((grade) => grade > 0);
}

/** The changes that make a query what it is, where it is not stored. */
export function editsOf({ query, grades }: JudgedQuery): Edit[] {
  return [{ type: 'add', query }, ...[...grades].map(([id, grade]) => ({ type: 'grade', query, id, grade }) as const)];
}

/** Queries out of lines that somebody typed or pasted: none twice, none that is there. */
export function queriesOf(text: string, judged: readonly JudgedQuery[]): string[] {
  const known = new Set(judged.map(({ query }) => query));
  const lines = text.split('\n').map((line) => line.trim());
  return [...new Set(lines)].filter((line) => line !== '' && !known.has(line));
}

/** The query that a result tells of, which has only the beginning of a long one. */
export function toldQuery(told: string, judged: readonly JudgedQuery[]): string {
  const isIt = (query: string): boolean =>
    query === told || (told.endsWith('…') && query.startsWith(told.slice(0, -1)));
  return judged.find(({ query }) => isIt(query))?.query ?? told;
}

/** The query after this one, in turn, that nobody has graded; null: there is none. */
export function nextToGrade(judged: readonly JudgedQuery[], query: string): string | null {
  const at = judged.findIndex((one) => one.query === query);
  const turn = [...judged.slice(at + 1), ...judged.slice(0, Math.max(0, at))];
  return turn.find((one) => !isKept(one))?.query ?? null;
}
