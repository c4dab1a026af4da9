import { caseNames } from '../support/chart/chart-files';
import { golden } from '../support/chart/golden';
import { ManifestSchemas, SCHEMA_VERSIONS } from '../support/chart/schemas';

describe.each(SCHEMA_VERSIONS)('by the schemas of Kubernetes %s', (version) => {
  const schemas = new ManifestSchemas(version);

  test.each(caseNames)('%s: every object is valid', (name) => {
    const objects = golden(name);
    expect(objects.length).toBeGreaterThan(8);
    expect(objects.flatMap((object) => schemas.violations(object))).toEqual([]);
  });

  test.each([
    [
      'a misspelt field',
      (spec: any) => Object.assign(spec.template.spec.containers[0], { enviroment: [] }),
      'must NOT have additional properties',
    ],
    ['a text for a number', (spec: any) => Object.assign(spec, { replicas: 'two' }), 'must be integer'],
    ['a missing field', (spec: any) => delete spec.selector, "must have required property 'selector'"],
    [
      'a list for an object',
      (spec: any) => Object.assign(spec.template.spec, { securityContext: [] }),
      'must be object',
    ],
  ])('%s is refused', (_what, spoil, message) => {
    const deployment = golden('minimal').find(({ kind }) => kind === 'Deployment')!;
    spoil(deployment.spec);
    expect(schemas.violations(deployment).join('\n')).toContain(message);
  });

  test('misspelt fields of custom resources and unknown kinds are refused', () => {
    const certificate = golden('production').find(({ kind }) => kind === 'Certificate')!;
    expect(schemas.violations({ ...certificate, spec: { ...certificate.spec, dnsName: [] } }).join()).toContain(
      'additional properties',
    );
    expect(schemas.violations({ ...certificate, apiVersion: 'cert-manager.io/v2' })).toHaveLength(1);
  });
});
