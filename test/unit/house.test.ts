import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { ERROR_KINDS } from '../../shared/base/errors/quiver-error';

/**
 * The rules of docs/architecture.md about who may import whom and what things are called, read off every source file.
 */

const root = resolve(__dirname, '../..');

interface SourceFile {
  path: string;
  text: string;
  /** Paths without ending for files of the house, names for packages. */
  imports: string[];
}

function sourcesUnder(folder: string): SourceFile[] {
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => {
      const file = join(entry.parentPath, entry.name);
      const text = readFileSync(file, 'utf8');
      const found = [...text.matchAll(/(?:from|import\(|require\()\s*['"]([^'"]+)['"]/g)].map((match) => match[1]);
      const imports = found.map((name) => (name.startsWith('.') ? relative(root, resolve(dirname(file), name)) : name));
      return { path: relative(root, file), text, imports };
    });
}

/**
 * Each side of the house from its top floor down: a room (a folder or a file) imports rooms of lower floors and what is
 * in shared/, and nothing else of its side.
 */
const FLOORS: Record<string, string[][]> = {
  cli: [
    ['main.ts'],
    ['program.ts'],
    ['commands/'],
    ['documents/', 'export/', 'import/', 'migrate/'],
    ['formats/', 'writing/'],
    ['connection/', 'filters/', 'terminal/'],
    ['command-context.ts', 'command-error.ts', 'generated/'],
  ],
  embedded: [
    ['library/', 'main.ts', 'repair.ts'],
    ['library-thread.ts'],
    ['embedded-service.ts', 'rebuilt-collections.ts'],
    ['collection-notes.ts'],
    ['cluster-folder.ts'],
    [
      'backup-secret.ts',
      'embedded-operations.ts',
      'folder-owner.ts',
      'http-thread.ts',
      'inline-shards.ts',
      'library-thread-data.ts',
      'cluster-store/',
    ],
  ],
  coordinator: [
    ['main.ts'],
    ['api-process.ts', 'cluster-http-thread.ts'],
    ['api/threads/'],
    ['api/metrics/'],
    ['api/', 'service-factory.ts'],
    ['cluster/'],
    ['jobs/'],
    [
      'service/aggregates/',
      'service/aliases/',
      'service/answers/',
      'service/demo/',
      'service/documents/',
      'service/judgements/',
      'service/sampling/',
      'service/search/',
    ],
    ['service/documents/text-boundaries.ts'],
    [
      'service/documents/blank.ts',
      'service/documents/chunk-paths.ts',
      'service/documents/document-chunks.ts',
      'service/documents/latin-sentences.ts',
      'service/vectors/',
    ],
    ['cluster/operations/', 'service/collections/'],
    [
      'api/native/',
      'models/',
      'service/audit/',
      'service/keys/',
      'service/limits/',
      'service/routing/',
      'service/service.ts',
    ],
    ['service/judgements-service.ts'],
    [
      'service/aggregates-service.ts',
      'service/aliases-service.ts',
      'service/answers-service.ts',
      'service/jobs-service.ts',
    ],
    [
      'models/collection-embedding.ts',
      'models/cut-text.ts',
      'models/rerank/reranker.ts',
      'service/answer-hold.ts',
      'service/documents/formats/parsed-document.ts',
      'service/idempotency/',
      'service/keys/collection-scope.ts',
      'service/keys/quota/key-quota.ts',
      'service/opaque-cursor.ts',
      'service/pages.ts',
      'service/search-request.ts',
    ],
    ['service/character-cut.ts', 'service/keyword-query.ts', 'service/readable-entries.ts', 'service/synonyms/'],
    ['service/keys/role.ts'],
  ],
  node: [
    ['main.ts'],
    ['read-thread.ts'],
    ['hosting/metrics/', 'hosting/replicas/'],
    ['hosting/threads/'],
    ['hosting/services/'],
    ['engine/index-factories.ts', 'replication/', 'replication/shipping/'],
    ['engine/shard/'],
    ['engine/positions/'],
    ['engine/directory/', 'engine/filter/', 'engine/keyword/'],
    ['engine/records/', 'engine/vector/'],
    ['engine/data-folder.ts', 'engine/kv/', 'engine/slots/', 'replication/core/'],
    ['engine/files/'],
  ],
  shared: [
    ['member/'],
    ['wire/'],
    ['cluster-store/'],
    ['contract/'],
    ['contract/filter/'],
    ['backup-store/', 'contract/vector/'],
    ['base/metrics/'],
    ['base/threads/'],
    ['base/process/', 'base/trace/'],
    [
      'base/config/',
      'base/files/',
      'base/logs/',
      'base/memory/',
      'base/secret/',
      'base/tables/',
      'base/text/',
      'base/time/',
    ],
    ['base/errors/', 'base/text/nearest-name.ts'],
  ],
};

/**
 * Decisions: values in, values out. They import each other and shared/, and see no disk, network, timer, clock or
 * chance.
 */
const PURE_CORE = [
  /^coordinator\/service\/answer-hold\.ts$/,
  /^coordinator\/service\/pages\.ts$/,
  /^coordinator\/models\/(?:collection-embedding|cut-text|rerank\/reranker)\.ts$/,
  /^coordinator\/service\/idempotency\/(store-dedup|write-dedup|moved-dedup)\.ts$/,
  /^coordinator\/cluster\/placement\/(?:placement|plan|plan-moves|planned-change|promotion)\.ts$/,
  /^coordinator\/service\/collections\/(?:alias-record|collection-record)\.ts$/,
  /^coordinator\/service\/collections\/reshard-record\.ts$/,
  /^coordinator\/service\/documents\/(?:blank|chunk|chunk-paths|document-chunks|fixed-chunker|text-boundaries)\.ts$/,
  /^coordinator\/service\/documents\/(?:document-changes|document-facts|formats\/parsed-document|latin-sentences|regions)\.ts$/,
  /^coordinator\/service\/keys\/(?:collection-scope|role)\.ts$/,
  /^coordinator\/service\/keys\/quota\/(?:key-quota|quota-entry)\.ts$/,
  /^coordinator\/service\/routing\/shard-router\.ts$/,
  /^coordinator\/service\/synonyms\//,
  /^coordinator\/service\/sampling\/(?:field-profile|merged-sample|principal-axes|projection)\.ts$/,
  /^coordinator\/service\/search\/(?:chunk-windows|example-vectors|found-groups|fusion|group-key|merge|mmr|score-fusion)\.ts$/,
  /^coordinator\/service\/(?:aggregates-service|aliases-service|answers-service|jobs-service|judgements-service)\.ts$/,
  /^coordinator\/service\/(?:keyword-query|search-request|service)\.ts$/,
  /^node\/engine\/files\/(?:byte-reader|byte-writer|later-format)\.ts$/,
  /^node\/engine\/filter\/(?:case-fold|geo-points|matcher|matches|text-test)\.ts$/,
  /^node\/engine\/keyword\/(?!bm25-keyword-index)/,
  /^node\/engine\/records\/(?:record-codec|record-keys|shard-stage-state)\.ts$/,
  /^node\/replication\/core\//,
  /^node\/engine\/slots\//,
  /^shared\/base\/config\/(?:settings|unknown-settings)\.ts$/,
  /^shared\/(?:base\/text|contract\/filter|contract\/vector)\//,
];
const IMPURE_WORDS =
  /\b(?:setTimeout|setInterval|setImmediate|Date\.now|performance\.now|Math\.random|randomUUID|randomBytes|process\.env)\b|\bnew Date\(\)|\bawait /;
const PURE_MODULES = ['node:assert', 'snowball-stemmers'];

/** What `quiver` runs beside the roles; neither side imports it, and it serves both. */
const COMMANDS = ['shared/member/etcd-users-command', 'shared/base/config/check-config'];

/** Unit tests of what stands beside the rooms: the two Docker files, the pages, and the tree itself. */
const TESTS_OF_THE_WHOLE = ['compose', 'documentation', 'dockerfile', 'house', 'house-counts', 'house-words'];

const sources = Object.keys(FLOORS).flatMap(sourcesUnder);
const written = sources.filter(({ path }) => !path.startsWith('shared/wire/generated/'));
const byModule = new Map(sources.map((source) => [source.path.replace(/\.ts$/, ''), source]));
const sideOf = (path: string): string => path.split('/')[0];

function importersOf(matches: (imported: string) => boolean): string[] {
  return sources.filter((source) => source.imports.some(matches)).map((source) => source.path);
}

/** Files of the house that a file imports. */
function housemates(source: SourceFile): string[] {
  return source.imports.flatMap((imported) => byModule.get(imported)?.path ?? []);
}

/** The floor of a file, from the top, and the room by the longest name that fits. */
function roomOf(path: string): { room: string; floor: number } | undefined {
  const inside = path.slice(sideOf(path).length + 1);
  return FLOORS[sideOf(path)]
    .flatMap((rooms, floor) => rooms.map((room) => ({ room, floor })))
    .filter(({ room }) => inside === room || (room.endsWith('/') && inside.startsWith(room)))
    .sort((a, b) => b.room.length - a.room.length)[0];
}

/** A pattern for each of the names that one pattern lists, `(?:a|b)` and what it must not be, `(?!a)`. */
function alternativesOf({ source }: RegExp): RegExp[] {
  const listed = /\((?:\?:)?([\w-]+(?:\|[\w-]+)+)\)/.exec(source);
  if (listed !== null)
    return listed[1].split('|').flatMap((one) => alternativesOf(new RegExp(source.replace(listed[0], one))));
  const without = /\(\?!([^)]+)\)/.exec(source);
  return without === null
    ? [new RegExp(source)]
    : [new RegExp(source.replace(without[0], '')), new RegExp(source.replace(without[0], without[1]))];
}

