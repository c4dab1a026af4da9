import { readFileSync } from 'node:fs';
import { ChannelCredentials, type ChannelOptions, ServerCredentials } from '@grpc/grpc-js';

/**
 * Mutual TLS between the members of a cluster: each shows `cert` and accepts certificates signed by `ca`. PEM. A
 * member's certificate must be valid for the host by which others reach it, or for `serverName` if that is set: members
 * whose addresses have no names (pods of a Deployment) share one.
 */
export interface ClusterTls {
  ca: Buffer;
  cert: Buffer;
  key: Buffer;
  serverName?: string;
}

/** Reads the three files. Errors: those of readFileSync. */
export function readClusterTls(files: { caFile: string; certFile: string; keyFile: string }): ClusterTls {
  return { ca: readFileSync(files.caFile), cert: readFileSync(files.certFile), key: readFileSync(files.keyFile) };
}

/** Channel options with which the client expects `serverName` in the other side's certificate. */
export function serverNameOptions(tls: ClusterTls | null): ChannelOptions {
  return tls?.serverName ? { 'grpc.ssl_target_name_override': tls.serverName } : {};
}

/** null: no encryption, for trusted networks. */
export function channelCredentials(tls: ClusterTls | null): ChannelCredentials {
  return tls === null ? ChannelCredentials.createInsecure() : ChannelCredentials.createSsl(tls.ca, tls.key, tls.cert);
}

export function serverCredentials(tls: ClusterTls | null): ServerCredentials {
  if (tls === null) return ServerCredentials.createInsecure();
  return ServerCredentials.createSsl(tls.ca, [{ private_key: tls.key, cert_chain: tls.cert }], true);
}
