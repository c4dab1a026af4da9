import { isMap, isScalar, type Node, parseDocument, type YAMLMap } from 'yaml';

/** One row of the README's table. */
interface Row {
  path: string;
  value: string;
  meaning: string;
}

/** The README's table of values, from the comments (`# -- …`) of values.yaml. Throws for a value without one. */
export function valuesTable(valuesYaml: string): string {
  const rows = rowsOf(parseDocument(valuesYaml).contents as YAMLMap<any, Node>, []);
  return [
    '| value | default | meaning |',
    '|---|---|---|',
    ...alike(rows).map(([paths, { value, meaning }]) => `| ${paths} | ${value} | ${meaning} |`),
    '',
  ].join('\n');
}

/** Rows with one meaning in several parts of the chart as one, where the first of them is; with their paths. */
function alike(rows: Row[]): [paths: string, first: Row][] {
  const kind = ({ path, value, meaning }: Row): string => JSON.stringify([path.split('.').slice(1), value, meaning]);
  const paths = new Map<string, string[]>();
  for (const row of rows) paths.set(kind(row), [...(paths.get(kind(row)) ?? []), `\`${row.path}\``]);
  return rows
    .filter((row, i) => rows.findIndex((other) => kind(other) === kind(row)) === i)
    .map((row) => [(paths.get(kind(row)) as string[]).join(', '), row]);
}

function rowsOf(map: YAMLMap<any, Node>, path: string[]): Row[] {
  return map.items.flatMap(({ key, value }, at): Row[] => {
    const own = [...path, String(key.value)];
    // The first key's comment is the map's own, as the parser has it.
    const comment = key.commentBefore ?? (at === 0 ? map.commentBefore : undefined);
    const meaning = /(?:^|\n) -- (.+)$/.exec(comment ?? '')?.[1];
    if (meaning !== undefined) return [{ path: own.join('.'), value: shown(value), meaning }];
    if (isMap(value) && value.items.length > 0) return rowsOf(value as YAMLMap<any, Node>, own);
    throw new Error(`values.yaml says nothing of ${own.join('.')}`);
  });
}

function shown(value: Node | null): string {
  if (isScalar(value) && value.value === '') return '(empty)';
  return `\`${JSON.stringify(value?.toJSON()).replace(/^"(.*)"$/, '$1')}\``;
}
