import { ofKind, type PodTemplate, podsOf, WORKLOADS } from '../manifest';
import type { Rule } from './rule';

/** What must hold of each pod, whatever runs in it. */

function everyPod(name: string, violations: (pod: PodTemplate) => (string | false)[]): Rule {
  return {
    name,
    violations: (objects) =>
      podsOf(objects).flatMap((pod) =>
        violations(pod)
          .filter((line) => line !== false)
          .map((line) => `${pod.title}: ${line}`),
      ),
  };
}

function everyContainer(name: string, violations: (container: any, pod: PodTemplate) => (string | false)[]): Rule {
  return everyPod(name, (pod) =>
    containersOf(pod).flatMap((container) =>
      violations(container, pod).map((line) => line && `${container.name}: ${line}`),
    ),
  );
}

function containersOf(pod: PodTemplate): any[] {
  return [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

export const POD_RULES: Rule[] = [
  everyPod('the restricted Pod Security Standard: pods', ({ spec }) => [
    spec.securityContext?.runAsNonRoot !== true && 'may run as root',
    spec.securityContext?.runAsUser === 0 && 'runs as root',
    spec.securityContext?.seccompProfile?.type !== 'RuntimeDefault' && 'has no seccomp profile',
    ...['hostNetwork', 'hostPID', 'hostIPC'].map((field) => spec[field] === true && `has ${field}`),
    ...(spec.volumes ?? []).map(
      (volume: any) => volume.hostPath !== undefined && `mounts the host's ${volume.hostPath.path}`,
    ),
  ]),
  everyContainer('the restricted Pod Security Standard: containers', ({ securityContext, ports }) => [
    securityContext?.allowPrivilegeEscalation !== false && 'may gain privileges',
    securityContext?.privileged === true && 'is privileged',
    !isSame(securityContext?.capabilities, { drop: ['ALL'] }) && 'keeps capabilities',
    securityContext?.runAsNonRoot === false && 'may run as root',
    securityContext?.runAsUser === 0 && 'runs as root',
    ...(ports ?? []).map((port: any) => port.hostPort !== undefined && `takes the host's port ${port.hostPort}`),
  ]),
  everyContainer('root file systems are read-only', ({ securityContext }) => [
    securityContext?.readOnlyRootFilesystem !== true && 'can write to its image',
  ]),
  everyPod('no pod has a token of the API server or variables of other Services', ({ spec }) => [
    spec.automountServiceAccountToken !== false && 'has a token',
    spec.enableServiceLinks !== false && 'has variables of other Services',
    spec.serviceAccountName === undefined && 'names no ServiceAccount',
  ]),
  everyContainer('memory has a limit, and what is needed is requested', ({ resources }) => [
    resources?.limits?.memory === undefined && 'has no memory limit',
    resources?.requests?.memory === undefined && 'requests no memory',
    resources?.requests?.cpu === undefined && 'requests no processor',
    resources?.limits?.cpu !== undefined && 'has a processor limit',
  ]),
  everyContainer('images are pinned', ({ image }) => [
    !/(?::(?!latest$)[\w][\w.-]*|@sha256:[0-9a-f]{64})$/.test(image) && `${image} is not pinned`,
  ]),
  everyContainer('probes ask the operations port', (container, { owner }) => {
    if (!WORKLOADS.includes(owner.kind)) return [];
    return [
      ['startupProbe', '/livez'],
      ['livenessProbe', '/livez'],
      ['readinessProbe', '/readyz'],
    ].map(
      ([probe, path]) =>
        !isSame(container[probe]?.httpGet, { path, port: 'metrics' }) &&
        `${probe} does not ask ${path} of the port metrics`,
    );
  }),
  everyContainer('probes are patient', ({ startupProbe: start, livenessProbe: live }, { owner }) => {
    if (!WORKLOADS.includes(owner.kind)) return [];
    return [
      (start?.periodSeconds ?? 0) * (start?.failureThreshold ?? 0) < 60 && 'a start may take less than a minute',
      (live?.periodSeconds ?? 0) * (live?.failureThreshold ?? 0) < 30 && 'half a minute of work looks like death',
    ];
  }),
  everyContainer('mounts and volumes belong together', ({ volumeMounts = [] }, { spec, owner }) => {
    const volumes: any[] = [
      ...(spec.volumes ?? []),
      ...(owner.spec.volumeClaimTemplates ?? []).map((claim: any) => claim.metadata),
    ];
    return [
      ...volumeMounts.map(
        (mount: any) => !volumes.some(({ name }) => name === mount.name) && `mounts ${mount.name}, which is no volume`,
      ),
      ...volumes.map(({ name }) => !volumeMounts.some((mount: any) => mount.name === name) && `does not mount ${name}`),
      ...volumeMounts.map(
        (mount: any) =>
          mount.subPath !== undefined && `mounts a part of ${mount.name}, which would not follow a change`,
      ),
      new Set(volumeMounts.map((mount: any) => mount.mountPath)).size !== volumeMounts.length &&
        'mounts two volumes in one place',
    ];
  }),
  everyContainer('ports have names of their own, metrics among them', ({ ports = [] }, { owner }) => [
    WORKLOADS.includes(owner.kind) && !ports.some((port: any) => port.name === 'metrics') && 'has no port metrics',
    new Set(ports.map((port: any) => port.name)).size !== ports.length && 'gives a name twice',
    new Set(ports.map((port: any) => port.containerPort)).size !== ports.length && 'gives a port twice',
  ]),
  everyPod('pods of a workload are spread over machines and zones', ({ spec, owner, labels }) => {
    if (!WORKLOADS.includes(owner.kind)) return [];
    const spread = (key: string): any =>
      (spec.topologySpreadConstraints ?? []).find(({ topologyKey }: any) => topologyKey === key);
    const [host, zone] = [spread('kubernetes.io/hostname'), spread('topology.kubernetes.io/zone')];
    return [
      (host?.maxSkew !== 1 || host?.whenUnsatisfiable !== 'DoNotSchedule') && 'may gather on one machine',
      (zone?.maxSkew !== 1 || zone?.whenUnsatisfiable !== 'ScheduleAnyway') &&
        'is not spread over zones, or waits for zones that are not there',
      ...[host, zone].map(
        (constraint) =>
          constraint !== undefined &&
          !Object.entries(constraint.labelSelector.matchLabels).every(([name, value]) => labels[name] === value) &&
          'is spread by labels it does not have',
      ),
    ];
  }),
  everyPod('what would restart pods or block upgrades is not in them', ({ labels, owner }) => {
    const claims: any[] = owner.spec.volumeClaimTemplates ?? [];
    return [labels, ...claims.map((claim) => claim.metadata.labels ?? {})].flatMap((some) =>
      ['app.kubernetes.io/version', 'helm.sh/chart'].map(
        (name) => WORKLOADS.includes(owner.kind) && some[name] !== undefined && `has the label ${name}`,
      ),
    );
  }),
  {
    name: 'stores start together, keep their volumes and have names',
    violations: (objects) =>
      ofKind(objects, 'StatefulSet').flatMap(({ metadata, spec }) =>
        [
          spec.podManagementPolicy !== 'Parallel' && 'waits for its first pod',
          !isSame(spec.persistentVolumeClaimRetentionPolicy, { whenDeleted: 'Retain', whenScaled: 'Retain' }) &&
            'lets volumes go',
          (spec.volumeClaimTemplates ?? []).length !== 1 && 'has no volume',
          !objects.some(
            ({ kind, metadata: { name }, spec: service }) =>
              kind === 'Service' &&
              name === spec.serviceName &&
              service.clusterIP === 'None' &&
              service.publishNotReadyAddresses === true,
          ) && 'has no headless Service that names it before it is ready',
        ]
          .filter((line) => line !== false)
          .map((line) => `StatefulSet ${metadata.name}: ${line}`),
      ),
  },
];
