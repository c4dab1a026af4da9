import type { ClusterCredentials } from '../../shared/rpc/rpc-channel';

/** What a front thread shows to other members; its log is its own. */
export type FrontCredentials = Omit<ClusterCredentials, 'log'>;

/**
 * The credentials for the data of a front thread: as the main thread read them when it began. So a thread that is
 * replaced needs no file, and all threads show the same certificate.
 */
export function frontCredentials({ log: _log, ...credentials }: ClusterCredentials): FrontCredentials {
  return credentials;
}

/** The credentials on the front thread. Bytes that came from another thread are no Buffers any more. */
export function credentialsOfThread(given: FrontCredentials, log: ClusterCredentials['log']): ClusterCredentials {
  const { tls } = given;
  return { ...given, log, tls: tls && { ...tls, ca: Buffer.from(tls.ca), cert: Buffer.from(tls.cert), key: Buffer.from(tls.key) } };
}
