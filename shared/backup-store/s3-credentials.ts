import { readFile } from 'node:fs/promises';
import { QuiverError } from '../base/errors/quiver-error';
import type { AmbientCredentials } from './ambient-credentials';
import { type CredentialSource, keptCredentials, type S3Credentials } from './credential-source';

/** How credentials are given in the configuration. */
export interface GivenCredentials {
  accessKeyId: string | undefined;
  secretAccessKey: string | undefined;
  sessionToken: string | undefined;
  /** A file with `aws_access_key_id = …` and so on, in the place of the three; empty: none. It may change. */
  credentialsFile: string;
}

/** The file, the key, or, where neither is given, what AWS's own programs would find. */
export function credentialSource(
  { accessKeyId, secretAccessKey, sessionToken, credentialsFile }: GivenCredentials,
  region: string,
): CredentialSource {
  if (credentialsFile !== '') return new CredentialsInFile(credentialsFile);
  if (accessKeyId === undefined && secretAccessKey === undefined) return new LoadedLater(region);
  return new FixedCredentials(accessKeyId, secretAccessKey, sessionToken);
}

class FixedCredentials implements CredentialSource {
  private readonly known: S3Credentials | null;

  constructor(accessKeyId: string | undefined, secretAccessKey: string | undefined, sessionToken: string | undefined) {
    this.known =
      accessKeyId === undefined || secretAccessKey === undefined
        ? null
        : { accessKeyId, secretAccessKey, sessionToken };
  }

  async current(): Promise<S3Credentials> {
    if (this.known === null)
      throw new QuiverError(
        'storage_failed',
        'the credentials for the backup target are not whole: set both BACKUP_S3_ACCESS_KEY_ID and BACKUP_S3_SECRET_ACCESS_KEY',
      );
    return this.known;
  }

  renewed(): Promise<S3Credentials> {
    return this.current();
  }
}

/** A file that may be replaced: it is read again when the store refuses what it had. */
class CredentialsInFile implements CredentialSource {
  private known: S3Credentials | null = null;

  constructor(private readonly path: string) {}

  async current(): Promise<S3Credentials> {
    return (this.known ??= await this.read());
  }

  async renewed(): Promise<S3Credentials> {
    const before = this.known;
    return (this.known = keptCredentials(before, await this.read()));
  }

  private async read(): Promise<S3Credentials> {
    const text = await readFile(this.path, 'utf8').catch((cause: unknown) => {
      throw new QuiverError('storage_failed', 'the file with the credentials of the backup target cannot be read', {
        cause,
      });
    });
    const valueOf = (name: string): string | undefined =>
      new RegExp(`^\\s*${name}\\s*=\\s*(\\S+)\\s*$`, 'm').exec(text)?.[1];
    const [accessKeyId, secretAccessKey] = [valueOf('aws_access_key_id'), valueOf('aws_secret_access_key')];
    if (accessKeyId === undefined || secretAccessKey === undefined)
      throw new QuiverError(
        'storage_failed',
        'the file with the credentials of the backup target has no aws_access_key_id or no aws_secret_access_key',
      );
    return { accessKeyId, secretAccessKey, sessionToken: valueOf('aws_session_token') };
  }
}

/** The package that looks for credentials is loaded where they are needed, and no sooner. */
class LoadedLater implements CredentialSource {
  private source: AmbientCredentials | null = null;

  constructor(private readonly region: string) {}

  current(): Promise<S3Credentials> {
    return this.load().current();
  }

  renewed(): Promise<S3Credentials> {
    return this.load().renewed();
  }

  private load(): AmbientCredentials {
    const { AmbientCredentials: Source } = require('./ambient-credentials') as typeof import('./ambient-credentials');
    return (this.source ??= new Source(this.region));
  }
}