/** Modules that some files reach by imports, themselves among them. */
function reachedFrom(start: string[]): Set<string> {
  const reached = new Set(start);
  for (const module of reached)
    for (const imported of byModule.get(module)?.imports ?? []) if (byModule.has(imported)) reached.add(imported);
  return reached;
}

/** Which sides a side imports, besides itself. */
const MAY_IMPORT: Record<string, string[]> = {
  cli: ['coordinator', 'shared'],
  embedded: ['coordinator', 'node', 'shared'],
  coordinator: ['shared'],
  node: ['shared'],
  shared: [],
};

/** Who imports a library, or the binding of an addon: folders and files, or how their paths begin. */
const OWNERS: Record<string, string[]> = {
  express: ['coordinator/api/pages/'],
  'swagger-ui-express': ['coordinator/api/pages/'],
  commander: ['cli/commands/', 'cli/main.ts', 'cli/program.ts'],
  'cli-progress': ['cli/terminal/progress.ts'],
  jose: ['coordinator/service/keys/tokens/'],
  marked: ['coordinator/service/documents/formats/readers/'],
  parse5: ['coordinator/service/documents/formats/readers/'],
  sax: ['coordinator/service/documents/formats/readers/'],
  postgres: ['cli/migrate/sources/pgvector-source.ts'],
  '@modelcontextprotocol/server': ['coordinator/api/mcp/'],
  '@aws-sdk/credential-provider-node': ['shared/backup-store/ambient-credentials.ts'],
  busboy: ['coordinator/api/'],
  'prom-client': [
    'coordinator/api/metrics/',
    'node/hosting/metrics/',
    'shared/cluster-store/metrics/',
    'shared/base/metrics/',
  ],
  '@grpc/grpc-js': [
    'shared/wire/',
    'shared/cluster-store/etcd/',
    'node/hosting/services/served-stream.ts',
    'node/replication/links/replication-service.ts',
    'node/replication/links/snapshot-receiver.ts',
  ],
  '@grpc/proto-loader': ['shared/wire/', 'shared/cluster-store/etcd/etcd-protocol.ts'],
  pino: ['shared/base/logs/'],
  '@opentelemetry/api': ['shared/base/trace/otlp-tracer.ts'],
  '@opentelemetry/sdk-trace-base': ['shared/base/trace/otlp-tracer.ts'],
  '@opentelemetry/resources': ['shared/base/trace/otlp-tracer.ts'],
  '@opentelemetry/exporter-trace-otlp-proto': ['shared/base/trace/otlp-tracer.ts'],
  '@opentelemetry/exporter-trace-otlp-http': ['shared/base/trace/otlp-tracer.ts'],
  'coordinator/api/native/body-scanner': ['coordinator/api-process.ts', 'coordinator/api/'],
  'node/engine/kv/store-binding': ['node/engine/kv/'],
  'node/engine/vector/native-binding': [
    'node/engine/vector/',
    'node/engine/filter/memory-filter-index.ts',
    'node/engine/filter/filter-program.ts',
  ],
};

