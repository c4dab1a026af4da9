import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments, stringify } from 'yaml';
import { CASES, CHART, ROOT } from './chart-files';
import { helm } from './helm';
import type { Manifest } from './manifest';

const GOLDEN = join(ROOT, 'test/chart/golden');
const HASH_FILE = join(GOLDEN, 'rendered-from.sha256');
export const RELEASE = 'search';
export const NAMESPACE = 'vectors';

/** A Secret's value that Helm drew, and what stands for it: no two runs draw the same. */
const DRAWN = /^[A-Za-z0-9]{40}$/;
const DRAWN_MARK = '<forty random letters and digits>';
/** What the chart makes again for each installation, and what stands for it. */
const PEM_MARKS: [RegExp, mark: string, file: string][] = [
  [/^-----BEGIN CERTIFICATE-----/, '<a certificate>', 'server.pem'],
  [/^-----BEGIN EC PRIVATE KEY-----/, '<a private key>', 'server.key.pem'],
];
const ALERTS_MARK = '<files/alerts.yaml>';

/** Renders a case for one version of Kubernetes. Errors: what Helm says. */
export function render(name: string, kubernetes: string, ...words: string[]): Manifest[] {
  const { status, stdout, stderr } = helm(
    'template',
    RELEASE,
    CHART,
    '--namespace',
    NAMESPACE,
    '--kube-version',
    kubernetes,
    '--values',
    join(CASES, `${name}.yaml`),
    ...words,
  );
  if (status !== 0) throw new Error(stderr);
  return manifestsFrom(stdout);
}

export function manifestsFrom(text: string): Manifest[] {
  const objects = parseAllDocuments(text, { uniqueKeys: true }).map((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJS() as Manifest | null;
  });
  return objects
    .filter((object) => object !== null)
    .sort((a, b) => (`${a.kind} ${a.metadata.name}` < `${b.kind} ${b.metadata.name}` ? -1 : 1));
}

/** With marks in place of what differs from run to run and of files that are carried over as they are. */
export function goldenText(objects: readonly Manifest[]): string {
  return objects
    .map((object) => stringify(marked(object), { lineWidth: 0, aliasDuplicateObjects: false }))
    .join('---\n');
}

function marked(object: Manifest): Manifest {
  const copy = structuredClone(object);
  if (copy.kind === 'Secret') {
    for (const [key, value] of Object.entries(copy.data)) {
      const text = Buffer.from(value as string, 'base64').toString();
      copy.data[key] = DRAWN.test(text)
        ? DRAWN_MARK
        : (PEM_MARKS.find(([pattern]) => pattern.test(text))?.[1] ?? value);
    }
  }
  if (copy.kind === 'PrometheusRule') copy.spec.groups = ALERTS_MARK;
  if (copy.kind === 'ConfigMap' && copy.metadata.name.endsWith('-dashboards'))
    for (const key of Object.keys(copy.data)) copy.data[key] = `<files/${fileOfDashboard(copy, key)}>`;
  return copy;
}

function fileOfDashboard(map: Manifest, key: string): string {
  return key.slice(map.metadata.name.length - 'dashboards'.length);
}

/** The golden manifests of a case, with the files as they are now in place of their marks. */
export function golden(name: string): Manifest[] {
  const objects = manifestsFrom(goldenFile(name));
  for (const object of objects) {
    if (object.kind === 'Secret') {
      for (const [key, value] of Object.entries(object.data)) {
        const pem = PEM_MARKS.find(([, mark]) => mark === value);
        if (value === DRAWN_MARK) object.data[key] = Buffer.from('quiver-'.repeat(6).slice(0, 40)).toString('base64');
        if (pem !== undefined)
          object.data[key] = readFileSync(join(ROOT, 'test/support/certificates', pem[2])).toString('base64');
      }
    }
    if (object.kind === 'PrometheusRule') object.spec = parse(readFileSync(join(CHART, 'files/alerts.yaml'), 'utf8'));
    if (object.kind === 'ConfigMap' && object.metadata.name.endsWith('-dashboards')) {
      for (const key of Object.keys(object.data))
        object.data[key] = readFileSync(join(CHART, 'files', fileOfDashboard(object, key)), 'utf8');
    }
  }
  return objects;
}

export function goldenFile(name: string): string {
  return readFileSync(join(GOLDEN, `${name}.yaml`), 'utf8');
}

export function goldenNames(): string[] {
  return readdirSync(GOLDEN)
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => file.replace(/\.yaml$/, ''))
    .sort();
}

export function writeGolden(name: string, text: string): void {
  writeFileSync(join(GOLDEN, `${name}.yaml`), text);
}

/** The hash of the chart that the goldens were rendered from. */
export function goldenHash(): string {
  return existsSync(HASH_FILE) ? readFileSync(HASH_FILE, 'utf8').trim() : 'none';
}

export function writeGoldenHash(hash: string): void {
  writeFileSync(HASH_FILE, `${hash}\n`);
}
