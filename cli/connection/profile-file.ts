import { chmodSync, closeSync, fstatSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { nearestName } from '../../shared/base/text/nearest-name';
import { CommandError, EXIT_CODES } from '../command-error';

/** A service and the key for it. */
export interface Profile {
  url: string;
  apiKey: string | null;
}

export interface Profiles {
  /** The one that is used when none is named; null: none. */
  current: string | null;
  byName: Map<string, Profile>;
}

/** Others have no business in a file with keys. */
const OTHERS = 0o077;
const OWNER_ONLY = 0o600;
const NAME = /^[A-Za-z0-9_.-]{1,100}$/;

/** Where profiles are kept: QUIVER_PROFILES, else in the user's configuration folder. */
export function profilePath(environment: Record<string, string | undefined>): string {
  if (environment.QUIVER_PROFILES) return environment.QUIVER_PROFILES;
  return join(environment.XDG_CONFIG_HOME || join(environment.HOME || homedir(), '.config'), 'quiver', 'profiles.json');
}

/** Reads the profiles; none where there is no file. A file that others may read or write is refused. */
export function readProfiles(path: string): Profiles {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { current: null, byName: new Map() };
    throw badFile(path, (error as Error).message);
  }
  try {
    // Of the open file, so that it is the one that is read.
    const { mode } = fstatSync(file);
    if (process.platform !== 'win32' && (mode & OTHERS) !== 0)
      throw badFile(
        path,
        `others may read it (mode ${(mode & 0o777).toString(8).padStart(4, '0')}), and it holds keys; run: chmod 600 ${path}`,
      );
    return profilesFromJson(path, readFileSync(file, 'utf8'));
  } finally {
    closeSync(file);
  }
}

/** Replaces the file whole, readable by its owner only. */
export function writeProfiles(path: string, profiles: Profiles): void {
  const json = {
    current: profiles.current,
    profiles: Object.fromEntries(
      [...profiles.byName].map(([name, { url, apiKey }]) => [
        name,
        apiKey === null ? { url } : { url, api_key: apiKey },
      ]),
    ),
  };
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const next = `${path}.${process.pid}`;
  writeFileSync(next, `${JSON.stringify(json, null, 2)}\n`, { mode: OWNER_ONLY });
  chmodSync(next, OWNER_ONLY);
  renameSync(next, path);
}

/** Refuses a name that could not be typed without quotes. */
export function checkProfileName(name: string): string {
  if (!NAME.test(name) || name === '__proto__')
    throw new CommandError(
      `"${name}" is not a profile's name: 1 to 100 letters, digits, ".", "-" and "_"`,
      EXIT_CODES.usage,
    );
  return name;
}

function profilesFromJson(path: string, text: string): Profiles {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    throw badFile(path, `it is not JSON: ${(error as Error).message}`);
  }
  mustBeSpelt(path, json, FILE_FIELDS);
  const { current = null, profiles = {} } = (json ?? {}) as { current?: unknown; profiles?: unknown };
  if (typeof profiles !== 'object' || profiles === null || (current !== null && typeof current !== 'string'))
    throw badFile(path, 'it must hold {"current": name, "profiles": {name: {"url", "api_key"}}}');
  const byName = new Map<string, Profile>();
  for (const [name, value] of Object.entries(profiles as Record<string, { url?: unknown; api_key?: unknown } | null>)) {
    mustBeSpelt(path, value, PROFILE_FIELDS, `profile "${name}" has `);
    if (typeof value?.url !== 'string') throw badFile(path, `profile "${name}" has no url`);
    if (value.api_key !== undefined && typeof value.api_key !== 'string')
      throw badFile(path, `api_key of profile "${name}" is not a string`);
    byName.set(name, { url: value.url, apiKey: value.api_key ?? null });
  }
  return { current, byName };
}

const FILE_FIELDS = ['current', 'profiles'];
const PROFILE_FIELDS = ['url', 'api_key'];

/** A later version may write more fields, but none that is so near one of these. */
function mustBeSpelt(path: string, value: unknown, known: readonly string[], where = 'it has '): void {
  if (typeof value !== 'object' || value === null) return;
  for (const field of Object.keys(value)) {
    const nearest = known.includes(field) ? null : nearestName(field, known);
    if (nearest !== null)
      throw badFile(path, `${where}"${field.slice(0, SHOWN_MAX)}", which is not known: did you mean "${nearest}"?`);
  }
}

/** Longest piece of a name that a message repeats. */
const SHOWN_MAX = 80;

function badFile(path: string, reason: string): CommandError {
  return new CommandError(`the profile file ${path} is not used: ${reason}`, EXIT_CODES.usage);
}
