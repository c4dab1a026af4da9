// Writes the TypeScript types of proto/quiver into shared/wire/generated, or into the folder given as the first
// argument.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const target = process.argv[2] ?? join(root, 'shared/wire/generated');
/** The start of a generated file. */
const ORIGINAL = '// Original file: ';
/** The generator's prefix for a message that it imports. */
const ALIAS = '_quiver_v1_';
const generator = createRequire(import.meta.url).resolve('@grpc/proto-loader/build/bin/proto-loader-gen-types.js');
const files = readdirSync(join(root, 'proto/quiver'), { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.proto'))
  .map((file) => join('quiver', file))
  .sort();
rmSync(target, { recursive: true, force: true });
execFileSync(
  process.execPath,
  [
    generator,
    '--longs=Number',
    '--defaults',
    '--oneofs',
    '--grpcLib=@grpc/grpc-js',
    `--includeDirs=${join(root, 'proto')}`,
    `--outDir=${target}`,
    ...files,
  ],
  {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  },
);

// The generator writes one file per message. They are joined into one file per .proto, so that a change of
// proto/quiver/v1/reads.proto changes quiver/v1/reads.ts and nothing else.
const made = readdirSync(target, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .sort()
  .map((name) => readFileSync(join(target, name), 'utf8'));
rmSync(target, { recursive: true });
// Its overview of each .proto, which is not needed, has no such first line.
const parts = made.filter((text) => text.startsWith(ORIGINAL)).map(partOf);
const homes = new Map(parts.flatMap(({ file, body }) => namesIn(body).map((name) => [name, file])));
for (const file of new Set(parts.map((part) => part.file))) {
  const own = parts.filter((part) => part.file === file);
  const bodies = own.map(({ body }) => body.trim());
  const path = join(target, `${file}.ts`);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(
    path,
    [`${ORIGINAL}proto/${file}.proto`, importsOf(own, file), ...bodies].filter((text) => text !== '').join('\n\n') +
      '\n',
  );
}

/**
 * A generated file, split: `file` is its .proto without the ending, `imports` are its import lines, `body` is the rest.
 * @param {string} text
 */
function partOf(text) {
  const [first, ...lines] = text.split('\n');
  const imports = lines.filter((line) => line.startsWith('import '));
  const body = lines.filter((line) => !line.startsWith('import ')).join('\n');
  const file = first.slice(first.lastIndexOf('proto/') + 'proto/'.length, -'.proto'.length);
  return { file, imports, body: body.replaceAll(ALIAS, '') };
}

/**
 * The imports of a joined file: packages unchanged, messages from the joined file that contains them.
 * @param {{ imports: string[] }[]} own
 * @param {string} file
 */
function importsOf(own, file) {
  const lines = [...new Set(own.flatMap(({ imports }) => imports))].sort();
  const packages = lines.filter((line) => !line.includes(ALIAS));
  const messages = lines
    .filter((line) => line.includes(ALIAS))
    .flatMap((line) => [...line.matchAll(/(\w+) as /g)].map(([, name]) => name));
  const others = [...new Set(messages.map((name) => homes.get(name)))]
    .flatMap((home) => (home === undefined || home === file ? [] : [home]))
    .sort(inCodeUnits);
  /** @param {string} home */
  const importOf = (home) =>
    `import type { ${messages.filter((name) => homes.get(name) === home).join(', ')} } from './${relative(dirname(file), home)}';`;
  return [...packages, ...others.map(importOf)].join('\n');
}

/** @param {string} body */
function namesIn(body) {
  return [...body.matchAll(/^export (?:interface|type) (\w+)/gm)].map(([, name]) => name);
}

/**
 * @param {string} a
 * @param {string} b
 */
function inCodeUnits(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}
