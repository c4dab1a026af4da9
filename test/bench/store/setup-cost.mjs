import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runNpm } from '../../../scripts/setup.mjs';

const PACKAGES = {
  rocksdb: 'rocksdb',
  nxtedition: '@nxtedition/rocksdb',
  'rocksdb-native': 'rocksdb-native',
  'classic-level': 'classic-level',
  lmdb: 'lmdb',
};

/**
 * What each peer's package costs where nothing is cached: bytes fetched and installed, seconds, and the platforms it
 * has binaries for.
 */
export function measureSetup({ candidates, folder, log }) {
  const versions = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).dependencies;
  return candidates
    .filter(({ name }) => name in PACKAGES)
    .map(({ name }) => {
      const own = join(folder, `${name}-setup`);
      mkdirSync(own, { recursive: true });
      writeFileSync(join(own, 'package.json'), '{"private":true}');
      const startedAt = performance.now();
      runNpm(
        [
          'install',
          '--ignore-scripts',
          '--no-audit',
          '--no-fund',
          '--cache',
          join(own, 'cache'),
          `${PACKAGES[name]}@${versions[PACKAGES[name]]}`,
        ],
        own,
      );
      const seconds = (performance.now() - startedAt) / 1000;
      const modules = join(own, 'node_modules');
      const result = {
        name,
        seconds,
        fetchedBytes: bytesUnder(join(own, 'cache', '_cacache', 'content-v2')),
        installedBytes: bytesUnder(modules),
        platforms: platformsOf(modules, PACKAGES[name]),
      };
      rmSync(own, { recursive: true, force: true });
      log(`${name}: ${seconds.toFixed(1)} s`);
      return result;
    });
}

function filesUnder(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function bytesUnder(folder) {
  return filesUnder(folder).reduce((sum, file) => sum + statSync(file).size, 0);
}

/** The folders of its prebuilt binaries, or the platform packages that it depends on. */
function platformsOf(modules, name) {
  const own = join(modules, name);
  const prebuilt = filesUnder(own)
    .map((file) => /prebuilds[\\/]([^\\/]+)[\\/].*\.node$/.exec(file)?.[1])
    .filter((platform) => platform !== undefined);
  const { optionalDependencies = {} } = JSON.parse(readFileSync(join(own, 'package.json'), 'utf8'));
  return [
    ...new Set([...prebuilt, ...Object.keys(optionalDependencies).map((word) => word.replace(/^@[^/]+\/[^-]+-/, ''))]),
  ].sort();
}
