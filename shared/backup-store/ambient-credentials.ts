import { defaultProvider } from '@aws-sdk/credential-provider-node';
import { QuiverError } from '../base/errors/quiver-error';
import { inTime } from '../base/time/deadline';
import { type CredentialSource, keptCredentials, type S3Credentials } from './credential-source';

/** Of one question to whoever gives credentials away: they are on this machine, or beside it. */
const TIMEOUT_MS = 2_000;
const RETRIES_MAX = 2;
/** Of one question to STS or to whoever signs somebody on, which are services elsewhere; they are asked three times. */
const SERVICE = { connectionTimeout: 3_000, requestTimeout: 8_000, throwOnRequestTimeout: true };
/** Of all of it: nothing else bounds a program that gives credentials away. */
const WITHIN_MS = 30_000;

/** It has nothing to say that the error does not; and it must not write beside the log. */
const SILENT = {
  trace: () => undefined,
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/**
 * Credentials as AWS's own SDKs find them, by their own package: the environment, shared files (with roles, SSO and
 * processes), a web identity (IRSA on EKS), the endpoint of a container (ECS, EKS Pod Identity) and of an EC2 instance
 * (IMDSv2). Temporary ones are replaced from five minutes before they end, while those of before still work.
 */
export class AmbientCredentials implements CredentialSource {
  private provider: ReturnType<typeof defaultProvider>;
  private known: S3Credentials | null = null;

  /** `region`: of the store; roles are assumed there. */
  constructor(
    private readonly region: string,
    private readonly withinMs = WITHIN_MS,
  ) {
    this.provider = this.newProvider();
  }

  current(): Promise<S3Credentials> {
    return this.ask(false);
  }

  renewed(): Promise<S3Credentials> {
    return this.ask(true);
  }

  private async ask(forceRefresh: boolean): Promise<S3Credentials> {
    const { provider } = this;
    try {
      const { accessKeyId, secretAccessKey, sessionToken } = await inTime(
        provider({ forceRefresh }),
        this.withinMs,
        () => {
          // Everybody else would wait for the same question.
          if (this.provider === provider) this.provider = this.newProvider();
          return new Error(`nobody gave credentials within ${this.withinMs} ms`);
        },
      );
      return (this.known = keptCredentials(this.known, { accessKeyId, secretAccessKey, sessionToken }));
    } catch (cause) {
      throw this.failure(cause);
    }
  }

  private newProvider(): ReturnType<typeof defaultProvider> {
    return defaultProvider({
      timeout: TIMEOUT_MS,
      maxRetries: RETRIES_MAX,
      logger: SILENT,
      clientConfig: { region: this.region, requestHandler: { ...SERVICE } },
    });
  }

  /** Whoever gave some before may do so again; who refuses, or is not there at all, will go on like that. */
  private failure(cause: unknown): QuiverError {
    const {
      name = '',
      message = '',
      $metadata,
      $retryable,
    } = (cause ?? {}) as {
      name?: string;
      message?: string;
      $metadata?: { httpStatusCode?: number };
      $retryable?: object;
    };
    const status = $metadata?.httpStatusCode ?? 0;
    // STS says with a 400 that it was asked too often.
    const mayPass = status === 429 || $retryable !== undefined || /throttl/i.test(name);
    if (status >= 400 && status < 500 && !mayPass)
      return new QuiverError(
        'storage_failed',
        `credentials for the backup target were refused: ${/^\w{1,64}$/.test(name) ? name : status}`,
        { cause },
      );
    if (this.known === null && /Could not load credentials from any providers/.test(message)) {
      return new QuiverError(
        'storage_failed',
        'there are no credentials for the backup target: set BACKUP_S3_ACCESS_KEY_ID and BACKUP_S3_SECRET_ACCESS_KEY, or BACKUP_S3_CREDENTIALS_FILE, or give the process a role or credentials as programs for AWS find them',
        { cause },
      );
    }
    return new QuiverError('unavailable', 'credentials for the backup target could not be had at present', { cause });
  }
}
