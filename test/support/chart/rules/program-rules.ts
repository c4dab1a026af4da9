import { nodeEnvironment, readClusterConfig, readConfig } from '../../../../shared/base/config/config';
import { CLUSTER_SETTINGS, SETTINGS } from '../../../../shared/base/config/settings';
import { type Manifest, ofKind, podsOf } from '../manifest';
import { environmentOf } from './container-environment';
import type { Rule } from './rule';

/** What the pods of coordinators and nodes say to the program must be what it understands. */

/** Read by Node, OpenBLAS and the chart itself. */
const OTHERS = ['UV_THREADPOOL_SIZE', 'OMP_NUM_THREADS', 'NODE_OPTIONS', 'POD_IP'];
const KNOWN = [...Object.values(SETTINGS), ...Object.values(CLUSTER_SETTINGS)].map(({ name }) => name as string);
const SECRETS = [...Object.values(SETTINGS), ...Object.values(CLUSTER_SETTINGS)]
  .filter(({ kind }) => kind === 'secret')
  .map(({ name }) => name as string);
/** What a stop needs beyond the program's own hard end: for the kill to come after it. */
const KILL_MARGIN_MS = 10_000;
/** Kubernetes cuts a generated name to this many characters before it adds five of its own. */
const GENERATED_NAME_MAX = 58;

interface Member {
  title: string;
  role: 'coordinator' | 'node';
  /** Of a store, that with the highest ordinal. */
  podName: string;
  owner: Manifest;
  container: any;
  spec: any;
  environment: Record<string, string>;
}

function membersOf(objects: readonly Manifest[]): Member[] {
  return podsOf(objects).flatMap(({ owner, spec, title }) =>
    spec.containers
      .filter(({ args }: any) => args?.length === 1 && ['coordinator', 'node'].includes(args[0]))
      .map((container: any): Member => {
        const podName =
          owner.kind === 'StatefulSet'
            ? `${owner.metadata.name}-${owner.spec.replicas - 1}`
            : `${`${owner.metadata.name}-6d4b75cb6d-`.slice(0, GENERATED_NAME_MAX)}hx8kp`;
        return {
          title,
          role: container.args[0],
          podName,
          owner,
          container,
          spec,
          environment: environmentOf(objects, container, podName),
        };
      }),
  );
}

type Settings = ReturnType<typeof readConfig> & ReturnType<typeof readClusterConfig>;

function settingsOf({ role, environment, podName }: Member): Settings {
  const own = role === 'node' ? nodeEnvironment(environment) : environment;
  return { ...readConfig(own, 64), ...readClusterConfig(own, podName, 64) };
}

/** A rule of each member; settings that the program refuses are the business of the first rule. */
function everyMember(
  name: string,
  violations: (member: Member, settings: Settings, objects: readonly Manifest[]) => (string | false)[],
): Rule {
  return {
    name,
    violations: (objects) =>
      membersOf(objects).flatMap((member) => {
        try {
          return violations(member, settingsOf(member), objects)
            .filter((line) => line !== false)
            .map((line) => `${member.title}: ${line}`);
        } catch {
          return [];
        }
      }),
  };
}

/** host → whether a certificate for `names` is valid for it. */
function covers(names: string[], host: string): boolean {
  return names.some(
    (name) => name === host || (name.startsWith('*.') && host.slice(host.indexOf('.')) === name.slice(1)),
  );
}

