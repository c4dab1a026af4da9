import { type Manifest, named, ofKind, podsOf, portNames, selects, titleOf, WORKLOADS } from '../manifest';
import type { Rule } from './rule';

/** What one object says of another must be so. */

const lines = (of: Manifest, found: (string | false)[]): string[] =>
  found.filter((line) => line !== false).map((line) => `${titleOf(of)}: ${line}`);

function workloads(objects: readonly Manifest[]): Manifest[] {
  return objects.filter(({ kind }) => WORKLOADS.includes(kind));
}

function selected(objects: readonly Manifest[], selector: any): ReturnType<typeof podsOf> {
  return podsOf(objects).filter(({ labels }) => selects(selector, labels));
}

export const REFERENCE_RULES: Rule[] = [
  {
    name: 'names are unique and short enough for a label',
    violations: (objects) => {
      const titles = objects.map(titleOf);
      const twice = titles.filter((title, at) => titles.indexOf(title) !== at).map((title) => `${title}: twice`);
      // A StatefulSet's name gets a hash of 11 characters behind it, and becomes a label.
      const room = (kind: string): number => (kind === 'StatefulSet' ? 52 : 63);
      return [
        ...twice,
        ...objects.flatMap((object) =>
          lines(object, [
            object.metadata.name.length > room(object.kind) && 'the name is too long',
            !/^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(object.metadata.name) && 'the name is no DNS label',
          ]),
        ),
      ];
    },
  },
  {
    name: "workloads select their own pods, and no other's",
    violations: (objects) =>
      workloads(objects).flatMap((owner) => {
        const titles = selected(objects, owner.spec.selector).map(({ title }) => title);
        return lines(owner, [
          !titles.includes(titleOf(owner)) && 'does not select its own pods',
          titles.some((title) => title !== titleOf(owner)) && `selects pods of ${titles.join(', ')}`,
        ]);
      }),
  },
  {
    name: 'a Service leads to the pods of one workload, at ports that they have',
    violations: (objects) =>
      ofKind(objects, 'Service').flatMap((service) => {
        const pods = selected(objects, { matchLabels: service.spec.selector });
        const ports = pods.flatMap(({ spec }) => portNames(spec));
        return lines(service, [
          pods.length !== 1 && `selects ${pods.length} workloads`,
          ...service.spec.ports.map(
            (port: any) => !ports.includes(port.targetPort) && `${port.targetPort} is no port of its pods`,
          ),
        ]);
      }),
  },
  {
    name: 'each workload has a disruption budget of one pod',
    violations: (objects) => [
      ...workloads(objects).flatMap((owner) =>
        lines(owner, [
          !ofKind(objects, 'PodDisruptionBudget').some(({ spec }) =>
            selects(spec.selector, owner.spec.template.metadata.labels),
          ) && 'has none',
        ]),
      ),
      ...ofKind(objects, 'PodDisruptionBudget').flatMap((budget) =>
        lines(budget, [
          budget.spec.maxUnavailable !== 1 && 'lets more than one pod go',
          selected(objects, budget.spec.selector).length !== 1 && 'is not of one workload',
        ]),
      ),
    ],
  },
  {
    name: 'network policies name pods and ports that are there, and let in nobody by mistake',
    violations: (objects) =>
      ofKind(objects, 'NetworkPolicy').flatMap((policy) => {
        const pods = selected(objects, policy.spec.podSelector);
        const ports = pods.flatMap(({ spec }) => portNames(spec));
        const rules: any[] = policy.spec.ingress.map((rule: any) => ({ ports: [], ...rule }));
        const open = rules
          .filter(({ from }) => from === undefined || from.length === 0)
          .flatMap((rule) => rule.ports.map((port: any) => port.port));
        const peers = rules
          .filter(({ ports: of }) => of.some(({ port }: any) => port !== 'http' && port !== 'metrics'))
          .flatMap(({ from }) => from ?? []);
        return lines(policy, [
          pods.length !== 1 && `selects ${pods.length} workloads`,
          rules.some((rule) => rule.ports.length === 0) && 'opens every port',
          ...rules.flatMap((rule) =>
            rule.ports.map(({ port }: any) => !ports.includes(port) && `${port} is no port of its pods`),
          ),
          ...ports.map(
            (port) =>
              !rules.some((rule) => rule.ports.some((opened: any) => opened.port === port)) &&
              `${port} is closed to all`,
          ),
          ...open.map((port) => port !== 'http' && `${port} is open to all`),
          ...peers.map(
            ({ podSelector }: any) =>
              (podSelector === undefined ||
                Object.keys(podSelector.matchLabels ?? {}).length === 0 ||
                selected(objects, podSelector).length !== 1) &&
              'lets in more than the pods of a workload',
          ),
        ]);
      }),
  },
  {
    name: 'policies that limit where pods go leave them the way to names, members and etcd',
    violations: (objects) =>
      ofKind(objects, 'NetworkPolicy')
        .filter(({ spec }) => spec.policyTypes.includes('Egress'))
        .flatMap((policy) => {
          const [pod] = selected(objects, policy.spec.podSelector);
          const reaches = (port: number, labels: Record<string, string> | null): boolean =>
            policy.spec.egress.some(
              ({ ports = [], to }: any) =>
                ports.some((each: any) => each.port === port) &&
                (to === undefined ||
                  (labels !== null &&
                    to.some(({ podSelector }: any) => podSelector !== undefined && selects(podSelector, labels)))),
            );
          const ways = podsOf(objects).flatMap(({ labels, title, spec }) =>
            wayTo(pod?.labels ?? {}, labels, spec)
              .filter((port) => !reaches(port, labels))
              .map((port) => `can't reach port ${port} of ${title}`),
          );
          const endpoints: string[] = (pod?.spec.containers[0].env ?? [])
            .filter(({ name }: any) => name === 'ETCD_ENDPOINTS')
            .flatMap(({ value }: any) => value.split(','));
          const outside = endpoints
            .filter((endpoint) => !endpoint.includes('-etcd-0.') || !endpoint.includes('.svc.'))
            .map((endpoint) => Number(endpoint.split(':').at(-1)));
          const isOwnEtcd = podsOf(objects).some(({ labels }) => labels[COMPONENT] === 'etcd');
          return lines(policy, [
            !reaches(53, null) && "can't look names up",
            ...ways,
            ...(isOwnEtcd ? [] : outside.map((port) => !reaches(port, null) && `can't reach etcd at ${port}`)),
            policy.spec.egress.some(({ ports = [] }: any) => ports.length === 0) && 'lets everything out',
          ]);
        }),
  },
  {
    name: 'where there are network policies, each workload has one',
    violations: (objects) => {
      const policies = ofKind(objects, 'NetworkPolicy');
      if (policies.length === 0) return [];
      return workloads(objects).flatMap((owner) =>
        lines(owner, [
          !policies.some(({ spec }) => selects(spec.podSelector, owner.spec.template.metadata.labels)) && 'has none',
        ]),
      );
    },
  },
  {
    name: 'autoscalers, ingresses and monitors lead to what is there',
    violations: (objects) => [
      ...ofKind(objects, 'HorizontalPodAutoscaler').flatMap((scaler) => {
        const { kind, name } = scaler.spec.scaleTargetRef;
        const target = named(objects, kind, name);
        return lines(scaler, [
          target === undefined && `there is no ${kind} ${name}`,
          target !== undefined &&
            !(target.spec.replicas >= scaler.spec.minReplicas && target.spec.replicas <= scaler.spec.maxReplicas) &&
            'would change the count at once',
        ]);
      }),
      ...ofKind(objects, 'Ingress').flatMap((ingress) =>
        ingress.spec.rules.flatMap((rule: any) =>
          rule.http.paths.flatMap(({ backend: { service } }: any) =>
            lines(ingress, [
              !named(objects, 'Service', service.name)?.spec.ports.some(
                (port: any) => port.name === service.port.name,
              ) && `there is no port ${service.port.name} of ${service.name}`,
            ]),
          ),
        ),
      ),
      ...ofKind(objects, 'PodMonitor').flatMap((monitor) => {
        const missed = workloads(objects).filter(
          (owner) =>
            !selects(monitor.spec.selector, owner.spec.template.metadata.labels) ||
            !monitor.spec.podMetricsEndpoints.every(({ port }: any) =>
              portNames(owner.spec.template.spec).includes(port),
            ),
        );
        return lines(
          monitor,
          missed.map((owner) => `does not find ${titleOf(owner)}`),
        );
      }),
    ],
  },
  {
    name: 'ConfigMaps, Secrets and accounts that pods name are made, or given from outside',
    violations: (objects) =>
      podsOf(objects).flatMap((pod) =>
        namesUsedBy(pod.spec)
          .filter(([kind, name]) => !isKnown(objects, kind, name))
          .map(([kind, name]) => `${pod.title}: there is no ${kind} ${name}`),
      ),
  },
  {
    name: 'pods are scraped once',
    violations: (objects) =>
      objects
        .filter(({ kind }) => kind === 'Service')
        .flatMap((service) =>
          lines(service, [
            Object.keys(service.metadata.annotations ?? {}).some((key) => key.startsWith('prometheus.io/')) &&
              'has its pods scraped a second time',
          ]),
        ),
  },
];

