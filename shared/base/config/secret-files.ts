import { readFileSync } from 'node:fs';
import { QuiverError } from '../errors/quiver-error';
import type { Setting } from './settings';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The environment with the secrets that stand in files: where `NAME_FILE` is set and `NAME` is a secret of the table,
 * the file's content is the value of `NAME`. Errors: invalid_parameter when both are set, or the file can't be read or
 * is empty.
 */
export function withSecretFiles(table: Record<string, Setting>, environment: Environment): Environment {
  const found: Record<string, string> = {};
  for (const { kind, name } of Object.values(table)) {
    const path = kind === 'secret' ? environment[`${name}_FILE`] : undefined;
    if (!path) continue;
    if (environment[name])
      throw new QuiverError('invalid_parameter', `${name} and ${name}_FILE are both set: give one of them`);
    found[name] = readSecret(`${name}_FILE`, path);
  }
  return { ...environment, ...found };
}

/** The secret in a file's content: editors and `echo` end it with a line break. */
export function secretIn(content: Buffer): string {
  const text = content.toString('utf8');
  let end = text.length;
  while (end > 0 && (text[end - 1] === '\n' || text[end - 1] === '\r')) end -= 1;
  return text.slice(0, end);
}

function readSecret(name: string, path: string): string {
  let secret: string;
  try {
    secret = secretIn(readFileSync(path));
  } catch (cause) {
    throw new QuiverError(
      'invalid_parameter',
      `${name}=${JSON.stringify(path)} cannot be read: ${(cause as Error).message}`,
      { cause },
    );
  }
  if (secret === '') throw new QuiverError('invalid_parameter', `${name}=${JSON.stringify(path)} is empty`);
  return secret;
}
