import { randomBytes } from 'node:crypto';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import { FollowedFiles, readAll } from '../../../shared/base/process/followed-files';
import { type ApiCertificate, mustFit } from './tls-door';

const TICKET_KEYS_BYTES = 48;
/** Who learns the keys of tickets can read what was said with TLS 1.2 since they were made. */
const TICKET_KEYS_MS = 12 * 3_600_000;

/**
 * The certificate of the API, which follows its files, and the keys by which clients take a session up again. The main
 * thread has it, and tells it to those that serve.
 */
export class ApiCertificates {
  private present: ApiCertificate;
  private readonly followers = new Set<(certificate: ApiCertificate) => void>();
  private readonly files: FollowedFiles;
  private readonly timer: NodeJS.Timeout;

  /** Errors: invalid_parameter for files that can't be read or don't belong together. */
  constructor({ certFile, keyFile, log, lookMs }: { certFile: string; keyFile: string; log: Logger; lookMs?: number }) {
    const paths = [certFile, keyFile];
    let first: Buffer[];
    try {
      first = readAll(paths);
      this.present = certificateOf(first);
    } catch (cause) {
      throw new QuiverError(
        'invalid_parameter',
        `API_TLS_CERT_FILE or API_TLS_KEY_FILE cannot be used: ${(cause as Error).message}`,
        { cause },
      );
    }
    this.files = new FollowedFiles({
      paths,
      first,
      onChange: (contents) => {
        this.publish(certificateOf(contents));
        log.info(
          { files: paths },
          "the API's certificate was replaced; connections that are opened from now on get the new one",
        );
      },
      onError: (error) =>
        log.error(
          { error, files: paths },
          "the API's certificate can't be used as it is now; the one from before stays in force",
        ),
      lookMs,
    });
    this.timer = setInterval(
      () => this.publish({ ...this.present, ticketKeys: randomBytes(TICKET_KEYS_BYTES) }),
      TICKET_KEYS_MS,
    );
    this.timer.unref();
  }

  /** Tells the certificate of now, and from now on each change. Answers what ends that. */
  follow(follower: (certificate: ApiCertificate) => void): () => void {
    follower(this.present);
    this.followers.add(follower);
    return () => this.followers.delete(follower);
  }

  close(): void {
    clearInterval(this.timer);
    this.files.close();
  }

  private publish(certificate: ApiCertificate): void {
    this.present = certificate;
    for (const follower of this.followers) follower(certificate);
  }
}

function certificateOf([cert, key]: Buffer[]): ApiCertificate {
  const pair = { cert: cert.toString('latin1'), key: key.toString('latin1') };
  mustFit(pair);
  return { ...pair, ticketKeys: randomBytes(TICKET_KEYS_BYTES) };
}
