import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseSync } from '@swc/core';
import { expectLinear } from '../support/values/linear-cost';

/**
 * Every regular expression of the program that is written as a literal, run over hostile strings: its cost may grow
 * with the length of the string, not with the square of it. One that is not linear blocks its process for minutes on a
 * text that a client may send.
 */

const root = resolve(__dirname, '../..');

/** Quadratic work takes a second at the greatest. */
const LENGTHS = [4_096, 32_768];

interface Found {
  place: string;
  source: string;
  expression: RegExp;
}

function literalsOf(path: string): Found[] {
  const found: Found[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const { type, pattern, flags } = node as { type?: unknown; pattern?: unknown; flags?: unknown };
    if (type === 'RegExpLiteral' && typeof pattern === 'string' && typeof flags === 'string') {
      found.push({
        place: relative(root, path),
        source: `/${pattern}/${flags}`,
        expression: new RegExp(pattern, flags),
      });
    }
    for (const child of Object.values(node)) visit(child);
  };
  visit(parseSync(readFileSync(path, 'utf8'), { syntax: 'typescript', target: 'es2022' }).body);
  return found;
}

const literals = ['coordinator', 'embedded', 'node', 'shared']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { withFileTypes: true, recursive: true }).map((entry) => ({
      entry,
      path: join(entry.parentPath, entry.name),
    })),
  )
  .filter(
    ({ entry, path }) =>
      entry.isFile() && path.endsWith('.ts') && !path.endsWith('.d.ts') && !path.includes('/generated/'),
  )
  .flatMap(({ path }) => literalsOf(path));

/** What expressions stumble over: long runs of what they look for, of what they skip, and a near miss at the end. */
function hostileParts(source: string): string[] {
  const ofItself = [...new Set(source.replace(/\\[a-zA-Z]/g, '').match(/[\p{L}\p{N}.:/%=";,_-]/gu) ?? [])].slice(0, 6);
  return [...new Set(['a', '0', ' ', '\n', "'", '\u0640', '\u0301', '\ud800', 'a ', 'a.', ' \n', ...ofItself])];
}

test('there are some', () => {
  expect(literals.length).toBeGreaterThan(40);
});

describe('cost that grows with the length of the string', () => {
  test.each(literals)('$place $source', ({ source, expression }) => {
    for (const part of hostileParts(source)) {
      for (const [head, tail] of [
        ['', '\u0001'],
        ['a', '!'],
      ]) {
        expectLinear(
          `${JSON.stringify(part)} between ${JSON.stringify([head, tail])}`,
          (units) => {
            const text = head + part.repeat(Math.ceil(units / part.length)) + tail;
            return () => {
              expression.lastIndex = 0;
              if (expression.global) text.replace(expression, '');
              else expression.test(text);
            };
          },
          LENGTHS,
        );
      }
    }
  });
});
