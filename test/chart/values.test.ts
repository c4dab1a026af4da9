import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv from 'ajv';
import { parse } from 'yaml';
import packageJson from '../../package.json';
import { caseNames, caseValues, CHART, ROOT } from '../support/chart/chart-files';
import { CONFIGURABLE, configSchema } from '../support/chart/config-schema';
import { helm, KUBERNETES_VERSIONS, testWithHelm } from '../support/chart/helm';
import { valuesTable } from '../support/chart/values-table';

const read = (path: string): string => readFileSync(join(CHART, path), 'utf8');
const SCHEMA_FILE = join(CHART, 'values.schema.json');
const README_FILE = join(CHART, 'README.md');
/** What `config` may hold, for templates/checks.yaml. */
const NAMES_FILE = 'files/settings.txt';
const settingNames = (): string => CONFIGURABLE.map(({ name }) => `${name}\n`).join('');
/** How the schema describes them: it lets them through to templates/checks.yaml, which says where to go. */
const MOVED = 'Moved: ';
const UPDATE_HINT = 'UPDATE=1 npx jest test/chart/values.test.ts';

if (process.env.UPDATE === '1') {
  const schema = JSON.parse(read('values.schema.json'));
  Object.assign(schema.properties, movedSchema(''));
  schema.properties.config = withMoved(configSchema());
  writeFileSync(join(CHART, NAMES_FILE), settingNames());
  writeFileSync(SCHEMA_FILE, `${JSON.stringify(schema, null, 2)}\n`);
  writeFileSync(
    README_FILE,
    read('README.md').replace(/\| value \| default \|[\s\S]*?\n(?=\n|$)/, () => valuesTable(read('values.yaml'))),
  );
}

const schema = JSON.parse(read('values.schema.json'));
const validate = new Ajv({ allErrors: true, strict: false }).compile(schema);

/** Names that other charts have, by where the value is in this one. */
function movedSchema(under: string): Record<string, object> {
  const moved = Object.entries<string>(parse(read('files/moved-values.yaml'))).filter(([path]) =>
    under === '' ? !path.includes('.') : path.startsWith(under),
  );
  return Object.fromEntries(
    moved.map(([path, place]) => [path.slice(under.length), { description: `${MOVED}${place}` }]),
  );
}

function withMoved(config: { properties: object }): object {
  return { ...config, properties: { ...config.properties, ...movedSchema('config.') } };
}

