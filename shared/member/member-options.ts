import { hostname } from 'node:os';
import { EtcdClusterStore } from '../cluster-store/etcd/etcd-cluster-store';
import type { EtcdObserver } from '../cluster-store/etcd/etcd-observer';
import type { EtcdOptions } from '../cluster-store/etcd/etcd-transport';
import { SealedClusterStore } from '../cluster-store/sealed-cluster-store';
import type { ClusterConfig, Config, EtcdConfig } from '../base/config/config';
import { secretsOf } from '../base/config/config-secrets';
import { QuiverError } from '../base/errors/quiver-error';
import { readAll } from '../base/process/followed-files';
import { RenewedCertificates } from '../base/process/renewed-certificates';
import type { EtcdAccess } from './member-files';
import type { Logger } from '../base/logs/logger';
import type { ClusterCredentials } from '../wire/streams/rpc-channel';
import { readClusterTls } from '../wire/handshake/transport-security';
import { EntrySeal } from '../base/secret/entry-seal';

/** The cluster store of a member: etcd, with sealed entries. Errors: as EtcdClusterStore's constructor. */
export function memberStore(
  config: ClusterConfig,
  parts: { observer: EtcdObserver & { entryRefused(): void }; etcd: EtcdAccess; log: Logger },
): SealedClusterStore {
  return new SealedClusterStore({
    store: new EtcdClusterStore({
      ...etcdOptions(config),
      renewed: parts.etcd.certificates ?? undefined,
      currentPassword: () => parts.etcd.password,
      observer: parts.observer,
    }),
    seal: new EntrySeal({ secret: config.clusterSecret, otherSecret: config.clusterSecretOther }),
    rule: config.clusterSeals,
    log: parts.log,
    onRefused: () => parts.observer.entryRefused(),
  });
}

/** What a member shows to etcd, to be renewed. Errors: invalid_parameter for files that can't be read. */
export function etcdAccess({ etcdCaFile, etcdCertFile, etcdKeyFile, etcdPassword: password }: EtcdConfig): EtcdAccess {
  // Without an authority of its own, that of the system counts, which gRPC reads by itself.
  if (etcdCaFile === '') return { certificates: null, password };
  try {
    const [ca, cert = null, key = null] = readAll(
      [etcdCaFile, etcdCertFile, etcdKeyFile].filter((path) => path !== ''),
    );
    return { certificates: new RenewedCertificates({ ca, cert, key }), password };
  } catch (cause) {
    throw new QuiverError(
      'invalid_parameter',
      `ETCD_CA_FILE, ETCD_CERT_FILE or ETCD_KEY_FILE cannot be read: ${(cause as Error).message}`,
      { cause },
    );
  }
}

/** How a member reaches etcd. */
export function etcdOptions(config: EtcdConfig): EtcdOptions {
  const { etcdEndpoints, etcdUsername, etcdPassword, etcdCaFile, etcdCertFile, etcdKeyFile } = config;
  return {
    endpoints: etcdEndpoints,
    username: etcdUsername || undefined,
    password: etcdPassword,
    caFile: etcdCaFile || undefined,
    certFile: etcdCertFile || undefined,
    keyFile: etcdKeyFile || undefined,
  };
}

/** What a member shows to prove who it is. Errors: invalid_parameter for files that can't be read. */
export function memberCredentials(config: ClusterConfig, log: Logger): ClusterCredentials {
  const { tlsCaFile, tlsCertFile, tlsKeyFile, tlsServerName } = config;
  const member = { secret: config.clusterSecret, otherSecret: config.clusterSecretOther, name: config.memberId, log };
  if (tlsCertFile === '') return { ...member, tls: null };
  try {
    const tls = readClusterTls({ caFile: tlsCaFile, certFile: tlsCertFile, keyFile: tlsKeyFile });
    return {
      ...member,
      tls: { ...tls, serverName: tlsServerName || undefined, renewed: new RenewedCertificates(tls) },
    };
  } catch (cause) {
    throw new QuiverError(
      'invalid_parameter',
      `TLS_CA_FILE, TLS_CERT_FILE or TLS_KEY_FILE cannot be read: ${(cause as Error).message}`,
      { cause },
    );
  }
}

/** The host:port at which others reach this member's RPC port. */
export function memberAddress(config: ClusterConfig, rpcPort: number): string {
  const { advertiseAddress } = config;
  if (/:\d+$/.test(advertiseAddress)) return advertiseAddress;
  return `${advertiseAddress || hostname()}:${rpcPort}`;
}

/** Texts that must never be in a log of a member. */
export function memberSecretsOf(config: Config & ClusterConfig): string[] {
  const { etcdPassword, clusterSecret, clusterSecretOther } = config;
  const own = [etcdPassword, clusterSecret, clusterSecretOther].filter((secret) => secret !== undefined);
  return [...secretsOf(config), ...own];
}
