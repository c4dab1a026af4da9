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
    ...rows.map(({ path, value, meaning }) => `| \`${path}\` | ${value} | ${meaning} |`),
    '',
  ].join('\n');
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
