// Writes the TypeScript types of proto/quiver into shared/rpc/generated, or into the folder named as the first argument.
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const target = process.argv[2] ?? join(root, 'shared/rpc/generated');
const generator = createRequire(import.meta.url).resolve('@grpc/proto-loader/build/bin/proto-loader-gen-types.js');
const files = readdirSync(join(root, 'proto/quiver'), { recursive: true })
  .filter((file) => file.endsWith('.proto'))
  .map((file) => join('quiver', file))
  .sort();
rmSync(target, { recursive: true, force: true });
execFileSync(
  process.execPath,
  [generator, '--longs=Number', '--defaults', '--oneofs', '--grpcLib=@grpc/grpc-js', `--includeDirs=${join(root, 'proto')}`, `--outDir=${target}`, ...files],
  { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] },
);

// Of each file it makes an overview, which nobody needs.
for (const entry of readdirSync(target, { withFileTypes: true })) {
  if (entry.isFile()) rmSync(join(target, entry.name));
}

// The generator names each original by where it lies on this machine.
for (const file of readdirSync(target, { recursive: true }).filter((name) => name.endsWith('.ts'))) {
  const path = join(target, file);
  writeFileSync(path, readFileSync(path, 'utf8').replace(`Original file: ${root}/`, 'Original file: '));
}
