import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readProfiles, writeProfiles } from '../../../../cli/connection/profile-file';
import { checkUrl, findTarget } from '../../../../cli/connection/target';

const folder = mkdtempSync(join(tmpdir(), 'quiver-profiles-'));
const path = join(folder, 'config', 'profiles.json');
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeEach(() =>
  writeProfiles(path, {
    current: 'home',
    byName: new Map([
      ['home', { url: 'http://home:1', apiKey: 'home-key' }],
      ['work', { url: 'https://work/quiver', apiKey: null }],
    ]),
  }),
);

const environment = (more: Record<string, string> = {}): Record<string, string> => ({ QUIVER_PROFILES: path, ...more });

describe('the service that a command asks', () => {
  test.each([
    ['nothing: the current profile', {}, {}, { url: 'http://home:1', apiKey: 'home-key' }],
    ['a profile', { profile: 'work' }, { QUIVER_URL: 'http://other' }, { url: 'https://work/quiver', apiKey: null }],
    ['QUIVER_PROFILE', {}, { QUIVER_PROFILE: 'work' }, { url: 'https://work/quiver', apiKey: null }],
    [
      'QUIVER_URL, which gets no key of a profile',
      {},
      { QUIVER_URL: 'http://other/' },
      { url: 'http://other', apiKey: null },
    ],
    [
      '--url, which wins, with the key of the environment',
      { url: 'http://third' },
      { QUIVER_URL: 'http://other', QUIVER_API_KEY: 'k' },
      { url: 'http://third', apiKey: 'k' },
    ],
    [
      'a profile and a key of the environment, which wins',
      { profile: 'home' },
      { QUIVER_API_KEY: 'k' },
      { url: 'http://home:1', apiKey: 'k' },
    ],
  ])('is said by %s', (_title, named, more, expected) => {
    expect(findTarget(environment(more), named)).toEqual(expected);
  });

  test('is on this machine where nothing says it', () => {
    expect(findTarget({ QUIVER_PROFILES: join(folder, 'none.json') }, {})).toEqual({
      url: 'http://localhost:8000',
      apiKey: null,
    });
  });

  test('must be there, and an address', () => {
    expect(() => findTarget(environment(), { profile: 'away' })).toThrow(/no profile "away" .* home, work/);
    for (const text of ['localhost:8000', 'ftp://x', 'http://user@x', 'http://x?k=1', ''])
      expect(() => checkUrl(text)).toThrow(/address/);
  });
});

describe('the profile file', () => {
  test('is readable by its owner only, and refused when others may read it', () => {
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'config')).mode & 0o777).toBe(0o700);
    for (const mode of [0o640, 0o604, 0o620, 0o601]) {
      chmodSync(path, mode);
      expect(() => readProfiles(path)).toThrow(/others may read it .*chmod 600/);
    }
    chmodSync(path, 0o400);
    expect(readProfiles(path).current).toBe('home');
    expect(readFileSync(path, 'utf8')).toContain('home-key');
  });

  test('names what was most likely meant by a field that is misspelt, and lets others be', () => {
    const other = join(folder, 'misspelt.json');
    const read = (json: object) => {
      writeFileSync(other, JSON.stringify(json), { mode: 0o600 });
      return readProfiles(other);
    };
    expect(() => read({ profiles: { a: { url: 'http://a', apikey: 'secret' } } })).toThrow(
      /profile "a" has "apikey", which is not known: did you mean "api_key"\?/,
    );
    expect(() => read({ profile: { a: { url: 'http://a' } } })).toThrow(
      /it has "profile", which is not known: did you mean "profiles"\?/,
    );
    expect(read({ version: 2, profiles: { a: { url: 'http://a', note: 'mine' } } }).byName.get('a')).toEqual({
      url: 'http://a',
      apiKey: null,
    });
  });
});
