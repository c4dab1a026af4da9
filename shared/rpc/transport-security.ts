import { readFileSync } from 'node:fs';
import { ChannelCredentials, ServerCredentials } from '@grpc/grpc-js';

/**
 * Mutual TLS between the members of a cluster: each shows `cert` and accepts those that `ca` signed. PEM. A member's
 * certificate must be valid for the host by which others reach it.
 */
export interface ClusterTls {
  ca: Buffer;
  cert: Buffer;
  key: Buffer;
}

/** Reads the three files. Errors: as readFileSync has them. */
export function readClusterTls(files: { caFile: string; certFile: string; keyFile: string }): ClusterTls {
  return { ca: readFileSync(files.caFile), cert: readFileSync(files.certFile), key: readFileSync(files.keyFile) };
}

/** null: no encryption, for networks that are trusted. */
export function channelCredentials(tls: ClusterTls | null): ChannelCredentials {
  return tls === null ? ChannelCredentials.createInsecure() : ChannelCredentials.createSsl(tls.ca, tls.key, tls.cert);
}

export function serverCredentials(tls: ClusterTls | null): ServerCredentials {
  if (tls === null) return ServerCredentials.createInsecure();
  return ServerCredentials.createSsl(tls.ca, [{ private_key: tls.key, cert_chain: tls.cert }], true);
}
