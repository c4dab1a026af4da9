import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { caseNames, CASES, CHART } from '../support/chart/chart-files';
import { helm, KUBERNETES_VERSIONS, testWithHelm } from '../support/chart/helm';

/** What Helm itself says of the chart. */

const template = (...words: string[]): ReturnType<typeof helm> =>
  helm('template', 'search', CHART, '--kube-version', KUBERNETES_VERSIONS[1], ...words);

for (const version of KUBERNETES_VERSIONS) {
  testWithHelm(`helm lint --strict finds nothing for Kubernetes ${version}`, () => {
    for (const name of caseNames) {
      const { status, stdout, stderr } = helm(
        'lint',
        '--strict',
        CHART,
        '--kube-version',
        version,
        '--values',
        join(CASES, `${name}.yaml`),
      );
      expect({ name, status, stderr }).toEqual({ name, status: 0, stderr: '' });
      expect(stdout).toContain('1 chart(s) linted, 0 chart(s) failed');
      expect(stdout).not.toMatch(/\[(?:WARNING|ERROR)\]/);
    }
  });
}

testWithHelm('an older Kubernetes is refused', () => {
  expect(helm('template', 'search', CHART, '--kube-version', '1.26.9').stderr).toContain(
    'incompatible with Kubernetes v1.26.9',
  );
});