export const PROGRAM_RULES: Rule[] = [
  {
    name: 'the program accepts its environment',
    violations: (objects) => {
      const members = membersOf(objects);
      const roles = members
        .map(({ role }) => role)
        .sort()
        .join();
      return [
        ...(roles === 'coordinator,node' ? [] : [`the members are ${roles}`]),
        ...members.flatMap((member) => {
          try {
            settingsOf(member);
            return [];
          } catch (error) {
            return [`${member.title}: ${(error as Error).message}`];
          }
        }),
      ];
    },
  },
  everyMember('every variable is one that something reads', ({ environment }) =>
    Object.keys(environment).map((name) => !KNOWN.includes(name) && !OTHERS.includes(name) && `nothing reads ${name}`),
  ),
  everyMember('ports are those that the program opens', ({ role, container }, { port, rpcPort, opsPort }) => {
    const opened: Record<string, number> = {
      grpc: rpcPort,
      metrics: opsPort,
      ...(role === 'coordinator' ? { http: port } : {}),
    };
    const named = Object.fromEntries((container.ports ?? []).map((each: any) => [each.name, each.containerPort]));
    return [...new Set([...Object.keys(opened), ...Object.keys(named)])].map(
      (name) => opened[name] !== named[name] && `${name} is ${named[name]}, and the program opens ${opened[name]}`,
    );
  }),
  everyMember('the scrape annotation names the operations port', ({ owner }, { opsPort }) => {
    const { 'prometheus.io/scrape': scrape, 'prometheus.io/port': port } =
      owner.spec.template.metadata.annotations ?? {};
    return [scrape !== undefined && port !== String(opsPort) && `names ${port}`];
  }),
  everyMember('a stop ends by itself before it is killed', ({ spec, container }, { shutdownTimeoutMs }) => {
    const sleepMs = Number(container.lifecycle?.preStop?.exec?.command?.[1] ?? 0) * 1000;
    const graceMs = (spec.terminationGracePeriodSeconds ?? 30) * 1000;
    return [
      graceMs < sleepMs + shutdownTimeoutMs + KILL_MARGIN_MS &&
        `${graceMs} ms are less than ${sleepMs} + ${shutdownTimeoutMs} + ${KILL_MARGIN_MS}`,
      shutdownTimeoutMs < 10_000 && 'the program has no time to stop',
    ];
  }),
  everyMember(
    'a node keeps its data and its name, a coordinator needs neither',
    ({ role, owner, container }, { dataDir, advertiseAddress, memberId }, objects) => {
      const mounts: any[] = container.volumeMounts;
      const claims: string[] = (owner.spec.volumeClaimTemplates ?? []).map((claim: any) => claim.metadata.name);
      const service = ofKind(objects, 'Service').find(({ metadata }) => metadata.name === owner.spec.serviceName);
      return [
        !mounts.some(({ mountPath }) => mountPath === '/tmp') && 'has no folder for temporary files',
        !mounts.some(({ mountPath }) => mountPath === dataDir) && `can't write to ${dataDir}`,
        role === 'node' &&
          !mounts.some(({ mountPath, name }) => mountPath === dataDir && claims.includes(name)) &&
          `${dataDir} is on no volume of its own`,
        role === 'node' &&
          !advertiseAddress.startsWith(`${memberId}.${service?.metadata.name}.`) &&
          `says ${advertiseAddress}, which is no name of its Service`,
      ];
    },
  ),
  everyMember('files that the program reads are mounted', ({ container }, settings) =>
    (['tlsCaFile', 'tlsCertFile', 'tlsKeyFile', 'etcdCaFile', 'etcdCertFile', 'etcdKeyFile'] as const).map(
      (field) =>
        settings[field] !== '' &&
        !container.volumeMounts.some(
          ({ mountPath, readOnly }: any) => readOnly && settings[field].startsWith(`${mountPath}/`),
        ) &&
        `${settings[field]} is not there`,
    ),
  ),
  everyMember(
    'members reach each other by names of their certificates',
    ({ role, spec }, { tlsCertFile, tlsServerName }, objects) => {
      const secret = (spec.volumes ?? []).find((volume: any) => volume.name === 'tls')?.secret.secretName;
      const certificate = ofKind(objects, 'Certificate').find((each) => each.spec.secretName === secret);
      return [
        (tlsCertFile !== '') !== (secret !== undefined) && 'has a certificate and does not use it',
        certificate !== undefined &&
          !covers(certificate.spec.dnsNames, tlsServerName) &&
          `the certificate of ${role} is not for ${tlsServerName}`,
      ];
    },
  ),
  {
    name: 'no secret is written where it can be read',
    violations: (objects) => {
      const literal = podsOf(objects).flatMap(({ title, spec }) =>
        spec.containers.flatMap(({ env = [] }: any) =>
          env
            .filter((each: any) => SECRETS.includes(each.name) && each.value !== undefined)
            .map((each: any) => `${title}: ${each.name} is in the manifest`),
        ),
      );
      const values = ofKind(objects, 'Secret').flatMap(({ data, stringData }) => [
        ...Object.values(data ?? {}).map((value) => Buffer.from(value as string, 'base64').toString()),
        ...(Object.values(stringData ?? {}) as string[]),
      ]);
      const elsewhere = objects
        .filter(({ kind }) => kind !== 'Secret')
        .flatMap((object) =>
          values
            .filter((value) => JSON.stringify(object).includes(value))
            .map(() => `${object.kind} ${object.metadata.name}: holds a secret`),
        );
      const plain = ofKind(objects, 'Secret').flatMap(({ metadata, stringData }) =>
        stringData === undefined ? [] : [`Secret ${metadata.name}: in plain text`],
      );
      return [...literal, ...elsewhere, ...plain];
    },
  },
];
