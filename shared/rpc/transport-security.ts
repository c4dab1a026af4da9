import { readFileSync } from 'node:fs';
import { ChannelCredentials, type ChannelOptions, ServerCredentials } from '@grpc/grpc-js';

/**
 * Mutual TLS between the members of a cluster: each shows `cert` and accepts those that `ca` signed. PEM. A member's
 * certificate must be valid for the host by which others reach it, or for `serverName` where that is set: members whose
 * addresses have no names (pods of a Deployment) share one.
 */
export interface ClusterTls {
  ca: Buffer;
  cert: Buffer;
  key: Buffer;
  serverName?: string;
}

/** Reads the three files. Errors: as readFileSync has them. */
export function readClusterTls(files: { caFile: string; certFile: string; keyFile: string }): ClusterTls {
  return { ca: readFileSync(files.caFile), cert: readFileSync(files.certFile), key: readFileSync(files.keyFile) };
}

/** What a channel needs besides its credentials to look for `serverName` in the other side's certificate. */
export function serverNameOptions(tls: ClusterTls | null): ChannelOptions {
  return tls?.serverName ? { 'grpc.ssl_target_name_override': tls.serverName } : {};
}

/** null: no encryption, for networks that are trusted. */
export function channelCredentials(tls: ClusterTls | null): ChannelCredentials {
  return tls === null ? ChannelCredentials.createInsecure() : ChannelCredentials.createSsl(tls.ca, tls.key, tls.cert);
}

export function serverCredentials(tls: ClusterTls | null): ServerCredentials {
  if (tls === null) return ServerCredentials.createInsecure();
  return ServerCredentials.createSsl(tls.ca, [{ private_key: tls.key, cert_chain: tls.cert }], true);
}
