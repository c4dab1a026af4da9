import { golden } from '../support/chart/golden';
import { type Manifest, named } from '../support/chart/manifest';
import { RULES } from '../support/chart/rules';

/** Every rule catches what it is there for: each line spoils a sound release in one place. */

type Spoil = (objects: Manifest[]) => unknown;

const NAME = 'search-quiver';
const node = (objects: Manifest[]): any => named(objects, 'StatefulSet', `${NAME}-node`);
const etcd = (objects: Manifest[]): any => named(objects, 'StatefulSet', `${NAME}-etcd`);
const coordinator = (objects: Manifest[]): any => named(objects, 'Deployment', `${NAME}-coordinator`);
const pod = (owner: any): any => owner.spec.template.spec;
const container = (owner: any): any => pod(owner).containers[0];
const spec = (objects: Manifest[], kind: string, name = NAME): any => named(objects, kind, name)!.spec;
const setEnv = (owner: any, name: string, value: string): void => {
  const { env } = container(owner);
  const at = env.findIndex((each: any) => each.name === name);
  env.splice(at < 0 ? env.length : at, at < 0 ? 0 : 1, { name, value });
};
const setArg = (objects: Manifest[], from: RegExp, to: string): void => {
  const { args } = container(etcd(objects));
  container(etcd(objects)).args = args.map((word: string) => word.replace(from, to));
};

