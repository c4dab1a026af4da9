import { createSecureContext } from 'node:tls';
import { type ClusterConfig, etcdPasswordIn } from '../base/config/config';
import type { Logger } from '../base/logs/logger';
import type { ShutdownStack } from '../base/process/shutdown-stack';
import { FollowedFiles } from '../base/process/followed-files';
import { RenewedCertificates } from '../base/process/renewed-certificates';
import type { ClusterTls } from '../wire/handshake/transport-security';

/** What a member shows to etcd, where it may be replaced while the process runs. */
export interface EtcdAccess {
  certificates: RenewedCertificates | null;
  password: string | undefined;
}

/**
 * Follows the files with the certificates of a member and the password of etcd, and renews what was read of them at the
 * start. The cluster's secret is not among them: members change it one after the other (docs/operations.md).
 */
export function followMemberFiles(
  config: ClusterConfig,
  parts: { tls: ClusterTls | null; etcd: EtcdAccess; log: Logger; shutdown: ShutdownStack },
): void {
  const { tls, etcd, log, shutdown } = parts;
  const follow = (
    what: string,
    paths: string[],
    first: Buffer[],
    onChange: (contents: Buffer[]) => boolean | void,
  ): void => {
    const files = new FollowedFiles({
      paths,
      first,
      onChange: (contents) => {
        if (onChange(contents) === false) return;
        log.info({ files: paths }, `${what} were replaced; what is opened from now on uses the new ones`);
      },
      onError: (error) =>
        log.error({ error, files: paths }, `${what} can't be used as they are now; those from before stay in force`),
    });
    shutdown.defer(() => files.close());
  };
  if (tls?.renewed !== undefined) {
    const { renewed } = tls;
    follow(
      "the members' certificates",
      [config.tlsCaFile, config.tlsCertFile, config.tlsKeyFile],
      [tls.ca, tls.cert, tls.key],
      ([ca, cert, key]) => {
        mustFit({ ca, cert, key });
        renewed.renew({ ca, cert, key });
      },
    );
  }
  const { certificates } = etcd;
  if (certificates !== null) {
    const paths = [config.etcdCaFile, config.etcdCertFile, config.etcdKeyFile].filter((path) => path !== '');
    const { ca, cert, key } = certificates.current;
    follow(
      'the certificates for etcd',
      paths,
      cert === null || key === null ? [ca] : [ca, cert, key],
      ([newCa, newCert = null, newKey = null]) => {
        mustFit({ ca: newCa, cert: newCert, key: newKey });
        certificates.renew({ ca: newCa, cert: newCert, key: newKey });
      },
    );
  }
  if (config.etcdPasswordFile !== '') {
    // Its first content is looked at, too: it may have been replaced since the configuration was read.
    follow('the password of etcd', [config.etcdPasswordFile], [Buffer.alloc(0)], ([content]) => {
      const before = etcd.password;
      etcd.password = etcdPasswordIn(content);
      return etcd.password !== before;
    });
  }
}

/** Errors: those of OpenSSL, when these are no certificates or the key is another's. */
function mustFit({ ca, cert, key }: { ca: Buffer; cert: Buffer | null; key: Buffer | null }): void {
  createSecureContext(cert === null || key === null ? { ca } : { ca, cert, key });
}
