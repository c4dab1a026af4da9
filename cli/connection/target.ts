import { CommandError, EXIT_CODES } from '../command-error';
import { profilePath, readProfiles } from './profile-file';

/** Which service to talk to, and with which key. */
export interface Target {
  url: string;
  /** Null: none is known, and the service will say so. */
  apiKey: string | null;
}

/** The port of a service that is started without settings. */
const DEFAULT_URL = 'http://localhost:8000';

/**
 * Decides by the first that is there: --profile, --url, QUIVER_URL, the current profile, the usual address on this
 * machine. QUIVER_API_KEY wins over the profile's key. A profile's key goes to the profile's address only: one that is
 * named in another way gets no key from there.
 */
export function findTarget(
  environment: Record<string, string | undefined>,
  named: { url?: string; profile?: string },
): Target {
  if (named.url !== undefined && named.profile !== undefined)
    throw new CommandError('--url and --profile exclude each other', EXIT_CODES.usage);
  const key = environment.QUIVER_API_KEY || null;
  const address = named.profile === undefined ? (named.url ?? environment.QUIVER_URL) : undefined;
  if (address) return { url: checkUrl(address), apiKey: key };
  const path = profilePath(environment);
  const { current, byName } = readProfiles(path);
  const name = named.profile ?? environment.QUIVER_PROFILE ?? current;
  if (name === null || name === '') return { url: DEFAULT_URL, apiKey: key };
  const profile = byName.get(name);
  if (profile === undefined)
    throw new CommandError(
      `there is no profile "${name}" in ${path}; there is: ${[...byName.keys()].join(', ') || 'none'}`,
      EXIT_CODES.usage,
    );
  return { url: checkUrl(profile.url), apiKey: key ?? profile.apiKey };
}

/** Answers the address without its trailing slash. */
export function checkUrl(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new CommandError(
      `${text.includes('@') ? 'that' : `"${text}"`} is not an address: expected something like ${DEFAULT_URL}`,
      EXIT_CODES.usage,
    );
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new CommandError(
      `"${text}" is not an address of HTTP: it must begin with http:// or https://`,
      EXIT_CODES.usage,
    );
  if (url.username !== '' || url.search !== '' || url.hash !== '')
    throw new CommandError(
      'an address has no user, query or fragment; the key goes into QUIVER_API_KEY or a profile',
      EXIT_CODES.usage,
    );
  return url.href.replace(/\/+$/, '');
}
