import { type Manifest, ofKind, podsOf, titleOf } from '../manifest';
import { environmentOf, expand } from './container-environment';
import type { Rule } from './rule';

/** The release's own etcd: its members must find each other, and coordinators and nodes must find them. */

interface EtcdMember {
  name: string;
  /** Words of its command line, by name. */
  flags: Record<string, string>;
}

interface Etcd {
  owner: Manifest;
  container: any;
  members: EtcdMember[];
  /** Names of the certificate; null when it is not made here. */
  certificateNames: string[] | null;
}

function etcdOf(objects: readonly Manifest[]): Etcd | null {
  const pod = podsOf(objects).find(
    ({ labels, owner }) => owner.kind === 'StatefulSet' && labels['app.kubernetes.io/component'] === 'etcd',
  );
  if (pod === undefined) return null;
  const [container] = pod.spec.containers;
  const members = Array.from({ length: pod.owner.spec.replicas }, (_, ordinal): EtcdMember => {
    const name = `${pod.owner.metadata.name}-${ordinal}`;
    const environment = environmentOf(objects, container, name);
    const flags = Object.fromEntries(
      container.args.map((word: string) => expand(word, environment).replace(/^--/, '').split(/=(.*)/s, 2)),
    );
    return { name, flags };
  });
  const secret = (pod.spec.volumes ?? []).find(({ name }: any) => name === 'tls')?.secret.secretName;
  const certificate = ofKind(objects, 'Certificate').find(({ spec }) => spec.secretName === secret);
  return { owner: pod.owner, container, members, certificateNames: certificate?.spec.dnsNames ?? null };
}

function everyEtcd(name: string, violations: (etcd: Etcd, objects: readonly Manifest[]) => (string | false)[]): Rule {
  return {
    name,
    violations: (objects) => {
      const etcd = etcdOf(objects);
      return etcd === null
        ? []
        : violations(etcd, objects)
            .filter((line) => line !== false)
            .map((line) => `${titleOf(etcd.owner)}: ${line}`);
    },
  };
}

const PORTS = { 'listen-client-urls': 'client', 'listen-peer-urls': 'peer', 'listen-metrics-urls': 'metrics' };

export const ETCD_RULES: Rule[] = [
  everyEtcd('members of etcd know each other by the names that they give', ({ members }) =>
    members.flatMap(({ name, flags }) => {
      const cluster = Object.fromEntries((flags['initial-cluster'] ?? '').split(',').map((entry) => entry.split('=')));
      return [
        flags.name !== name && `${name} calls itself ${flags.name}`,
        Object.keys(cluster).sort().join() !==
          members
            .map((member) => member.name)
            .sort()
            .join() && `${name} knows ${Object.keys(cluster).join()}`,
        cluster[name] !== flags['initial-advertise-peer-urls'] &&
          `${name} is known at ${cluster[name]}, and says ${flags['initial-advertise-peer-urls']}`,
        new Set(members.map((member) => member.flags['initial-cluster-token'])).size !== 1 &&
          'members have several tokens',
        flags['initial-cluster-state'] !== 'new' && 'a first start would fail',
      ];
    }),
  ),
  everyEtcd('etcd listens at the ports it names, and stores on its volume', ({ members: [{ flags }], container }) => [
    ...Object.entries(PORTS).map(
      ([flag, name]) =>
        !flags[flag]?.endsWith(`:${container.ports.find((port: any) => port.name === name)?.containerPort}`) &&
        `${flag} is ${flags[flag]}`,
    ),
    !container.volumeMounts.some(
      ({ name, mountPath }: any) => name === 'data' && flags['data-dir'].startsWith(`${mountPath}/`),
    ) && `${flags['data-dir']} is on no volume`,
    !flags['listen-metrics-urls']?.startsWith('http://') && 'probes show no certificate',
  ]),
  everyEtcd('etcd is there where coordinators and nodes look for it', ({ members }, objects) => {
    const advertised = members
      .map(({ flags }) => flags['advertise-client-urls'])
      .sort()
      .join();
    return podsOf(objects).flatMap(({ spec, title }) =>
      spec.containers
        .flatMap(({ env = [] }: any) => env.filter(({ name }: any) => name === 'ETCD_ENDPOINTS'))
        .map(({ value }: any) => value.split(',').sort().join() !== advertised && `${title} looks at ${value}`),
    );
  }),
  everyEtcd(
    "with TLS, etcd shows and asks for certificates that are there, for its members' names",
    ({ members, container, certificateNames }) => {
      const files = [
        'trusted-ca-file',
        'cert-file',
        'key-file',
        'peer-trusted-ca-file',
        'peer-cert-file',
        'peer-key-file',
      ];
      const mount = container.volumeMounts.find(({ name }: any) => name === 'tls')?.mountPath;
      return members.flatMap(({ flags }) => {
        const urls = [
          'advertise-client-urls',
          'initial-advertise-peer-urls',
          'listen-client-urls',
          'listen-peer-urls',
        ].map((flag) => flags[flag]);
        const isSecure = mount !== undefined;
        return [
          ...urls.map(
            (url) => url.startsWith('https://') !== isSecure && `${url} ${isSecure ? 'without' : 'with'} TLS`,
          ),
          ...files.map((flag) => isSecure && !flags[flag]?.startsWith(`${mount}/`) && `${flag} is ${flags[flag]}`),
          ...['client-cert-auth', 'peer-client-cert-auth'].map(
            (flag) => isSecure && flags[flag] !== 'true' && `${flag} is ${flags[flag]}`,
          ),
          ...urls
            .slice(0, 2)
            .map(
              (url) =>
                certificateNames !== null &&
                !certificateNames.includes(new URL(url).hostname) &&
                `the certificate is not for ${url}`,
            ),
        ];
      });
    },
  ),
];
