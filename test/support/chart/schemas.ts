import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv, { type ValidateFunction } from 'ajv';
import { type Manifest, titleOf } from './manifest';

const FOLDER = join(__dirname, 'schemas');

/** Versions of Kubernetes whose schemas are checked in (scripts/make/chart-schemas.mjs). */
export const SCHEMA_VERSIONS = ['1.27', '1.36'] as const;

/**
 * Checks manifests by the schemas of one version of Kubernetes and of the custom resources; no field that they don't
 * name is let through.
 */
export class ManifestSchemas {
  private readonly validators = new Map<string, ValidateFunction>();

  constructor(version: (typeof SCHEMA_VERSIONS)[number]) {
    for (const file of [`kubernetes-${version}.json`, 'custom-resources.json']) {
      const { kinds, definitions } = JSON.parse(readFileSync(join(FOLDER, file), 'utf8'));
      const ajv = new Ajv({ allErrors: true, strict: false, unicodeRegExp: false });
      ajv.addSchema({ $id: file, definitions });
      for (const [kind, reference] of Object.entries(kinds))
        this.validators.set(kind, ajv.compile({ $ref: `${file}${reference as string}` }));
    }
  }

  /** One line for each thing that is wrong. */
  violations(object: Manifest): string[] {
    const validate = this.validators.get(`${object.apiVersion}/${object.kind}`);
    if (validate === undefined) return [`${titleOf(object)}: no schema for ${object.apiVersion}`];
    if (validate(object)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${titleOf(object)}${instancePath}: ${message} ${JSON.stringify(params)}`,
    );
  }
}
