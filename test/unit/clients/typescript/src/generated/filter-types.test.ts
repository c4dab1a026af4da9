import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { FIELD_OPERATORS, ITEM_OPERATORS } from '../../../../../../shared/contract/filter/filter-operators';

/**
 * What clients and guides say of the operators of filters is written from their table: clients/typescript/src/generated/,
 * the type of the Python client, and the guide. `UPDATE=1` writes it anew.
 */

const root = resolve(__dirname, '../../../../../..');
const { filterTypes, operatorNames } = require(resolve(root, 'scripts/make/filter-types.cjs')) as {
  filterTypes(ofKeys: object, ofItems: object): string;
  operatorNames(operators: object): string;
};

function expectWritten(file: string, written: (before: string) => string): void {
  const path = resolve(root, file);
  const before = readFileSync(path, 'utf8');
  const text = written(before);
  if (process.env.UPDATE === '1' && text !== before) writeFileSync(path, text);
  expect(readFileSync(path, 'utf8')).toBe(text);
}

/** The text between what a file has before and behind it. */
function between(head: string, text: string, tail: string): (before: string) => string {
  return (before) => {
    const from = before.indexOf(head) + head.length;
    const to = before.indexOf(tail, from);
    if (from < head.length || to < 0) throw new Error(`there is no ${head}`);
    return before.slice(0, from) + text + before.slice(to);
  };
}

test('the types of the TypeScript client have every operator', () => {
  expectWritten('clients/typescript/src/generated/filter-types.ts', () => filterTypes(FIELD_OPERATORS, ITEM_OPERATORS));
});

test('an operator that the service gets is known, with what it is given and what it means', () => {
  const later = { ...FIELD_OPERATORS, $near: { takes: 'bounds', means: 'not far\\\\ from', names: 'near' } };
  expect(filterTypes(later, {})).toContain('  /** Not far\\ from. */\n  $near?: [Bound, Bound];\n');
});

test('the Python client names every operator', () => {
  const lines = operatorNames(FIELD_OPERATORS).split(' ');
  const half = Math.ceil(lines.length / 2);
  expectWritten(
    'clients/python/src/quiver_client/sent.py',
    between(
      'an object of operators\n(',
      `\`\`${lines.slice(0, half).join(' ')}\n${lines.slice(half).join(' ')}\`\``,
      ';\n',
    ),
  );
});

test('the guide names every operator', () => {
  expectWritten(
    'docs/guides/modelling.md',
    between(
      '\nOperators: ',
      `\`${operatorNames(FIELD_OPERATORS)}\` on a key, \`$and $or $not ${operatorNames(ITEM_OPERATORS)}\` at the top.`,
      '\n',
    ),
  );
});