const COMPONENT = 'app.kubernetes.io/component';

/** The ports at which pods of one component ask those of another. */
function wayTo(from: Record<string, string>, to: Record<string, string>, spec: any): number[] {
  const way = `${from[COMPONENT]} → ${to[COMPONENT]}`;
  const names: Record<string, string> = {
    'coordinator → coordinator': 'grpc',
    'coordinator → node': 'grpc',
    'node → node': 'grpc',
    'coordinator → etcd': 'client',
    'node → etcd': 'client',
    'etcd → etcd': 'peer',
  };
  return spec.containers.flatMap(({ ports = [] }: any) =>
    ports.filter(({ name }: any) => name === names[way]).map(({ containerPort }: any) => containerPort),
  );
}

/** Secrets that the cases say are made beforehand. */
const GIVEN = [
  /^Secret (?:quiver-secrets|search-api-tls|search-backup|etcd-user|etcd-client|(?:coordinator|node|etcd)-certificate)$/,
  /^ServiceAccount default$/,
];

function isKnown(objects: readonly Manifest[], kind: string, name: string): boolean {
  const certificate = kind === 'Secret' && ofKind(objects, 'Certificate').some(({ spec }) => spec.secretName === name);
  return (
    certificate || named(objects, kind, name) !== undefined || GIVEN.some((pattern) => pattern.test(`${kind} ${name}`))
  );
}

function namesUsedBy(spec: any): [kind: string, name: string][] {
  const variables = spec.containers.flatMap(({ env = [] }: any) => env.map(({ valueFrom }: any) => valueFrom));
  const used: [string, string | undefined][] = [
    ['ServiceAccount', spec.serviceAccountName],
    ...(spec.volumes ?? []).flatMap((volume: any) => [
      ['Secret', volume.secret?.secretName],
      ['ConfigMap', volume.configMap?.name],
    ]),
    ...variables.flatMap((from: any) => [
      ['Secret', from?.secretKeyRef?.name],
      ['ConfigMap', from?.configMapKeyRef?.name],
    ]),
    ...spec.containers.flatMap(({ envFrom = [] }: any) =>
      envFrom.flatMap((from: any) => [
        ['Secret', from.secretRef?.name],
        ['ConfigMap', from.configMapRef?.name],
      ]),
    ),
  ];
  return used.filter((entry): entry is [string, string] => entry[1] !== undefined);
}
