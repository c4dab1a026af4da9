import type { Config } from './config';

/** Texts of a process's settings that must never be in a log. */
export function secretsOf(config: Config): string[] {
  return [
    config.apiKey,
    config.backupS3SecretAccessKey,
    config.backupS3SessionToken,
    config.backupSecret,
    config.backupSecretOther,
    config.rerankApiKey,
    config.llmApiKey,
  ].filter((secret) => secret !== undefined);
}
