import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { packageRoot } from './package-root';

/** Where a checkout builds each native addon (scripts/make/build-native.mjs). */
const FOLDERS = {
  vectors: 'node/engine/native',
  'body-scanner': 'coordinator/api/native',
  store: 'node/engine/kv/native',
} as const;

export type AddonName = keyof typeof FOLDERS;

/** What the package.json of a package with built addons says, see scripts/make/platform-package.mjs. */
interface PlatformManifest {
  version: string;
  quiver: { glibc: string };
}

/** A package with built addons that npm has installed, and why it can't be used here; null: it can be. */
interface PlatformPackage {
  folder: string;
  problem: string | null;
}

/** The package with the built addons of this platform. */
export const PLATFORM_PACKAGE = `@quiver/${process.platform}-${process.arch}`;

let found: PlatformPackage | null | undefined;

/**
 * The file of an addon: what was built here, before what the platform's package brings. Where there is neither, a plain
 * Error says how to get it.
 */
export function addonFile(name: AddonName): string {
  const built = builtFile(name);
  if (existsSync(built)) return built;
  const platform = platformPackage();
  if (platform !== null && platform.problem === null) return join(platform.folder, `${name}.node`);
  const reason = platform?.problem ?? `${PLATFORM_PACKAGE} is not installed`;
  throw new Error(
    `the native addon is missing: ${reason}, and nothing is at ${built}. ` +
      'Run node scripts/make/build-native.mjs, or start once with quiver embedded, which builds it.',
  );
}

/** Why addons have to be built before a start; null: each is there. */
export function addonsProblem(): string | null {
  if ((Object.keys(FOLDERS) as AddonName[]).every((name) => existsSync(builtFile(name)))) return null;
  const platform = platformPackage();
  return platform === null ? `${PLATFORM_PACKAGE} is not installed` : platform.problem;
}

function builtFile(name: AddonName): string {
  return join(packageRoot(__dirname), FOLDERS[name], 'build', `${name}.node`);
}

function platformPackage(): PlatformPackage | null {
  if (found === undefined) {
    found = null;
    try {
      const file = createRequire(__filename).resolve(`${PLATFORM_PACKAGE}/package.json`);
      const own = JSON.parse(readFileSync(join(packageRoot(__dirname), 'package.json'), 'utf8')) as { version: string };
      const manifest = JSON.parse(readFileSync(file, 'utf8')) as PlatformManifest;
      found = { folder: dirname(file), problem: platformProblem(manifest, own.version, glibcVersion()) };
    } catch {
      // Not installed.
    }
  }
  return found;
}

/** Why a platform package is of no use to this version of Quiver on this glibc; null: it is. */
export function platformProblem(manifest: PlatformManifest, version: string, glibc: string | null): string | null {
  if (manifest.version !== version)
    return `${PLATFORM_PACKAGE} is of version ${manifest.version}, and this is Quiver ${version}`;
  const needed = manifest.quiver.glibc;
  if (glibc === null)
    return `${PLATFORM_PACKAGE} needs glibc ${needed} or later, and this system has another C library`;
  return isOlder(glibc, needed) ? `${PLATFORM_PACKAGE} needs glibc ${needed} or later, and this is ${glibc}` : null;
}

function isOlder(version: string, than: string): boolean {
  const [major, minor] = version.split('.').map(Number);
  const [majorMin, minorMin] = than.split('.').map(Number);
  return major < majorMin || (major === majorMin && minor < minorMin);
}

/** null: with another C library, such as musl. */
function glibcVersion(): string | null {
  const report = process.report as NodeJS.ProcessReport & { excludeNetwork?: boolean };
  const before = report.excludeNetwork;
  // Looking at the interfaces takes most of a report's time.
  report.excludeNetwork = true;
  const { header } = report.getReport() as { header: { glibcVersionRuntime?: string } };
  report.excludeNetwork = before ?? false;
  return header.glibcVersionRuntime ?? null;
}
