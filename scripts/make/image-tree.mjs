// Copies what the service needs at run time from a checkout that is set up and pruned to production packages: the
// compiled sources, the addons, the protocols, the packages, and the commands. For the Dockerfile.
//
//   node scripts/make/image-tree.mjs FOLDER
import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ADDONS } from './build-native.mjs';
import { ROOT } from '../setup.mjs';

/** Copied in addition to the addons. */
const PARTS = [
  'package.json',
  'proto',
  'dist',
  'node_modules',
  'scripts/quiver.cjs',
  'scripts/load-program.cjs',
  'scripts/try-service.cjs',
  'scripts/healthcheck.cjs',
  'scripts/make/sbom.mjs',
];

/**
 * Files of packages that are only for building or for other platforms: hundreds of megabytes.
 * @param {string} modules
 */
function ballastOf(modules) {
  const runtimes = join(modules, 'onnxruntime-node', 'bin');
  return [
    ...readdirSync(runtimes).flatMap((version) => [
      ...othersIn(join(runtimes, version), process.platform),
      ...othersIn(join(runtimes, version, process.platform), process.arch),
    ]),
  ];
}

/**
 * @param {string} folder
 * @param {string} own
 */
function othersIn(folder, own) {
  return readdirSync(folder)
    .filter((name) => name !== own)
    .map((name) => join(folder, name));
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
