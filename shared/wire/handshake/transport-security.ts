import { ChannelCredentials, type ChannelOptions, experimental, ServerCredentials } from '@grpc/grpc-js';
import { readAll } from '../../base/process/followed-files';
import type { RenewedCertificates } from '../../base/process/renewed-certificates';

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
  /** The same three, where they may be replaced while the process runs. */
  renewed?: RenewedCertificates;
}

/** Reads the three files. Errors: those of readFileSync. */
export function readClusterTls(files: { caFile: string; certFile: string; keyFile: string }): ClusterTls {
  const [ca, cert, key] = readAll([files.caFile, files.certFile, files.keyFile]);
  return { ca, cert, key };
}

/** Channel options with which the client expects `serverName` in the other side's certificate. */
export function serverNameOptions(tls: ClusterTls | null): ChannelOptions {
  return tls?.serverName ? { 'grpc.ssl_target_name_override': tls.serverName } : {};
}

/** null: no encryption, for trusted networks. */
export function channelCredentials(tls: ClusterTls | null): ChannelCredentials {
  if (tls === null) return ChannelCredentials.createInsecure();
  const { renewed } = tls;
  return renewed === undefined
    ? ChannelCredentials.createSsl(tls.ca, tls.key, tls.cert)
    : experimental.createCertificateProviderChannelCredentials(renewed, renewed);
}

export function serverCredentials(tls: ClusterTls | null): ServerCredentials {
  if (tls === null) return ServerCredentials.createInsecure();
  const { renewed } = tls;
  if (renewed !== undefined) return experimental.createCertificateProviderServerCredentials(renewed, renewed, true);
  return ServerCredentials.createSsl(tls.ca, [{ private_key: tls.key, cert_chain: tls.cert }], true);
}
