import type { EmbeddingProviderSetting } from '../../../shared/base/config/embedding-providers';
import { QuiverError } from '../../../shared/base/errors/quiver-error';
import type { Logger } from '../../../shared/base/logs/logger';
import { secretIn } from '../../../shared/base/config/secret-files';
import { FollowedFiles, readAll } from '../../../shared/base/process/followed-files';

/** What a header can carry unchanged. */
const HEADER_VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** The keys of providers, which stand in files and may be replaced while the process runs. */
export class ProviderKeys {
  private readonly keys = new Map<string, string>();
  private readonly files: FollowedFiles[] = [];

  /** Errors: invalid_parameter for a file that can't be read, or holds no key. */
  constructor({
    providers,
    log,
  }: {
    providers: readonly EmbeddingProviderSetting[];
    log: Pick<Logger, 'info' | 'error'>;
  }) {
    for (const { name, keyFile } of providers) {
      if (keyFile === '') continue;
      const take = ([content]: readonly Buffer[]): void => {
        const key = secretIn(content);
        if (!HEADER_VALUE.test(key)) throw new QuiverError('invalid_parameter', `it holds no key of one line`);
        this.keys.set(name, key);
      };
      let first: Buffer[];
      try {
        first = readAll([keyFile]);
        take(first);
      } catch (cause) {
        this.close();
        throw new QuiverError(
          'invalid_parameter',
          `EMBEDDING_PROVIDERS is not valid: ${name}.key_file can't be used: ${(cause as Error).message}`,
          { cause },
        );
      }
      const onChange = (contents: Buffer[]): void => {
        take(contents);
        log.info({ provider: name }, 'an embedding provider has another key');
      };
      const onError = (error: unknown): void =>
        log.error({ provider: name, error }, 'the key file of an embedding provider could not be used');
      this.files.push(new FollowedFiles({ paths: [keyFile], first, onChange, onError }));
    }
  }

  /** '': it has none. */
  of(provider: string): string {
    return this.keys.get(provider) ?? '';
  }

  close(): void {
    for (const files of this.files) files.close();
  }
}
