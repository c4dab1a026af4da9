import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { embeddingProvidersIn } from '../../../../../shared/base/config/embedding-providers';

const LEAST = { url: 'https://api.example.com/v1', models: ['small'] };

describe('EMBEDDING_PROVIDERS', () => {
  test('is JSON, or a file with it, and has defaults', () => {
    expect(embeddingProvidersIn('')).toEqual([]);
    const wanted = [
      {
        name: 'big',
        url: 'https://api.example.com/v1',
        keyFile: '',
        models: [{ name: 'small', dim: 0 }],
        batch: 64,
        concurrency: 4,
        requestsPerMinute: 0,
        tokensPerDay: 0,
        characters: 24_576,
        timeoutMs: 60_000,
        cacheBytes: 268_435_456,
        encoding: 'base64',
      },
    ];
    expect(embeddingProvidersIn(JSON.stringify({ big: LEAST }))).toEqual(wanted);
    const folder = mkdtempSync(join(tmpdir(), 'quiver-providers-'));
    const file = join(folder, 'providers.json');
    writeFileSync(file, JSON.stringify({ big: LEAST }));
    expect(embeddingProvidersIn(file)).toEqual(wanted);
    rmSync(folder, { recursive: true });
    const more = {
      ...LEAST,
      models: ['a', { name: 'b', dim: 3 }],
      key_file: '/key',
      tokens_per_day: 7,
      encoding: 'float',
    };
    expect(embeddingProvidersIn(JSON.stringify({ big: more }))[0]).toMatchObject({
      models: [
        { name: 'a', dim: 0 },
        { name: 'b', dim: 3 },
      ],
      keyFile: '/key',
      tokensPerDay: 7,
      encoding: 'float',
    });
  });

  test.each([
    ['{', 'it is not JSON'],
    ['/no/such/file.json', 'neither JSON nor a file that can be read'],
    [JSON.stringify({ Big: LEAST }), '"Big" is no name'],
    [JSON.stringify({ local: LEAST }), '"local" is no name'],
    [JSON.stringify({ a: { ...LEAST, url: 'file:///etc/passwd' } }), 'a.url: must be the http or https address'],
    [JSON.stringify({ a: { ...LEAST, url: 'https://user:secret@host/v1' } }), 'a.url: must be'],
    [JSON.stringify({ a: { ...LEAST, url: 'https://host/v1#x' } }), 'a.url: must be'],
    [JSON.stringify({ a: { url: 'https://host' } }), 'a.models: '],
    [JSON.stringify({ a: { ...LEAST, models: [] } }), 'a.models: '],
    [JSON.stringify({ a: { ...LEAST, models: ['x', { name: 'x', dim: 3 }] } }), 'a.models has "x" twice'],
    [JSON.stringify({ a: { ...LEAST, key: 'sk-secret' } }), 'a: '],
    [JSON.stringify({ a: { ...LEAST, batch: 0 } }), 'a.batch: '],
  ])('%s is refused', (setting, message) => {
    expect(() => embeddingProvidersIn(setting)).toThrow(message);
    // What stands in it by mistake may be a secret.
    expect(() => embeddingProvidersIn(setting)).toThrow(/^(?!.*secret)/);
  });
});
