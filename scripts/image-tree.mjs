// Copies what the service needs at run time out of a checkout that is set up and pruned to production packages: the
// compiled sources, the addons, the protocols, the packages, and the commands. For the Dockerfile.
//
//   node scripts/image-tree.mjs FOLDER
import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ADDONS } from './build-native.mjs';
import { ROOT } from './setup.mjs';

/** Beside the addons. */
const PARTS = ['package.json', 'proto', 'dist', 'node_modules', 'scripts/quiver.cjs', 'scripts/healthcheck.cjs'];

/** What packages bring for building and for other platforms, tens of megabytes: [package, part of it]. */
function ballastOf(modules) {
  const prebuilds = join(modules, 'rocksdb', 'prebuilds');
  const foreign = readdirSync(prebuilds).filter((folder) => folder !== `${process.platform}-${process.arch}`);
  return [
    join(modules, 'rocksdb', 'deps'),
    join(modules, 'rocksdb', 'build', 'Release', 'obj.target'),
    ...foreign.map((folder) => join(prebuilds, folder)),
  ];
}

const target = process.argv[2];
if (target === undefined || existsSync(target)) {
  console.error(target === undefined ? 'usage: image-tree.mjs FOLDER' : `${target} exists`);
  process.exit(2);
}
for (const part of [...PARTS, ...ADDONS.map(({ name, folder }) => `${folder}/build/${name}.node`)]) {
  cpSync(join(ROOT, part), join(target, part), { recursive: true, verbatimSymlinks: true });
}
for (const path of ballastOf(join(target, 'node_modules'))) rmSync(path, { recursive: true, force: true });
