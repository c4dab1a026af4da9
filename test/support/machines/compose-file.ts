import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse } from 'yaml';

export interface ComposeService {
  image: string;
  build?: string;
  command?: string[];
  environment?: Record<string, string>;
  ports?: string[];
  volumes?: string[];
  healthcheck?: { test: string[] };
  depends_on?: Record<string, { condition: string }>;
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  stop_grace_period?: string;
  mem_limit?: string;
}

export interface ComposeFile {
  services: Record<string, ComposeService>;
  volumes: Record<string, unknown>;
}

export const COMPOSE_FOLDER = resolve(__dirname, '../../..');

/**
 * docker-compose.yaml, merged and with its variables put in as Compose does (`${NAME}`, `${NAME:-default}`,
 * `${NAME:?why}`; an empty variable counts as unset). Throws for a variable that is required and missing.
 */
export function readComposeFile(variables: Record<string, string>): ComposeFile {
  const parsed: unknown = parse(composeText(), { merge: true });
  return interpolated(parsed, variables) as ComposeFile;
}

export function composeText(): string {
  return readFileSync(resolve(COMPOSE_FOLDER, 'docker-compose.yaml'), 'utf8');
}

function interpolated(value: unknown, variables: Record<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => interpolated(item, variables));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, interpolated(item, variables)]));
  if (typeof value !== 'string') return value;
  return value.replace(
    /\$\{(\w+)(?::([-?])([^}]*))?\}/g,
    (_, name: string, kind: string | undefined, rest: string | undefined) => {
      const given = variables[name];
      if (given) return given;
      if (kind === '?') throw new Error(`${name} ${rest}`);
      return rest ?? '';
    },
  );
}
