import { hostname } from 'node:os';
import type { EtcdOptions } from '../cluster-store/etcd-transport';
import type { ClusterConfig, Config } from '../config/config';
import { QuiverError } from '../errors/quiver-error';
import type { ClusterCredentials } from '../rpc/rpc-channel';
import { readClusterTls } from '../rpc/transport-security';

/** How a member reaches etcd. */
export function etcdOptions(config: ClusterConfig): EtcdOptions {
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

/** How a member presents itself to the others. Errors: invalid_parameter for files that can't be read. */
export function memberCredentials(config: ClusterConfig): ClusterCredentials {
  const { clusterSecret, tlsCaFile, tlsCertFile, tlsKeyFile, tlsServerName } = config;
  if (tlsCertFile === '') return { secret: clusterSecret, tls: null };
  try {
    return { secret: clusterSecret, tls: { ...readClusterTls({ caFile: tlsCaFile, certFile: tlsCertFile, keyFile: tlsKeyFile }), serverName: tlsServerName || undefined } };
  } catch (cause) {
    throw new QuiverError('invalid_parameter', `TLS_CA_FILE, TLS_CERT_FILE or TLS_KEY_FILE cannot be read: ${(cause as Error).message}`, { cause });
  }
}

/** host:port by which others reach this member's RPC port. */
export function memberAddress(config: ClusterConfig, rpcPort: number): string {
  const { advertiseAddress } = config;
  if (/:\d+$/.test(advertiseAddress)) return advertiseAddress;
  return `${advertiseAddress || hostname()}:${rpcPort}`;
}

/** What must never be in a log. */
export function secretsOf(config: Pick<Config, 'apiKey'> & ClusterConfig): string[] {
  return [config.apiKey, config.etcdPassword, config.clusterSecret].filter((secret) => secret !== undefined);
}