/** Where a set of values is wrong, '' when it is not. */
function refusal(values: unknown): string {
  if (validate(values)) return '';
  return validate
    .errors!.map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`)
    .join('\n');
}

/** `a.b.c` = value as an object. */
function at(path: string, value: unknown): Record<string, unknown> {
  return path.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Record<string, unknown>;
}

describe('values', () => {
  test("the chart's own and those of every case are valid", () => {
    expect(refusal(parse(read('values.yaml')))).toBe('');
    for (const name of caseNames) expect(refusal(caseValues(name))).toBe('');
  });

  test('every value of values.yaml is in the schema by its name, and the other way round', () => {
    const named = (properties: any, values: any, path: string): void => {
      const keys = Object.keys(properties).filter(
        (key) => (path !== '' || key !== 'global') && !properties[key].description?.startsWith(MOVED),
      );
      expect({ path, keys: keys.sort() }).toEqual({ path, keys: Object.keys(values).sort() });
      for (const key of keys) {
        const resolved = properties[key].$ref
          ? schema.definitions[properties[key].$ref.split('/').pop()]
          : properties[key];
        const isOpen = path === '' && key === 'config';
        const isOptional = key === 'issuerRef' || key === 'resources';
        if (resolved.properties && !isOpen && !isOptional) named(resolved.properties, values[key], `${path}/${key}`);
      }
    };
    named(schema.properties, parse(read('values.yaml')), '');
  });

  test("what config may hold is what the program's settings say", () => {
    expect({ config: schema.properties.config, hint: UPDATE_HINT }).toEqual({
      config: JSON.parse(JSON.stringify(withMoved(configSchema()))),
      hint: UPDATE_HINT,
    });
  });

  test('the names that config may hold are in a file for the templates', () => {
    expect({ names: read(NAMES_FILE), hint: UPDATE_HINT }).toEqual({ names: settingNames(), hint: UPDATE_HINT });
  });

  test.each([
    ['replica', 3, '/ must NOT have additional properties'],
    ['node.replica', 3, '"additionalProperty":"replica"'],
    ['node.replicas', 0, '/node/replicas must be >= 1'],
    ['node.replicas', '3', '/node/replicas must be integer'],
    ['node.replicas', 2.5, '/node/replicas must be integer'],
    ['node.persistence.size', '20', '/node/persistence/size must match pattern'],
    ['node.persistence.size', '20GB', '/node/persistence/size must match pattern'],
    ['node.persistence.storageclass', 'fast', '"additionalProperty":"storageclass"'],
    ['node.terminationGracePeriodSeconds', 10, '/node/terminationGracePeriodSeconds must be >= 30'],
    ['node.resources', { requests: { cpu: 1, memory: '1Gi' } }, "/node/resources must have required property 'limits'"],
    [
      'node.resources',
      { requests: { cpu: '1 core', memory: '1Gi' }, limits: { memory: '1Gi' } },
      '/node/resources/requests/cpu must match',
    ],
    [
      'node.resources',
      { requests: { cpu: 1, memory: '1Gi' }, limits: { cpu: 1 } },
      "/node/resources/limits must have required property 'memory'",
    ],
    ['node.podLabels', { team: 'a b' }, '/node/podLabels/team must match pattern'],
    ['coordinator.service.type', 'Loadbalancer', '/coordinator/service/type must be equal to one of'],
    ['coordinator.service.port', 70000, '/coordinator/service/port must be <= 65535'],
    ['coordinator.ingress.hosts', 'a.example', '/coordinator/ingress/hosts must be array'],
    ['coordinator.ingress.hosts', ['https://a.example'], '/coordinator/ingress/hosts/0 must match pattern'],
    ['coordinator.autoscaling.enabled', 'yes', '/coordinator/autoscaling/enabled must be boolean'],
    ['coordinator.extraEnv', [{ name: 'A B' }], '/coordinator/extraEnv/0/name must match pattern'],
    ['coordinator.extraEnv', { A: 'b' }, '/coordinator/extraEnv must be array'],
    ['config.LOG_LEVEL', 'verbose', '/config/LOG_LEVEL must be equal to one of'],
    ['config.DEFAULT_REPLICAS', 6, '/config/DEFAULT_REPLICAS must be <= 5'],
    ['config.MAX_BODY_BYTES', '64Mi', '/config/MAX_BODY_BYTES must be integer'],
    ['etcd.replicas', 2, '/etcd/replicas must be equal to one of'],
    ['image.tag', 'latest', '/image/tag must NOT be valid'],
    ['image.digest', 'sha256:12', '/image/digest must match pattern'],
    ['image.pullPolicy', 'always', '/image/pullPolicy must be equal to one of'],
    ['auth.apiKey', ' blank ', '/auth/apiKey must match pattern'],
    ['auth.clusterSecret', 'fifteen letters', '/auth/clusterSecret must match pattern'],
    ['tls.days', 0, '/tls/days must be >= 1'],
    ['networkPolicy.egress.dnsPorts', ['dns'], '/networkPolicy/egress/dnsPorts/0 must be integer'],
    ['auth.existingSecret', 'My_Secret', '/auth/existingSecret must match pattern'],
    ['externalEtcd.endpoints', ['etcd:2379'], '/externalEtcd/endpoints/0 must match pattern'],
    ['externalEtcd.endpoints', 'http://etcd:2379', '/externalEtcd/endpoints must be array'],
    ['tls.certManager.issuerRef', { kind: 'Issuer' }, '/tls/certManager/issuerRef must have property name'],
    ['tls.certManager.duration', '1y', '/tls/certManager/duration must match pattern'],
    ['podSecurity.runAsUser', 0, '/podSecurity/runAsUser must be >= 1'],
    ['networkPolicy.apiFrom', ['ingress'], '/networkPolicy/apiFrom/0 must be object'],
    ['metrics.podMonitor.interval', 30, '/metrics/podMonitor/interval must be string'],
  ])('%s = %j is refused by name', (path, value, message) => {
    expect(refusal(at(path, value)).replace(/^ /gm, '/ ')).toContain(message);
  });
});

describe('values by the names of other charts', () => {
  const moved = Object.entries<string>(parse(read('files/moved-values.yaml')));

  test('lead to values that this chart has', () => {
    const values = parse(read('values.yaml'));
    for (const [path, place] of moved) {
      const named = [...place.matchAll(/\b(?:[a-z]\w*\.)+\w+/g)].map(([name]) => name);
      for (const name of named)
        expect({ path, name, value: name.split('.').reduce((inner, part) => inner?.[part], values) }).not.toEqual({
          path,
          name,
          value: undefined,
        });
      expect(path.split('.').reduce((inner, part) => inner?.[part], values)).toBeUndefined();
      expect(refusal(at(path, 1))).toBe('');
    }
    expect(movedSchema('')).toEqual(
      Object.fromEntries(
        Object.entries(schema.properties).filter(([, { description }]: [string, any]) =>
          description?.startsWith(MOVED),
        ),
      ),
    );
  });

  testWithHelm('are refused with the place, all at once', () => {
    const { status, stderr } = helm(
      'template',
      'x',
      CHART,
      '--kube-version',
      KUBERNETES_VERSIONS[0],
      '--set',
      'ingress.enabled=true,serviceMonitor.enabled=true,config.PORT=80',
    );
    expect(status).not.toBe(0);
    expect(stderr).toContain(
      'config.PORT is no value of this chart; in its place: coordinator.service.port; ingress is no value of this chart; in its place: coordinator.ingress; serviceMonitor is',
    );
  });
});

describe('what the chart says of itself', () => {
  const chart = parse(read('Chart.yaml'));

  test('its versions are those of the program', () => {
    expect(chart.appVersion).toBe(packageJson.version);
    expect(chart.kubeVersion).toBe(`>=${KUBERNETES_VERSIONS[0]}-0`);
  });

  test('the README has the table of values', () => {
    expect({ readme: read('README.md'), hint: UPDATE_HINT }).toEqual({
      readme: expect.stringContaining(valuesTable(read('values.yaml'))),
      hint: UPDATE_HINT,
    });
  });

  test("the project's README names the chart and five of its values as they are", () => {
    const section =
      /\n## On Kubernetes\n([\s\S]*?)\n## /.exec(readFileSync(join(ROOT, 'README.md'), 'utf8'))?.[1] ?? '';
    const values = [...section.matchAll(/`([a-z]+(?:\.\w+)+)`/g)].map(([, path]) => path);
    const defaults = parse(read('values.yaml'));
    expect(values.length).toBe(5);
    for (const path of values)
      expect({ path, value: path.split('.').reduce((inner, name) => inner?.[name], defaults) }).not.toEqual({
        path,
        value: undefined,
      });
  });
});