/** Where programs, threads and commands begin: files that others name by their path. */
const ENTRANCES = [
  'cli/main',
  'coordinator/cluster-http-thread',
  'coordinator/models/transformers/embedding-worker',
  'coordinator/main',
  // What reads and cuts documents, which `npm run bench -- documents` loads.
  'coordinator/service/documents/cut-document',
  'coordinator/service/documents/formats/document-parser',
  'coordinator/service/documents/formats/parser-program',
  'coordinator/service/sampling/projection-worker',
  'embedded/http-thread',
  'embedded/library-thread',
  'embedded/library/index',
  'embedded/main',
  'embedded/repair',
  'node/main',
  'node/read-thread',
  ...COMMANDS,
];

describe('the house', () => {
  test('has sources to look at', () => {
    expect(sources.length).toBeGreaterThan(50);
    expect(sources.flatMap((source) => source.imports).length).toBeGreaterThan(200);
  });

  test('coordinator and node meet only in shared and in embedded', () => {
    const crossing = sources.flatMap((source) =>
      housemates(source)
        .filter(
          (path) => sideOf(path) !== sideOf(source.path) && !MAY_IMPORT[sideOf(source.path)].includes(sideOf(path)),
        )
        .map((path) => `${source.path} → ${path}`),
    );
    expect(crossing).toEqual([]);
  });

  test('the command line uses the client for programs, and of the service pure functions only', () => {
    const isLent = (path: string): boolean =>
      path.startsWith('clients/typescript/src/') || PURE_CORE.some((pattern) => pattern.test(`${path}.ts`));
    const foreign = sources
      .filter(({ path }) => sideOf(path) === 'cli')
      .flatMap(({ path, imports }) =>
        imports
          .filter((name) => /^(?:clients|coordinator|embedded|node|shared)\//.test(name) && !isLent(name))
          .map((name) => `${path} → ${name}`),
      );
    expect(foreign).toEqual([]);
  });

  test('the client for programs imports nothing but itself, and what its part for LangChain is for', () => {
    const client = sourcesUnder('clients/typescript/src');
    const modules = new Set(client.map(({ path }) => path.replace(/\.ts$/, '')));
    expect(client.length).toBeGreaterThan(10);
    expect(
      client.flatMap(({ path, imports }) =>
        imports
          .filter(
            (imported) =>
              !modules.has(imported) && !(path.includes('/langchain/') && imported.startsWith('@langchain/core/')),
          )
          .map((imported) => `${path} → ${imported}`),
      ),
    ).toEqual([]);
  });

  test('imports point down, from floor to floor', () => {
    expect(sources.map(({ path }) => path).filter((path) => roomOf(path) === undefined)).toEqual([]);
    const climbing = sources.flatMap((source) => {
      const from = roomOf(source.path);
      return housemates(source)
        .filter((path) => sideOf(path) === sideOf(source.path))
        .filter((path) => roomOf(path)?.room !== from?.room && (roomOf(path)?.floor ?? 0) <= (from?.floor ?? 0))
        .map((path) => `${source.path} → ${path}`);
    });
    expect(climbing).toEqual([]);
  });

  test('the pure core imports itself and shared, and takes its time, chance and data from its callers', () => {
    const isPure = (path: string): boolean => PURE_CORE.some((pattern) => pattern.test(path));
    const core = written.filter(({ path }) => isPure(path));
    const impure = core.flatMap((source) => {
      const code = source.text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
      const files = housemates(source).filter((path) => sideOf(path) !== 'shared' && !isPure(path));
      const modules = source.imports.filter((name) => !byModule.has(name) && !PURE_MODULES.includes(name));
      return [...files, ...modules, ...(IMPURE_WORDS.exec(code) ?? [])].map((what) => `${source.path} → ${what}`);
    });
    expect(impure).toEqual([]);
  });

  test('what the rules above name is there', () => {
    const paths = sources.map(({ path }) => path);
    const rooms = Object.entries(FLOORS).flatMap(([side, floors]) => floors.flat().map((room) => `${side}/${room}`));
    expect(
      rooms.filter((room) => !paths.some((path) => path === room || (room.endsWith('/') && path.startsWith(room)))),
    ).toEqual([]);
    expect(PURE_CORE.flatMap(alternativesOf).filter((pattern) => !paths.some((path) => pattern.test(path)))).toEqual(
      [],
    );
    const core = written.filter(({ path }) => PURE_CORE.some((pattern) => pattern.test(path)));
    expect(PURE_MODULES.filter((name) => !core.some(({ imports }) => imports.includes(name)))).toEqual([]);
    const crossed = new Set(
      sources.flatMap((source) => housemates(source).map((path) => `${sideOf(source.path)} → ${sideOf(path)}`)),
    );
    expect(
      Object.entries(MAY_IMPORT).flatMap(([side, others]) =>
        others.map((other) => `${side} → ${other}`).filter((pair) => !crossed.has(pair)),
      ),
    ).toEqual([]);
    expect(ENTRANCES.filter((module) => !byModule.has(module))).toEqual([]);
    expect(TESTS_OF_THE_WHOLE.filter((name) => !existsSync(join(root, 'test/unit', `${name}.test.ts`)))).toEqual([]);
  });

  test('each file serves a program: what tests alone use stands in test/', () => {
    const reached = reachedFrom(ENTRANCES);
    expect(written.map(({ path }) => path).filter((path) => !reached.has(path.replace(/\.ts$/, '')))).toEqual([]);
  });

  test('what is in shared is used by both sides', () => {
    const reached = (side: string): Set<string> =>
      reachedFrom([
        ...sources.filter(({ path }) => sideOf(path) === side).map(({ path }) => path.replace(/\.ts$/, '')),
        ...COMMANDS,
      ]);
    const [coordinator, node] = [reached('coordinator'), reached('node')];
    const oneSided = written
      .map(({ path }) => path.replace(/\.ts$/, ''))
      .filter((module) => sideOf(module) === 'shared' && !(coordinator.has(module) && node.has(module)));
    expect(oneSided).toEqual([]);
  });

  test('a name that is exported is one thing', () => {
    const places = new Map<string, string[]>();
    for (const { path, text } of written) {
      for (const [, name] of text.matchAll(
        /^export (?:abstract |async )*(?:class|interface|type|enum|function\*?|const|let) (\w+)/gm,
      )) {
        places.set(name, [...new Set([...(places.get(name) ?? []), path])]);
      }
    }
    expect(places.size).toBeGreaterThan(500);
    expect([...places].filter(([, paths]) => paths.length > 1)).toEqual([]);
  });

  test('"Errors:" in a comment names kinds of shared/base/errors, or classes that are there', () => {
    const classes = new Set(
      written.flatMap(({ text }) =>
        [...text.matchAll(/^export class (\w+) extends (?:Quiver)?Error\b/gm)].map(([, name]) => name),
      ),
    );
    const isKnown = (word: string): boolean =>
      Object.hasOwn(ERROR_KINDS, word) || classes.has(word) || word === 'SyntaxError';
    let count = 0;
    const wrong = written.flatMap(({ path, text }) =>
      [...text.matchAll(/@throws.*|Errors: ([\s\S]*?)(?:\*\/|\n\s*\*\s*\n|\n\s*[^\s*]|\. )/g)].flatMap(
        ([all, said]) => {
          count += 1;
          if (said === undefined) return [`${path}: ${all}`];
          const words = said.match(/[\w`]+/g) ?? [];
          // "as `write`", "those of the store": what is said elsewhere, or of whom nothing is known here.
          const refers = ['as', 'that', 'those', 'what'].includes(words[0] ?? '');
          const named = words.map((word) => word.replaceAll('`', ''));
          return named
            .filter((word, i) => !isKnown(word) && ((i === 0 && !refers) || /^[a-z]+(?:_[a-z]+)+$/.test(word)))
            .map((word) => `${path}: ${word}`);
        },
      ),
    );
    expect(count).toBeGreaterThan(100);
    expect(wrong).toEqual([]);
  });

  test.each(Object.entries(OWNERS))('%s has one owner', (library, owners) => {
    const importers = importersOf((imported) => imported === library);
    expect(importers.filter((path) => !owners.some((owner) => path.startsWith(owner)))).toEqual([]);
    expect(owners.filter((owner) => !importers.some((path) => path.startsWith(owner)))).toEqual([]);
  });

  test('a unit test stands in the folder that mirrors what it tests', () => {
    const tests = sourcesUnder('test/unit').filter(({ path }) => path.endsWith('.test.ts'));
    expect(tests.length).toBeGreaterThan(60);
    const astray = tests.filter(({ path, text, imports }) => {
      const folder = relative('test/unit', dirname(path));
      const name = basename(path, '.test.ts');
      if (folder === '') return !TESTS_OF_THE_WHOLE.includes(name);
      // What it tests is imported, or named by its path: scripts are run, services are reached through the whole.
      const isAboutFolder =
        existsSync(join(root, folder)) &&
        (imports.some((imported) => dirname(imported) === folder) ||
          text.replace(/^import .*$/gm, '').includes(`${folder}/`));
      const namesakes = written
        .filter((source) => basename(source.path, '.ts') === name)
        .map((source) => dirname(source.path));
      return namesakes.length > 0 ? !namesakes.includes(folder) : !isAboutFolder;
    });
    expect(astray.map(({ path }) => path)).toEqual([]);
  });

  test('imports have no circles, in the dashboard and the client for programs too', () => {
    const others = ['dashboard', 'clients/typescript/src'].flatMap(sourcesUnder);
    const modules = new Map([...sources, ...others].map((source) => [source.path.replace(/\.tsx?$/, ''), source]));
    expect(modules.size).toBeGreaterThan(byModule.size + 100);
    const done = new Set<string>();
    const circles: string[] = [];
    const visit = (module: string, trail: string[]): void => {
      if (trail.includes(module)) {
        circles.push([...trail.slice(trail.indexOf(module)), module].join(' → '));
        return;
      }
      if (done.has(module)) return;
      for (const imported of modules.get(module)?.imports ?? [])
        if (modules.has(imported)) visit(imported, [...trail, module]);
      done.add(module);
    };
    for (const module of modules.keys()) visit(module, []);
    expect(circles).toEqual([]);
  });
});
