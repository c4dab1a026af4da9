// The software bill of materials of an image, CycloneDX 1.5 as `npm sbom` writes it: the npm packages installed for
// production, and the Debian packages of the system. Nothing is downloaded.
//
//   node scripts/make/sbom.mjs npm FILE               writes the npm packages of this checkout (needs npm)
//   node scripts/make/sbom.mjs debian FILE [STATUS]   adds the packages of this system, from dpkg's status file
// With SOURCE_DATE_EPOCH set, the same packages give the same bytes.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const DPKG_STATUS = '/var/lib/dpkg/status';
const OS_RELEASE = '/etc/os-release';
/** Bound on the size of npm's JSON output, which takes a few kilobytes per package. */
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

/**
 * The bill of the packages installed in this checkout, without development packages. Those are determined by the lock
 * file, because npm's own --omit also leaves out packages that development and production share.
 */
export function npmBill() {
  const text = execFileSync(
    'npm',
    ['sbom', '--sbom-format', 'cyclonedx', '--sbom-type', 'application', '--package-lock-only', '--offline'],
    {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: OUTPUT_BYTES_MAX,
    },
  );
  /** @type {{ components: any[], dependencies: { ref: string, dependsOn: string[] }[], metadata: any }} */
  const bill = JSON.parse(text);
  const { name, dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const installed = installedPackages();
  bill.components = bill.components.filter((component) => installed.has(`${component.name}@${component.version}`));
  const refs = new Set([
    bill.metadata.component['bom-ref'],
    ...bill.components.map((component) => component['bom-ref']),
  ]);
  bill.dependencies = bill.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => refs.has(other)) }));
  const missing = Object.keys(dependencies).filter(
    (wanted) => !bill.components.some((component) => component.name === wanted),
  );
  if (missing.length > 0) throw new Error(`the bill of materials lacks ${missing.join(', ')}`);
  // npm uses the name of the folder.
  bill.metadata.component.name = name;
  return sealed(bill);
}

/**
 * `name@version` of every production package of the lock file that is in node_modules; packages for other platforms are
 * not.
 */
function installedPackages() {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const there = Object.entries(packages).filter(
    ([path, { dev }]) => path !== '' && !dev && existsSync(join(ROOT, path, 'package.json')),
  );
  return new Set(
    there.map(
      ([path, { name, version }]) =>
        `${name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)}@${version}`,
    ),
  );
}

/**
 * The installed packages in a dpkg status file, as components; `system` has `ID` and `VERSION_ID` of os-release.
 * @param {string} status
 * @param {Record<string, string>} system
 */
export function debianComponents(status, system) {
  return status
    .split(/\n\n+/)
    .map(fieldsOf)
    .filter(
      (fields) =>
        fields.Package !== undefined && fields.Version !== undefined && (fields.Status ?? '').endsWith(' installed'),
    )
    .map(({ Package: name, Version: version, Architecture: architecture, Source: source }) => {
      const distro = system.VERSION_ID === undefined ? system.ID : `${system.ID}-${system.VERSION_ID}`;
      const purl = `pkg:deb/${system.ID}/${encodeURIComponent(name)}@${encodeURIComponent(version)}?arch=${architecture}&distro=${encodeURIComponent(distro)}`;
      // Advisories name the source package.
      const properties = source === undefined ? [] : [{ name: 'quiver:debian:source', value: source }];
      return { 'bom-ref': purl, type: 'library', name, version, purl, properties };
    })
    .sort((a, b) => (a.purl < b.purl ? -1 : 1));
}

/**
 * `bill` with the packages of a system, which replace those of an earlier run.
 * @param {any} bill
 * @param {object[]} components
 * @param {Record<string, string>} system
 */
export function withDebian(bill, components, system) {
  const others = bill.components.filter(
    (/** @type {{ type: string, purl?: string }} */ { type, purl }) =>
      type !== 'operating-system' && !purl?.startsWith('pkg:deb/'),
  );
  const operatingSystem = {
    'bom-ref': `os:${system.ID}`,
    type: 'operating-system',
    name: system.ID,
    ...(system.VERSION_ID === undefined ? {} : { version: system.VERSION_ID }),
  };
  return sealed({ ...bill, components: [...others, operatingSystem, ...components] });
}

/**
 * Parses `KEY=value` lines, quoted or not.
 * @param {string} text
 */
export function parseOsRelease(text) {
  return Object.fromEntries([...text.matchAll(/^([A-Z_]+)="?([^"\n]*)"?$/gm)].map(([, key, value]) => [key, value]));
}

/**
 * @param {string} paragraph
 * @returns {Record<string, string>}
 */
function fieldsOf(paragraph) {
  return Object.fromEntries([...paragraph.matchAll(/^([A-Za-z-]+): (.*)$/gm)].map(([, key, value]) => [key, value]));
}

/**
 * Sets the bill's time, and a serial number derived from its content.
 * @param {any} bill
 */
function sealed(bill) {
  const epoch = process.env.SOURCE_DATE_EPOCH;
  if (epoch === undefined) return bill;
  const dated = { ...bill, metadata: { ...bill.metadata, timestamp: new Date(Number(epoch) * 1000).toISOString() } };
  const hash = createHash('sha256')
    .update(JSON.stringify({ ...dated, serialNumber: '' }))
    .digest('hex');
  // Version 8: a UUID with a custom rule (RFC 9562).
  const uuid = `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20, 32)}`;
  return { ...dated, serialNumber: `urn:uuid:${uuid}` };
}

/** @param {string[]} words */
function main([kind, file, status = DPKG_STATUS, ...rest]) {
  if (!['npm', 'debian'].includes(kind) || file === undefined || rest.length > 0) {
    console.error('usage: sbom.mjs npm FILE | sbom.mjs debian FILE [STATUS]');
    process.exitCode = 2;
    return;
  }
  let bill;
  if (kind === 'npm') {
    bill = npmBill();
  } else {
    const system = parseOsRelease(readFileSync(OS_RELEASE, 'utf8'));
    bill = withDebian(
      JSON.parse(readFileSync(file, 'utf8')),
      debianComponents(readFileSync(status, 'utf8'), system),
      system,
    );
  }
  writeFileSync(file, `${JSON.stringify(bill, null, 1)}\n`);
}

if (process.argv[1] && fileURLToPath(import.meta.url) === process.argv[1]) main(process.argv.slice(2));
