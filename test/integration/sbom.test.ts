import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** The bill of materials that an image is given, made here as its build makes it. */

const root = resolve(__dirname, '../..');
const STATUS = `Package: libgomp1
Status: install ok installed
Architecture: amd64
Source: gcc-12
Version: 12.2.0-14+deb12u1
Description: GCC OpenMP support library
 with a second line: of text

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1.0

Package: tini
Status: install ok installed
Architecture: amd64
Version: 0.19.0-1
`;

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'quiver-sbom-'));
});

afterAll(() => rmSync(folder, { recursive: true }));

function sbom(words: string[]): void {
  // No registry can be reached: nothing may be fetched.
  const env = { ...process.env, SOURCE_DATE_EPOCH: '1700000000', npm_config_registry: 'http://127.0.0.1:9/' };
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'scripts/make/sbom.mjs'), ...words], {
    encoding: 'utf8',
    env,
  });
  if (status !== 0) throw new Error(`exit ${status}: ${stderr}`);
}

const read = (path: string): any => JSON.parse(readFileSync(path, 'utf8'));

test('lists every production package with version, hash and name, and no other', () => {
  const file = join(folder, 'npm.json');
  sbom(['npm', file]);
  const bill = read(file);
  const manifest = read(join(root, 'package.json'));
  expect(bill).toMatchObject({
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    metadata: {
      timestamp: '2023-11-14T22:13:20.000Z',
      component: { name: 'quiver', version: manifest.version, type: 'application' },
    },
  });
  expect(bill.serialNumber).toMatch(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/);
  const found = new Map<string, any>(
    bill.components.map((component: any) => [`${component.name}@${component.version}`, component]),
  );
  for (const name of Object.keys(manifest.dependencies)) {
    const component = found.get(`${name}@${read(join(root, 'node_modules', name, 'package.json')).version}`);
    expect(component).toMatchObject({
      purl: expect.stringMatching(/^pkg:npm\//),
      hashes: [{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) }],
    });
  }
  const names = bill.components.map(({ name }: any) => name);
  // Of the others, some are wanted by a package of production, too.
  for (const name of ['jest', 'typescript', '@swc/core', 'ajv', 'fast-check']) expect(names).not.toContain(name);
});

test('takes the installed packages of Debian beside them, the same each time', () => {
  const file = join(folder, 'image.json');
  const status = join(folder, 'status');
  writeFileSync(
    file,
    JSON.stringify({
      bomFormat: 'CycloneDX',
      specVersion: '1.5',
      metadata: {},
      components: [{ name: 'zod', purl: 'pkg:npm/zod@4.6.7' }],
    }),
  );
  writeFileSync(status, STATUS);
  sbom(['debian', file, status]);
  const once = readFileSync(file, 'utf8');
  const { components } = read(file);
  expect(components.map(({ name, version }: any) => `${name} ${version}`)).toEqual([
    'zod undefined',
    expect.stringMatching(/^\w+ [\w.]+$/),
    'libgomp1 12.2.0-14+deb12u1',
    'tini 0.19.0-1',
  ]);
  expect(components[2].purl).toMatch(/^pkg:deb\/\w+\/libgomp1@12\.2\.0-14%2Bdeb12u1\?arch=amd64&distro=\w+-[\w.]+$/);
  expect(components[2].properties).toEqual([{ name: 'quiver:debian:source', value: 'gcc-12' }]);
  sbom(['debian', file, status]);
  expect(readFileSync(file, 'utf8')).toBe(once);
});

const dpkg = existsSync('/var/lib/dpkg/status') ? test : test.skip;
dpkg('reads what this system has', () => {
  const file = join(folder, 'system.json');
  writeFileSync(file, JSON.stringify({ metadata: {}, components: [] }));
  sbom(['debian', file]);
  expect(read(file).components.map(({ name }: any) => name)).toContain('libc6');
});

test('says how it is used', () => {
  expect(() => sbom(['rpm', 'x'])).toThrow(/exit 2: usage: sbom\.mjs/);
});
