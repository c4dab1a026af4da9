import { RenewedCertificates } from '../../base/process/renewed-certificates';
import type { ClusterCredentials } from '../streams/rpc-channel';
import type { ClusterTls } from './transport-security';
import type { ThreadHandlers, ThreadPeer } from '../../base/threads/thread-peer';

/** What a thread that serves shows to other members; its log is its own. */
export type ThreadCredentials = Omit<ClusterCredentials, 'log'>;

/** The certificates as they go to another thread. */
type SentCertificates = Record<'ca' | 'cert' | 'key', Uint8Array>;

/**
 * The credentials for the data of such a thread: as the main thread read them when it began. It tells those that
 * replace them. So a thread needs no file, and all threads show the same certificate.
 */
export function threadCredentials({ log: _log, tls, ...credentials }: ClusterCredentials): ThreadCredentials {
  return { ...credentials, tls: tls === null ? null : withoutRenewal(tls) };
}

/**
 * The credentials on that thread, and what the main thread tells of them. Bytes that came from another thread are no
 * Buffers any more.
 */
export function credentialsOfThread(
  given: ThreadCredentials,
  log: ClusterCredentials['log'],
): { credentials: ClusterCredentials; handlers: ThreadHandlers } {
  if (given.tls === null) return { credentials: { ...given, log }, handlers: {} };
  const own = asBuffers(given.tls);
  const renewed = new RenewedCertificates(own);
  return {
    credentials: { ...given, log, tls: { ...given.tls, ...own, renewed } },
    handlers: { 'members.tls': (sent: SentCertificates) => renewed.renew(asBuffers(sent)) },
  };
}

/** Tells such a thread the members' certificates of now, and from now on each change. Answers what ends that. */
export function publishCertificates(tls: ClusterTls | null, peer: Pick<ThreadPeer, 'tell'>): () => void {
  const renewed = tls?.renewed;
  if (renewed === undefined) return () => undefined;
  return renewed.follow((certificates) => peer.tell('members.tls', certificates));
}

function withoutRenewal({ renewed: _renewed, ...tls }: ClusterTls): ClusterTls {
  return tls;
}

function asBuffers({ ca, cert, key }: SentCertificates): { ca: Buffer; cert: Buffer; key: Buffer } {
  return { ca: Buffer.from(ca), cert: Buffer.from(cert), key: Buffer.from(key) };
}
