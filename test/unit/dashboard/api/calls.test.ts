import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

/** The calls of the page are of the operations that they name, whose bodies and answers the compiler then checks. */

const root = resolve(__dirname, '../../../..');
const types = readFileSync(join(root, 'clients/typescript/src/generated/api-types.ts'), 'utf8');
/** Method and path of each operation, as the types say them: `GET /v1/collections/{name}`. */
const places = new Map(
  [...types.matchAll(/: ([A-Z]+ \/\S*)\n(?: {3}\*.*\n)* {3}\*\/\n {2}(\w+): \{/g)].map(([, place, id]) => [id, place]),
);

const sources = readdirSync(join(root, 'dashboard'), { withFileTypes: true, recursive: true })
  .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
  .map((entry) => join(entry.parentPath, entry.name))
  .map((file) => ({ name: relative(root, file), text: readFileSync(file, 'utf8') }));

interface Call {
  file: string;
  ids: string[];
  method: string;
  /** What it passes for the path. */
  path: string;
}

const calls = sources
  .filter(({ name }) => name !== 'dashboard/api/client.ts')
  .flatMap(({ name, text }) =>
    [...text.matchAll(/\bcall(?:<([^>]*)>)?\(\s*'(\w+)',\s*(path\((?:[^()]|\([^()]*\))*\)|'[^']*'|`[^`]*`|\w+)/g)].map(
      ([, ids = '', method, path]): Call => ({ file: name, ids: ids.match(/\w+/g) ?? [], method, path }),
    ),
  );

/** Whether a path as it is passed may be that of an operation: its texts are there, in their order. */
function fits(passed: string, template: string): boolean {
  const texts = [...passed.matchAll(/'([^'?]*)[^']*'|`([^`$?]*)[^`]*`/g)].map(([, text, begin]) => text ?? begin);
  // What begins a query string is no text of the path.
  if (texts.at(-1) === '') texts.pop();
  const pattern = texts.map((text) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('\\{\\w+\\}');
  return new RegExp(`^${pattern}(?:\\{\\w+\\}|pause|resume)?$`).test(template);
}

test('each call names its operation', () => {
  expect(places.size).toBeGreaterThan(60);
  expect(calls.length).toBeGreaterThan(40);
  expect(calls.filter(({ ids }) => ids.length === 0 || ids.some((id) => !places.has(id)))).toEqual([]);
});

test('the operation that a call names is the one that it calls', () => {
  // One whose path is chosen before names all that it may be.
  const known = calls.filter(({ path }) => !/^\w+$/.test(path));
  expect(calls.filter((call) => !known.includes(call)).map(({ file }) => file)).toEqual([
    'dashboard/search/search-request.ts',
  ]);
  const wrong = known.filter(({ ids, method, path }) =>
    ids.some((id) => {
      const [of, template] = (places.get(id) ?? '').split(' ');
      return of !== method || !fits(path, template);
    }),
  );
  expect(wrong).toEqual([]);
});
