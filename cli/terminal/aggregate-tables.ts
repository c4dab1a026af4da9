import type { AggregateAnswer } from '../../clients/typescript/src/api';
import { count } from './print';
import { printable, table } from './table';

type Groups = NonNullable<AggregateAnswer['by']>;
type Lists = Pick<AggregateAnswer, 'facets' | 'ranges' | 'stats'>;
type Cell = string | number | null;

/** Facets, ranges and statistics of the items that have these values. */
interface Part {
  /** Values of the fields of groups, the outer one first. */
  key: Cell[];
  lists: Lists;
}

/**
 * Aggregates as people read them: a table of the groups, then one for each facet and range and one of all statistics,
 * in which rows of groups begin with the groups' values. Notes say what a table lacks.
 */
export function aggregateTables(answer: AggregateAnswer, width?: number): { tables: string[]; notes: string[] } {
  const notes: string[] = [];
  const fields: string[] = [];
  const counts: Cell[][] = [];
  let parts: Part[] = [{ key: [], lists: answer }];
  if (answer.by !== undefined) {
    const outer = answer.by as Groups & { groups: { by?: Groups }[] };
    fields.push(outer.field);
    noteOf(outer, '', notes);
    parts = outer.groups.flatMap((group) => {
      const { by: inner, value } = group;
      if (inner === undefined) {
        counts.push([shown(value), group.count]);
        return [{ key: [shown(value)], lists: group }];
      }
      fields[1] = inner.field;
      noteOf(inner, `${outer.field} ${shown(value)}: `, notes);
      return inner.groups.map((one) => {
        counts.push([shown(value), shown(one.value), one.count]);
        return { key: [shown(value), shown(one.value)], lists: one };
      });
    });
  }
  const tables = answer.by === undefined ? [] : [table([...fields, 'count'], counts, width)];
  const rowsOf = (rows: (lists: Lists) => Cell[][]): Cell[][] =>
    parts.flatMap(({ key, lists }) => rows(lists).map((row) => [...key, ...row]));
  const first: Lists = parts[0]?.lists ?? {};
  for (const [i, { field }] of (first.facets ?? []).entries()) {
    const rows = rowsOf(({ facets }) => facets![i].values.map((one) => [shown(one.value), one.count]));
    tables.push(table([...fields, field, 'count'], rows, width));
    for (const { key, lists } of parts) noteOf(lists.facets![i], key.length === 0 ? '' : `${key.join(', ')}: `, notes);
  }
  for (const [i, { field }] of (first.ranges ?? []).entries()) {
    const rows = rowsOf(({ ranges }) => ranges![i].buckets.map((one) => [one.from, one.to, one.count]));
    tables.push(table([...fields, `${field} from`, 'to', 'count'], rows, width));
  }
  const stats = first.stats ?? [];
  if (stats.length > 0) {
    const ops = Object.keys(stats[0]).filter((name) => !['field', 'distinct_error', 'not_numbers'].includes(name));
    const rows = rowsOf((lists) =>
      lists.stats!.map((one) => [one.field, ...ops.map((op) => one[op as keyof typeof one] ?? null)]),
    );
    tables.push(table([...fields, 'field', ...ops], rows, width));
    for (const { key, lists } of parts) for (const one of lists.stats!) noteOfStatistics(one, key, notes);
  }
  return { tables, notes: notes.map(printable) };
}

function noteOf(
  { field, more, missing }: { field: string; more: boolean; missing: number },
  of: string,
  notes: string[],
): void {
  const said = [
    ...(more ? ['there are more values (--limit)'] : []),
    ...(missing > 0 ? [`${count(missing)} ${missing === 1 ? 'item' : 'items'} without it`] : []),
  ];
  if (said.length > 0) notes.push(`${of}${field}: ${said.join(', ')}`);
}

function noteOfStatistics(
  { field, distinct_error: error, not_numbers: others }: NonNullable<Lists['stats']>[number],
  key: Cell[],
  notes: string[],
): void {
  const of = [...key, field].join(', ');
  if (error !== undefined) notes.push(`${of}: distinct is an estimate, with an error of ${(100 * error).toFixed(1)} %`);
  if (others !== undefined)
    notes.push(
      `${of}: ${count(others)} ${others === 1 ? 'value is no number; only count and distinct have it' : 'values are no numbers; only count and distinct have them'}`,
    );
}

/** 1 and true are shown as they are; a text "1" too: --json tells them apart. */
function shown(value: string | number | boolean | null): Cell {
  return typeof value === 'boolean' ? String(value) : value;
}