const SPOILS: Record<string, [what: string, spoil: Spoil][]> = {
  'the restricted Pod Security Standard: pods': [
    ['root', (all) => (pod(node(all)).securityContext.runAsNonRoot = false)],
    ['uid 0', (all) => (pod(node(all)).securityContext.runAsUser = 0)],
    ['no seccomp profile', (all) => delete pod(etcd(all)).securityContext.seccompProfile],
    ["the host's network", (all) => (pod(coordinator(all)).hostNetwork = true)],
    ["the host's files", (all) => (pod(node(all)).volumes[0] = { name: 'tmp', hostPath: { path: '/tmp' } })],
  ],
  'the restricted Pod Security Standard: containers': [
    ['privileges', (all) => (container(node(all)).securityContext.allowPrivilegeEscalation = true)],
    ['a capability', (all) => (container(node(all)).securityContext.capabilities.add = ['NET_ADMIN'])],
  ],
  'root file systems are read-only': [
    ['a writable one', (all) => delete container(etcd(all)).securityContext.readOnlyRootFilesystem],
  ],
  'no pod has a token of the API server or variables of other Services': [
    ['a token', (all) => delete pod(coordinator(all)).automountServiceAccountToken],
    ['service links', (all) => delete pod(node(all)).enableServiceLinks],
  ],
  'memory has a limit, and what is needed is requested': [
    ['no limit', (all) => delete container(node(all)).resources.limits.memory],
    ['a processor limit', (all) => (container(node(all)).resources.limits.cpu = '1')],
  ],
  'images are pinned': [
    ['latest', (all) => (container(etcd(all)).image = 'etcd:latest')],
    ['no tag', (all) => (container(etcd(all)).image = 'registry.example:5000/etcd')],
  ],
  'probes ask the operations port': [
    ['no readiness', (all) => delete container(node(all)).readinessProbe],
    ['life that asks for readiness', (all) => (container(coordinator(all)).livenessProbe.httpGet.path = '/readyz')],
    ['the API', (all) => (container(coordinator(all)).readinessProbe.httpGet.port = 'http')],
  ],
  'probes are patient': [['a quick death', (all) => (container(node(all)).livenessProbe.failureThreshold = 1)]],
  'mounts and volumes belong together': [
    ['a mount of nothing', (all) => (pod(coordinator(all)).volumes = [])],
    ['part of a folder', (all) => (container(node(all)).volumeMounts.at(-1).subPath = 'tls.crt')],
  ],
  'ports have names of their own, metrics among them': [
    ['no metrics', (all) => (container(node(all)).ports.at(-1).name = 'ops')],
  ],
  'pods of a workload are spread over machines and zones': [
    ['machines', (all) => (pod(etcd(all)).topologySpreadConstraints[0].whenUnsatisfiable = 'ScheduleAnyway')],
    [
      "another's labels",
      (all) =>
        (pod(etcd(all)).topologySpreadConstraints[1].labelSelector.matchLabels['app.kubernetes.io/component'] = 'node'),
    ],
  ],
  'what would restart pods or block upgrades is not in them': [
    [
      'a version in a claim',
      (all) => (node(all).spec.volumeClaimTemplates[0].metadata.labels['helm.sh/chart'] = 'quiver-0.2.0'),
    ],
    [
      'a version in a pod',
      (all) => (coordinator(all).spec.template.metadata.labels['app.kubernetes.io/version'] = '0.2.0'),
    ],
  ],
  'stores start together, keep their volumes and have names': [
    ['one by one', (all) => delete node(all).spec.podManagementPolicy],
    ['volumes deleted', (all) => (node(all).spec.persistentVolumeClaimRetentionPolicy.whenScaled = 'Delete')],
    ['names only when ready', (all) => delete spec(all, 'Service', `${NAME}-etcd`).publishNotReadyAddresses],
  ],
  'names are unique and short enough for a label': [['a second one', (all) => all.push(structuredClone(node(all)))]],
  "workloads select their own pods, and no other's": [
    ['all pods', (all) => delete node(all).spec.selector.matchLabels['app.kubernetes.io/component']],
    ['none', (all) => (node(all).spec.selector.matchLabels['app.kubernetes.io/component'] = 'other')],
  ],
  'a Service leads to the pods of one workload, at ports that they have': [
    ['all pods', (all) => delete spec(all, 'Service').selector['app.kubernetes.io/component']],
    ['a port that is not', (all) => (spec(all, 'Service').ports[0].targetPort = 'web')],
  ],
  'each workload has a disruption budget of one pod': [
    ['two pods', (all) => (spec(all, 'PodDisruptionBudget', `${NAME}-node`).maxUnavailable = 2)],
    [
      'none',
      (all) =>
        all.splice(
          all.findIndex(({ kind }) => kind === 'PodDisruptionBudget'),
          1,
        ),
    ],
  ],
  'network policies name pods and ports that are there, and let in nobody by mistake': [
    ['gRPC open to all', (all) => delete spec(all, 'NetworkPolicy', `${NAME}-node`).ingress[0].from],
    [
      'etcd open to the namespace',
      (all) => (spec(all, 'NetworkPolicy', `${NAME}-etcd`).ingress[0].from = [{ podSelector: {} }]),
    ],
    ['a port that is not', (all) => (spec(all, 'NetworkPolicy', `${NAME}-node`).ingress[0].ports[0].port = 'rpc')],
    ['every port', (all) => delete spec(all, 'NetworkPolicy', `${NAME}-node`).ingress[1].ports],
  ],
  'policies that limit where pods go leave them the way to names, members and etcd': [
    ['no names', (all) => spec(all, 'NetworkPolicy', `${NAME}-node`).egress.shift()],
    ['no members', (all) => spec(all, 'NetworkPolicy', `${NAME}-node`).egress.splice(1, 1)],
    ['no etcd', (all) => (spec(all, 'NetworkPolicy', `${NAME}-coordinator`).egress[2].ports[0].port = 2380)],
    [
      'no peers',
      (all) =>
        (spec(all, 'NetworkPolicy', `${NAME}-etcd`).egress[1].to[0].podSelector.matchLabels[
          'app.kubernetes.io/component'
        ] = 'node'),
    ],
    ['everything', (all) => spec(all, 'NetworkPolicy', `${NAME}-node`).egress.push({})],
  ],
  'where there are network policies, each workload has one': [
    [
      'not etcd',
      (all) =>
        all.splice(
          all.findIndex(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name.endsWith('-etcd')),
          1,
        ),
    ],
  ],
  'autoscalers, ingresses and monitors lead to what is there': [
    [
      'another Deployment',
      (all) => (spec(all, 'HorizontalPodAutoscaler', `${NAME}-coordinator`).scaleTargetRef.name = NAME),
    ],
    ['another Service', (all) => (spec(all, 'Ingress').rules[0].http.paths[0].backend.service.name = 'web')],
    ['a monitor of another port', (all) => (spec(all, 'PodMonitor').podMetricsEndpoints[0].port = 'http')],
  ],
  'ConfigMaps, Secrets and accounts that pods name are made, or given from outside': [
    [
      'a Secret',
      (all) =>
        (container(node(all)).env.find((each: any) => each.valueFrom?.secretKeyRef).valueFrom.secretKeyRef.name =
          'other'),
    ],
    [
      'a ConfigMap',
      (all) =>
        all.splice(
          all.findIndex(({ metadata }) => metadata.name === `${NAME}-config`),
          1,
        ),
    ],
  ],
  'pods are scraped once': [
    [
      'by the Service, too',
      (all) => (named(all, 'Service', NAME)!.metadata.annotations = { 'prometheus.io/scrape': 'true' }),
    ],
  ],
  'the program accepts its environment': [
    ['a bad value', (all) => (named(all, 'ConfigMap', `${NAME}-config`)!.data.DEFAULT_SHARDS = '0')],
    [
      'a number as YAML writes large ones',
      (all) => (named(all, 'ConfigMap', `${NAME}-config`)!.data.MAX_BODY_BYTES = '1.34217728e+08'),
    ],
    [
      'no secret',
      (all) =>
        (container(node(all)).env = container(node(all)).env.filter((each: any) => each.name !== 'CLUSTER_SECRET')),
    ],
    ['no such role', (all) => (container(node(all)).args = ['storage'])],
  ],
  'every variable is one that something reads': [
    ['a misspelt one', (all) => setEnv(node(all), 'CLUSTER_SECRETS', 'x')],
  ],
  'ports are those that the program opens': [
    ['a default of the program', (all) => setEnv(node(all), 'OPS_PORT', '')],
    ['another container port', (all) => (container(coordinator(all)).ports[0].containerPort = 8080)],
  ],
  'the scrape annotation names the operations port': [
    [
      'the API',
      (all) =>
        (coordinator(all).spec.template.metadata.annotations = {
          'prometheus.io/scrape': 'true',
          'prometheus.io/port': '8000',
        }),
    ],
  ],
  'a stop ends by itself before it is killed': [
    ['a short grace', (all) => (pod(node(all)).terminationGracePeriodSeconds = 30)],
    ['a long sleep', (all) => (container(coordinator(all)).lifecycle.preStop.exec.command[1] = '30')],
  ],
  'a node keeps its data and its name, a coordinator needs neither': [
    ['data in the image', (all) => setEnv(node(all), 'DATA_DIR', '/data')],
    ['an address of another Service', (all) => setEnv(node(all), 'ADVERTISE_ADDRESS', '$(NODE_ID).other')],
    [
      'no /tmp',
      (all) =>
        (container(node(all)).volumeMounts = container(node(all)).volumeMounts.filter(
          (mount: any) => mount.name !== 'tmp',
        )),
    ],
  ],
  'files that the program reads are mounted': [
    ['another folder', (all) => setEnv(node(all), 'ETCD_CA_FILE', '/etc/ssl/ca.crt')],
  ],
  'members reach each other by names of their certificates': [
    ['another name', (all) => setEnv(node(all), 'TLS_SERVER_NAME', 'other')],
    [
      'no use of the certificate',
      (all) => ['TLS_CA_FILE', 'TLS_CERT_FILE', 'TLS_KEY_FILE'].forEach((name) => setEnv(node(all), name, '')),
    ],
  ],
  'no secret is written where it can be read': [
    ['in the environment', (all) => setEnv(node(all), 'CLUSTER_SECRET', 'in plain sight')],
    ['in a ConfigMap', (all) => (named(all, 'ConfigMap', `${NAME}-config`)!.data.KEY = 'production-admin-key')],
    ['in plain text', (all) => (named(all, 'Secret', `${NAME}-auth`)!.stringData = { 'api-key': 'x' })],
  ],
  'members of etcd know each other by the names that they give': [
    ['a member too many', (all) => (etcd(all).spec.replicas = 7)],
    ['another address', (all) => setArg(all, /^(--initial-advertise-peer-urls=https:\/\/\$\(POD_NAME\))/, '$1.other')],
  ],
  'etcd listens at the ports it names, and stores on its volume': [
    ['another port', (all) => setArg(all, /^(--listen-client-urls=.*):2379/, '$1:4001')],
    ['another folder', (all) => setArg(all, /^--data-dir=.*/, '--data-dir=/data')],
  ],
  'etcd is there where coordinators and nodes look for it': [
    ['without TLS', (all) => setEnv(node(all), 'ETCD_ENDPOINTS', `http://${NAME}-etcd:2379`)],
  ],
  "with TLS, etcd shows and asks for certificates that are there, for its members' names": [
    ['no certificates asked', (all) => setArg(all, /^--client-cert-auth=true/, '--client-cert-auth=false')],
    ['plain peers', (all) => setArg(all, /^--listen-peer-urls=https/, '--listen-peer-urls=http')],
    ['certificates of others', (all) => (spec(all, 'Certificate', `${NAME}-etcd`).dnsNames = ['etcd'])],
  ],
};

describe.each(RULES.map((rule) => [rule.name, rule] as const))('%s', (name, rule) => {
  test('is tried', () => expect(SPOILS[name]?.length).toBeGreaterThan(0));

  test.each(SPOILS[name] ?? [])('%s', (_what, spoil) => {
    const objects = golden('production');
    expect(rule.violations(objects)).toEqual([]);
    spoil(objects);
    expect(rule.violations(objects)).not.toEqual([]);
  });
});
