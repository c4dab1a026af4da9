import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

/** The dependency rule of docs/architecture.md, read off the imports of every source file. */

const root = resolve(__dirname, '../..');

interface SourceFile {
  path: string;
  imports: string[];
}

function sourcesUnder(folder: string): SourceFile[] {
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => {
      const file = join(entry.parentPath, entry.name);
      const text = readFileSync(file, 'utf8');
      const found = [...text.matchAll(/(?:from|import\(|require\()\s*['"]([^'"]+)['"]/g)].map((match) => match[1]);
      const imports = found.map((name) => (name.startsWith('.') ? relative(root, resolve(dirname(file), name)) : name));
      return { path: relative(root, file), imports };
    });
}

const COMPOSITION_ROOTS = ['coordinator/embedded.ts'];
const sources = ['coordinator', 'node', 'shared'].flatMap(sourcesUnder);

function importersOf(matches: (imported: string) => boolean): string[] {
  return sources.filter((source) => source.imports.some(matches)).map((source) => source.path);
}

describe('the house', () => {
  test('has sources to look at', () => {
    expect(sources.length).toBeGreaterThan(50);
    expect(sources.flatMap((source) => source.imports).length).toBeGreaterThan(200);
  });

  test('coordinator and node meet only in shared and in the composition root', () => {
    const crossing = sources
      .filter((source) => !COMPOSITION_ROOTS.includes(source.path))
      .filter((source) => {
        const room = source.path.split('/')[0];
        const other = room === 'coordinator' ? ['node/'] : room === 'node' ? ['coordinator/'] : ['coordinator/', 'node/'];
        return source.imports.some((imported) => other.some((prefix) => imported.startsWith(prefix)));
      });
    expect(crossing.map((source) => source.path)).toEqual([]);
  });

  test.each([
    ['express', (path: string) => path.startsWith('coordinator/http/')],
    ['swagger-ui-express', (path: string) => path.startsWith('coordinator/http/')],
    ['busboy', (path: string) => path.startsWith('coordinator/http/')],
    ['prom-client', (path: string) => path.includes('/metrics/')],
    ['@grpc/grpc-js', (path: string) => /^shared\/(?:rpc\/|cluster-store\/etcd-)|^node\/rpc\/served-stream|^node\/replication\/(?:ack-stream|replication-service|snapshot-receiver)/.test(path)],
    ['@grpc/proto-loader', (path: string) => path.startsWith('shared/rpc/') || path === 'shared/cluster-store/etcd-protocol.ts'],
    ['pino', (path: string) => path.startsWith('shared/logs/')],
  ])('%s has one owner', (library, isOwner) => {
    const importers = importersOf((imported) => imported === library);
    expect(importers.length).toBeGreaterThan(0);
    expect(importers.filter((path) => !isOwner(path))).toEqual([]);
  });

  test.each([
    ['shared/kv/store-binding', (path: string) => path.startsWith('shared/kv/')],
    ['node/vector/native-binding', (path: string) => path.startsWith('node/vector/') || path === 'node/index-factories.ts'],
  ])('the addon behind %s has one owner', (binding, isOwner) => {
    const importers = importersOf((imported) => imported === binding);
    expect(importers.length).toBeGreaterThan(0);
    expect(importers.filter((path) => !isOwner(path))).toEqual([]);
  });

  test('imports have no circles', () => {
    const byModule = new Map(sources.map((source) => [source.path.replace(/\.ts$/, ''), source]));
    const done = new Set<string>();
    const circles: string[] = [];
    const visit = (module: string, trail: string[]): void => {
      if (trail.includes(module)) {
        circles.push([...trail.slice(trail.indexOf(module)), module].join(' → '));
        return;
      }
      if (done.has(module)) return;
      for (const imported of byModule.get(module)?.imports ?? []) {
        const target = byModule.has(imported) ? imported : `${imported}/index`;
        if (byModule.has(target)) visit(target, [...trail, module]);
      }
      done.add(module);
    };
    for (const module of byModule.keys()) visit(module, []);
    expect(circles).toEqual([]);
  });
});