testWithHelm('the chart packs, and renders the same from the package', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quiver-chart-'));
  try {
    expect(helm('package', CHART, '--destination', folder).status).toBe(0);
    // Nothing drawn, which would be another each time.
    const given = ['--values', join(CASES, 'production.yaml'), '--set', 'etcd.auth.existingSecret=etcd-users'];
    const words = ['--kube-version', KUBERNETES_VERSIONS[1], ...given];
    const packed = helm('template', 'search', join(folder, 'quiver-0.2.0.tgz'), ...words);
    expect(packed.status).toBe(0);
    expect(packed.stdout).toBe(template(...given).stdout);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

const REFUSED: [values: string[], message: string][] = [
  [['node.replicaz=3'], "additional properties 'replicaz' not allowed"],
  [['etcd.replicas=2'], "at '/etcd/replicas'"],
  [['config.PROT=1'], 'config.PROT is no setting that the chart knows'],
  [['config.RECALL_TARGT=0.9'], 'config.RECALL_TARGT is no setting that the chart knows: did you mean RECALL_TARGET?'],
  [
    ['config.default_shards=3'],
    'config.default_shards is no setting that the chart knows: did you mean DEFAULT_SHARDS?',
  ],
  [['config.PORT=1'], 'config.PORT is no value of this chart; in its place: coordinator.service.port'],
  [['externalEtcd.endpoints={http://a:2379}'], 'externalEtcd.endpoints is set while etcd.enabled is true'],
  [['etcd.enabled=false'], 'a cluster needs an etcd'],
  [
    ['etcd.enabled=false', 'externalEtcd.endpoints={http://a:2379}', 'externalEtcd.username=u'],
    'externalEtcd.username is set without externalEtcd.passwordSecret',
  ],
  [
    ['etcd.enabled=false', 'externalEtcd.endpoints={https://a:2379}', 'externalEtcd.clientCertificate=true'],
    'without externalEtcd.tlsSecret',
  ],
  [['auth.existingSecret=s', 'auth.apiKey=the-api-key'], 'auth.existingSecret is set together with'],
  [['config.DEFAULT_REPLICAS=4'], 'config.DEFAULT_REPLICAS is 4, but node.replicas only 3'],
  [['config.CHUNK_SIZE=40'], 'config.CHUNK_OVERLAP must be below CHUNK_SIZE (40)'],
  [['config.CHUNK_OVERLAP=600'], 'config.CHUNK_OVERLAP must be below CHUNK_SIZE (500)'],
  [['coordinator.preStopSleepSeconds=30'], 'coordinator.terminationGracePeriodSeconds must be at least 20 above'],
  [
    ['coordinator.autoscaling.enabled=true', 'coordinator.autoscaling.minReplicas=9'],
    'minReplicas is above maxReplicas',
  ],
  [['coordinator.ingress.enabled=true'], 'coordinator.ingress.hosts is empty'],
  [['tls.secrets.etcd=c'], 'tls.secrets.coordinator is empty'],
  [['tls.secrets.coordinator=a', 'tls.secrets.node=b'], 'tls.secrets.etcd is empty'],
  [['node.extraEnv[0].name=DATA_DIR', 'node.extraEnv[0].value=/x'], 'node.extraEnv: DATA_DIR is set by the chart'],
];

for (const [values, message] of REFUSED) {
  testWithHelm(`${values.join(', ')} is refused`, () => {
    const { status, stderr } = template(...values.flatMap((value) => ['--set', value]));
    expect(status).not.toBe(0);
    expect(stderr).toContain(message);
  });
}

testWithHelm('threads follow the requested processors', () => {
  const threads = (cpu: string, ...more: string[]): string[] => {
    const { stdout } = template(
      '--show-only',
      'templates/node/statefulset.yaml',
      '--set-string',
      `node.resources.requests.cpu=${cpu}`,
      ...more,
    );
    return [
      ...stdout.matchAll(
        /\{name: (?:READ_THREADS|INDEX_THREADS|OMP_NUM_THREADS|UV_THREADPOOL_SIZE), value: "(\d+)"\}/g,
      ),
    ].map(([, value]) => value);
  };
  expect(threads('250m')).toEqual(['1', '1', '5', '1']);
  expect(threads('3500m')).toEqual(['4', '4', '8', '4']);
  expect(threads('2')).toEqual(['2', '2', '6', '2']);
  expect(threads('1.5')).toEqual(['2', '2', '6', '2']);
  expect(threads('4', '--set', 'node.indexThreads=2', '--set', 'node.readThreads=3')).toEqual(['3', '2', '8', '4']);
  const ofCoordinators = (...words: string[]): string[] => {
    const { stdout } = template('--show-only', 'templates/coordinator/deployment.yaml', ...words);
    return [...stdout.matchAll(/(?:HTTP|EMBEDDING)_THREADS, value: "(\d+)"/g)].map(([, value]) => value);
  };
  expect(ofCoordinators('--set', 'coordinator.resources.requests.cpu=3')).toEqual(['3', '3']);
  expect(ofCoordinators('--set', 'coordinator.httpThreads=4', '--set', 'coordinator.embeddingThreads=2')).toEqual([
    '4',
    '2',
  ]);
});

testWithHelm('notes tell how to reach the service, and warn of what is fragile', () => {
  // Helm shows notes only when it installs; a copy of the chart shows them in an object.
  const copy = join(mkdtempSync(join(tmpdir(), 'quiver-chart-')), 'quiver');
  cpSync(CHART, copy, { recursive: true });
  writeFileSync(
    join(copy, 'templates/shown.yaml'),
    'notes: {{ include (print .Template.BasePath "/NOTES.txt") . | quote }}\n',
  );
  const notes = (...values: string[]): string => {
    const words = [
      '--kube-version',
      KUBERNETES_VERSIONS[1],
      '--namespace',
      'vectors',
      '--show-only',
      'templates/shown.yaml',
    ];
    const { status, stdout, stderr } = helm(
      'template',
      'search',
      copy,
      ...words,
      ...values.flatMap((value) => ['--set', value]),
    );
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    return parse(stdout).notes;
  };
  const usual = notes();
  expect(usual).toContain('kubectl --namespace vectors port-forward service/search-quiver 8000:8000');
  expect(usual).toContain('get secret search-quiver-auth');
  expect(usual).not.toContain('WARNING');
  expect(notes('config.DEFAULT_REPLICAS=1')).toContain('WARNING: new collections have one replica');
  expect(notes('etcd.replicas=1')).toContain('WARNING: an etcd of one member');
  expect(notes('tls.enabled=false')).toContain('WARNING: without TLS');
  expect(usual).toContain('The chart made the certificates, for 3650 days');
  expect(notes('tls.certManager.enabled=true')).not.toContain('The chart made the certificates');
  rmSync(dirname(copy), { recursive: true });
});
