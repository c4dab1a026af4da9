// Writes the schemas against which the chart's manifests are checked: Kubernetes' own, of the oldest and the newest
// version that the chart supports, and those of the custom resources that it creates. All come from the projects' Go
// modules. Run it when the versions below change. The files are committed, so that tests need neither Go nor a network.
//
//   node scripts/make/chart-schemas.mjs
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from '../setup.mjs';

const FOLDER = join(ROOT, 'test', 'support', 'chart', 'schemas');
const KUBERNETES = [
  { version: '1.27', module: 'k8s.io/kubernetes@v1.27.16' },
  { version: '1.36', module: 'k8s.io/kubernetes@v1.36.3' },
];
const KINDS = [
  'apps/v1/Deployment',
  'apps/v1/StatefulSet',
  'autoscaling/v2/HorizontalPodAutoscaler',
  'networking.k8s.io/v1/Ingress',
  'networking.k8s.io/v1/NetworkPolicy',
  'policy/v1/PodDisruptionBudget',
  'v1/ConfigMap',
  'v1/Pod',
  'v1/Secret',
  'v1/Service',
  'v1/ServiceAccount',
];
const CERT_MANAGER = 'github.com/cert-manager/cert-manager@v1.21.2';
const PROMETHEUS_OPERATOR = 'github.com/prometheus-operator/prometheus-operator@v0.85.0';
const CUSTOM_RESOURCES = [
  [CERT_MANAGER, 'deploy/crds/cert-manager.io_certificates.yaml'],
  [CERT_MANAGER, 'deploy/crds/cert-manager.io_issuers.yaml'],
  [PROMETHEUS_OPERATOR, 'example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml'],
  [PROMETHEUS_OPERATOR, 'example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml'],
];
/** The keywords that ajv knows and that are useful; descriptions and Kubernetes' own annotations are left out. */
const KEYWORDS = [
  'type',
  'required',
  'enum',
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'pattern',
  'minItems',
  'maxItems',
  '$ref',
];

/** @param {string} module */
function folderOf(module) {
  const { stdout, stderr, status } = spawnSync('go', ['mod', 'download', '-json', module], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${module} could not be had: ${stdout}${stderr}`);
  return JSON.parse(stdout).Dir;
}

/**
 * A schema reduced to `KEYWORDS` and closed: unknown fields are refused. The API server would drop or refuse them.
 * @param {any} schema
 */
function strict(schema) {
  if (schema.format === 'int-or-string' || schema['x-kubernetes-int-or-string']) return { type: ['integer', 'string'] };
  const result = Object.fromEntries(Object.entries(schema).filter(([key]) => KEYWORDS.includes(key)));
  // Go's flag for case-insensitivity; JavaScript has it only for a whole expression.
  if (result.pattern?.includes('(?i)'))
    result.pattern = result.pattern
      .replace('(?i)', '')
      .replace(/[a-z]/gi, (/** @type {string} */ letter) => `[${letter.toLowerCase()}${letter.toUpperCase()}]`);
  if (schema.properties) {
    result.properties = Object.fromEntries(
      Object.entries(schema.properties).map(([name, property]) => [name, strict(property)]),
    );
    if (!schema['x-kubernetes-preserve-unknown-fields']) result.additionalProperties = false;
  }
  if (schema.items) result.items = strict(schema.items);
  if (typeof schema.additionalProperties === 'object')
    result.additionalProperties = strict(schema.additionalProperties);
  for (const word of ['allOf', 'anyOf', 'oneOf'])
    if (schema[word] && !schema.properties) result[word] = schema[word].map(strict);
  return result;
}

/** @param {string} module */
function kubernetesSchemas(module) {
  const { definitions } = JSON.parse(readFileSync(join(folderOf(module), 'api/openapi-spec/swagger.json'), 'utf8'));
  /** @type {Record<string, string>} */
  const kinds = {};
  /** @type {Record<string, object>} */
  const needed = {};
  const follow = (/** @type {string} */ name) => {
    if (needed[name]) return;
    // A quantity may be written as a number, but the generated schema allows only text.
    needed[name] = name.endsWith('api.resource.Quantity') ? { type: ['string', 'number'] } : strict(definitions[name]);
    for (const [, next] of JSON.stringify(needed[name]).matchAll(/"#\/definitions\/([^"]+)"/g)) follow(next);
  };
  for (const [name, definition] of Object.entries(/** @type {Record<string, any>} */ (definitions))) {
    for (const { group, version, kind } of definition['x-kubernetes-group-version-kind'] ?? []) {
      const id = [group, version, kind].filter((part) => part !== '').join('/');
      if (!KINDS.includes(id)) continue;
      kinds[id] = `#/definitions/${name}`;
      follow(name);
    }
  }
  const missing = KINDS.filter((kind) => !kinds[kind]);
  if (missing.length > 0) throw new Error(`${module} lacks ${missing.join(', ')}`);
  return { source: module, kinds, definitions: needed };
}

function customSchemas() {
  /** @type {Record<string, string>} */
  const kinds = {};
  /** @type {Record<string, any>} */
  const definitions = {};
  for (const [module, path] of CUSTOM_RESOURCES) {
    const { spec } = parse(readFileSync(join(folderOf(module), path), 'utf8'));
    for (const version of spec.versions.filter((/** @type {{ storage: boolean }} */ { storage }) => storage)) {
      const id = `${spec.group}/${version.name}/${spec.names.kind}`;
      kinds[id] = `#/definitions/${spec.names.kind}`;
      definitions[spec.names.kind] = strict(version.schema.openAPIV3Schema);
      definitions[spec.names.kind].properties.metadata = { type: 'object' };
    }
  }
  return { source: `${CERT_MANAGER}, ${PROMETHEUS_OPERATOR}`, kinds, definitions };
}

/** @type {(name: string, schemas: object) => void} */
const write = (name, schemas) => writeFileSync(join(FOLDER, name), `${JSON.stringify(sorted(schemas), null, 1)}\n`);
/** @type {(value: any) => any} */
const sorted = (value) => {
  if (Array.isArray(value) || typeof value !== 'object' || value === null)
    return Array.isArray(value) ? value.map(sorted) : value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
};

for (const { version, module } of KUBERNETES) write(`kubernetes-${version}.json`, kubernetesSchemas(module));
write('custom-resources.json', customSchemas());
